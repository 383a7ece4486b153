"""Parameters of a user's class, written as text: `nim.py:Nim:heaps=3,size=5`.

The parameters are the arguments of `__init__` that have a default, which for a dataclass are its fields. Their kind is
the annotation, or the type of the default: int, float, bool (true or false) or str.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Collection, Mapping
from typing import Any

from tabia.core.errors import TabiaError, did_you_mean

_KINDS: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
_WANTED = {int: "an integer", float: "a number", bool: "true or false", str: "text"}


class ParameterError(TabiaError):
    """A parameter that the class does not have, or a value of the wrong kind."""


def declared(rules: type) -> dict[str, inspect.Parameter]:
    """The named arguments of a class's `__init__`, in order."""
    if rules.__init__ is object.__init__:  # type: ignore[misc]
        return {}  # its own signature, (*args, **kwargs), means nothing
    arguments = list(inspect.signature(rules.__init__).parameters.items())[1:]  # type: ignore[misc]
    wild = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: argument for name, argument in arguments if argument.kind not in wild}


def read(
    rules: type, given: Mapping[str, str], *, supplied: Collection[str] = (), also: Collection[str] = ()
) -> dict[str, Any]:
    """The values of the parameters in `given`, converted; ParameterError says what is wrong with one.

    Arguments in `supplied` come from the caller and are no parameters; names in `also` are only suggested.
    """
    arguments = {name: argument for name, argument in declared(rules).items() if name not in supplied}
    for name, argument in arguments.items():
        if argument.default is inspect.Parameter.empty:
            raise ParameterError(f"the parameter {name!r} of __init__ needs a default, as in {name}=3.")
    for name in given:
        if name not in arguments:
            known = [*arguments, *also]
            raise ParameterError(f"it has no parameter {name!r}. {did_you_mean(name, known)}")
    return {name: _value(arguments[name], text) for name, text in given.items()}


def text(values: Mapping[str, Any]) -> str:
    """Parameters as an id has them.

    >>> text({"size": 3, "torus": True})
    'size=3,torus=true'
    """
    shown = {name: str(value).lower() if isinstance(value, bool) else value for name, value in values.items()}
    return ",".join(f"{name}={value}" for name, value in shown.items())


def changed(rules: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that differ from the defaults, in the order of `__init__`."""
    return {
        name: values[name]
        for name, argument in declared(rules).items()
        if name in values and values[name] != argument.default
    }


def _value(argument: inspect.Parameter, text: str) -> Any:
    kind = _kind(argument)
    if kind is None:
        raise ParameterError(f"{argument.name} cannot be set in text, only an int, a float, a bool or a str can.")
    try:
        value = {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError):
        value = None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise ParameterError(f"{argument.name}={text}: {_WANTED[kind]} is needed.")
    return value


def _kind(argument: inspect.Parameter) -> type | None:
    noted = argument.annotation
    named = noted if isinstance(noted, str) else getattr(noted, "__name__", "")
    return _KINDS.get(named) or _KINDS.get(type(argument.default).__name__)
