"""A class in a user's Python file: loading it, its parameters, and a digest of its code.

Loading a file runs it, so only ids from a user or a caller may come here, never one from a data file
(`tabia.core.trust`).
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import inspect
import math
import os
import sys
import traceback
from collections.abc import Collection, Iterator, Mapping
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tabia.core.errors import TabiaError, did_you_mean
from tabia.core.text import plain, quote
from tabia.games.errors import GameError


class Source(NamedTuple):
    """A class and its file."""

    rules: type
    path: str  # relative to the current directory for a file inside it, otherwise absolute
    file: str  # absolute
    definition: str  # a digest of the code, the same for the same code at any path

    @property
    def place(self) -> str:
        """File and class, for an error message."""
        return f"{self.path}, class {self.rules.__name__}"

    @property
    def id(self) -> str:
        """The id without parameters."""
        return f"{self.path}:{self.rules.__name__}"


def load(path: str, name: str) -> Source:
    """The class `name` of a Python file; the file is run again only if it has changed."""
    try:
        file = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100  (a link keeps its own name)
        found, beside = file.is_file(), [str(other) for other in Path(path).parent.glob("*.py")]
    except (OSError, ValueError, RuntimeError):  # not a valid file name
        found, beside = False, []
    if not found:
        hint = did_you_mean(path, sorted(beside)) if beside else "Check the path."
        raise GameError(f"There is no file {plain(path)}. {hint}")
    shown = _spelled(file)
    try:
        code = file.read_bytes()
    except OSError as error:
        raise GameError(f"{shown} cannot be read: {error.strerror}.") from None
    module, definition = _module(file, shown, code)
    rules = vars(module).get(name)
    if not isinstance(rules, type):
        classes = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        known = did_you_mean(name, classes) if classes else "It defines no class."
        raise GameError(f"{shown} has no class {quote(name)}. {known}")
    return Source(rules, shown, str(file), definition)


def line_of(error: BaseException, file: str | None) -> int | None:
    """The last line of the file in the error's traceback."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None


def _spelled(file: Path) -> str:
    here = Path.cwd()
    return file.relative_to(here).as_posix() if file.is_relative_to(here) else file.as_posix()


@cache
def _module(file: Path, shown: str, code: bytes) -> tuple[ModuleType, str]:
    """The file as a module, and its definition; the file can import others from its directory."""
    digest = hashlib.sha256(code).hexdigest()[:12]
    name = f"_user_file_{file.stem}_{digest}_{abs(hash(file)):x}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None  # any path that ends in .py has a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    sys.path.insert(0, str(file.parent))
    try:
        tree = ast.parse(code, str(file))
        exec(compile(tree, file, "exec"), vars(module))  # no cached bytecode, which can be stale
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise GameError(_import_failure(error, file, shown)) from None
    finally:
        sys.path.remove(str(file.parent))
    return module, _definition(file, tree)


def _import_failure(error: BaseException, file: Path, shown: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{shown}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}"
    line = line_of(error, str(file))
    where = f", line {line}" if line else ""
    return f"{shown}{where}: the file could not be imported: {type(error).__name__}: {error}"


# Parameters, written as text: `nim.py:Nim:heaps=3,size=5`. They are the arguments of `__init__` that have a default,
# which for a dataclass are its fields. The annotation, or the default's type, says which of int, float, bool and str.

_KINDS: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str}
_WANTED = {int: "an integer", float: "a number", bool: "true or false", str: "text"}


class ParameterError(TabiaError):
    """An unknown parameter, or a value of the wrong type."""


def declared_parameters(rules: type) -> dict[str, inspect.Parameter]:
    """The named arguments of `__init__`, in order."""
    if rules.__init__ is object.__init__:  # type: ignore[misc]
        return {}  # object's own signature, (*args, **kwargs), means nothing
    arguments = list(inspect.signature(rules.__init__).parameters.items())[1:]  # type: ignore[misc]
    wild = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return {name: argument for name, argument in arguments if argument.kind not in wild}


def read_parameters(
    rules: type, given: Mapping[str, str], *, supplied: Collection[str] = (), also: Collection[str] = ()
) -> dict[str, Any]:
    """The parameters in `given`, converted from text; ParameterError if one is wrong.

    The caller passes the arguments in `supplied`, so they are not parameters; names in `also` are only suggested.
    """
    arguments = {name: argument for name, argument in declared_parameters(rules).items() if name not in supplied}
    for name, argument in arguments.items():
        if argument.default is inspect.Parameter.empty:
            raise ParameterError(f"the parameter {name!r} of __init__ needs a default, as in {name}=3.")
    for name in given:
        if name not in arguments:
            known = [*arguments, *also]
            raise ParameterError(f"it has no parameter {name!r}. {did_you_mean(name, known)}")
    return {name: _value(arguments[name], text) for name, text in given.items()}


def parameters_text(values: Mapping[str, Any]) -> str:
    """Parameters as they appear in an id.

    >>> parameters_text({"size": 3, "torus": True})
    'size=3,torus=true'
    """
    shown = {name: str(value).lower() if isinstance(value, bool) else value for name, value in values.items()}
    return ",".join(f"{name}={value}" for name, value in shown.items())


def changed_parameters(rules: type, values: Mapping[str, Any]) -> dict[str, Any]:
    """The values that differ from the defaults, in the order of `__init__`."""
    return {
        name: values[name]
        for name, argument in declared_parameters(rules).items()
        if name in values and values[name] != argument.default
    }


def _value(argument: inspect.Parameter, text: str) -> Any:
    kind = _kind(argument)
    if kind is None:
        raise ParameterError(f"{argument.name} cannot be given as text; only int, float, bool and str parameters can.")
    try:
        value = {"true": True, "false": False}[text.lower()] if kind is bool else kind(text)
    except (ValueError, KeyError):
        value = None
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        raise ParameterError(f"{argument.name}={text}: expected {_WANTED[kind]}.")
    return value


def _kind(argument: inspect.Parameter) -> type | None:
    annotation = argument.annotation
    named = annotation if isinstance(annotation, str) else getattr(annotation, "__name__", "")
    return _KINDS.get(named) or _KINDS.get(type(argument.default).__name__)


# The digest of the code.


def _definition(file: Path, tree: ast.Module) -> str:
    """A digest of the file and of the files in its directory that it imports, without comments and docstrings."""
    digest = hashlib.sha256()
    for part in _parts(file, tree, {file}):
        digest.update(_canonical(part).encode())
    return digest.hexdigest()[:16]


def _parts(file: Path, tree: ast.Module, seen: set[Path]) -> Iterator[ast.Module]:
    yield tree
    for name in sorted(_imported(tree)):
        beside = file.parent / f"{name}.py"
        if beside not in seen and beside.is_file():
            seen.add(beside)
            yield from _parts(beside, ast.parse(beside.read_bytes()), seen)


def _imported(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def _canonical(node: object) -> str:
    """A syntax tree as text that is the same in every version of Python, unlike that of `ast.dump`."""
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    if documented and _is_docstring(fields["body"]):
        fields["body"] = fields["body"][1:]
    kept = (f"{name}={_canonical(value)}" for name, value in fields.items() if value not in (None, []))
    return f"{type(node).__name__}({','.join(kept)})"


def _is_docstring(body: list[ast.stmt]) -> bool:
    first = body[0] if body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
