"""Settings as frozen dataclasses whose fields declare what they accept.

    @dataclass(frozen=True, kw_only=True)
    class Search:
        simulations: int = bounded(32, 1, 1000)
        rule: str = one_of("gumbel", "puct")

        def __post_init__(self) -> None:
            check(self, section="search", error=GameError)

An invalid value raises `error` with the dotted name, what was expected and what came:
`search.simulations is a whole number from 1 to 1000; got 0.`
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from tabia.core.errors import TabiaError, did_you_mean
from tabia.core.text import is_printable, plain, quote

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

_Number = TypeVar("_Number", int, float)


def bounded(default: _Number, low: float, high: float, *, open_end: bool = False) -> _Number:
    """A number from `low` to `high`, or less than `high` if `open_end`; an integer if the default is one."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high, "open_end": open_end})


def one_of(*words: str) -> str:
    """One of some words; the first is the default."""
    return dataclasses.field(default=words[0], metadata={"words": words})


def integers(low: int, high: int, *, longest: int) -> tuple[int, ...]:
    """At most `longest` integers from `low` to `high`; none by default."""
    return dataclasses.field(default=(), metadata={"low": low, "high": high, "longest": longest})


def check(settings: DataclassInstance, *, error: type[TabiaError], section: str = "") -> None:
    """Refuse a value of the wrong type or outside its range; messages say `section.field`."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        expected = _expected(field, value)
        if expected is not None:
            raise error(f"{_dotted(section, field.name)} {expected}")


def check_names(
    names: Iterable[str], settings: type[DataclassInstance], *, error: type[TabiaError], section: str = ""
) -> None:
    """Refuse a name that is not a field of the settings, and suggest the nearest."""
    known = [field.name for field in dataclasses.fields(settings)]
    for name in names:
        if name not in known:
            raise error(f"There is no setting {_dotted(section, plain(name))}. {did_you_mean(str(name), known)}")


def _dotted(section: str, name: str) -> str:
    return f"{section}.{name}" if section else name


def _expected(field: dataclasses.Field[Any], value: object) -> str | None:
    """What a field expected instead of this value, as the rest of a sentence; None if the value is valid."""
    limits = field.metadata
    if not all(map(is_printable, _texts(value))):
        return f"contains control characters: {quote(value)}."
    if "longest" in limits:
        return _expected_integers(limits["low"], limits["high"], limits["longest"], value)
    if "low" in limits:
        return _expected_number(field, value)
    if "words" in limits:
        known = limits["words"]
        valid = type(value) is str and value in known
        return None if valid else f"cannot be {quote(value)}. {did_you_mean(quote(value), known)}"
    return _expected_type(field, value)


def _expected_number(field: dataclasses.Field[Any], value: object) -> str | None:
    low, high, open_end = field.metadata["low"], field.metadata["high"], field.metadata["open_end"]
    whole = isinstance(field.default, int)
    number = value if type(value) is int or (type(value) is float and not whole) else math.nan
    if low <= number < high or (number == high and not open_end):
        return None
    kind = "a whole number" if whole else "a number"
    bounds = f"at least {low:g} and less than {high:g}" if open_end else f"from {low:g} to {high:g}"
    return f"is {kind} {bounds}; got {quote(value)}."


def _expected_integers(low: int, high: int, longest: int, value: object) -> str | None:
    entries = value if isinstance(value, tuple) else (value,)
    valid = value is entries and all(type(entry) is int and low <= entry <= high for entry in entries)
    if valid and len(entries) <= longest:
        return None
    shown = list(value) if isinstance(value, tuple) else value
    return f"is a list of at most {longest} whole numbers from {low} to {high}; got {quote(shown)}."


def _expected_type(field: dataclasses.Field[Any], value: object) -> str | None:
    if isinstance(field.default, bool) and not isinstance(value, bool):
        return f"is true or false; got {quote(value)}."
    if isinstance(field.default, str) and not isinstance(value, str):
        return f"is a string; got {quote(value)}."
    if field.type == "tuple[str, ...]" and not _are_texts(value):
        return f"is a list of strings; got {quote(value)}."
    return None


def _texts(value: object) -> list[str]:
    return [entry for entry in (value if isinstance(value, tuple) else (value,)) if isinstance(entry, str)]


def _are_texts(value: object) -> bool:
    return isinstance(value, tuple) and all(isinstance(entry, str) for entry in value)
