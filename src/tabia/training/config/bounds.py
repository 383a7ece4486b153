"""Fields of settings that know what they may hold."""

from __future__ import annotations

import dataclasses
from typing import Any

from tabia.core.errors import did_you_mean
from tabia.core.text import is_printable, quote
from tabia.training.errors import TrainingError


def bounded(default: float, low: float, high: float) -> Any:
    """A number from low to high; whole if the default is."""
    return dataclasses.field(default=default, metadata={"low": low, "high": high})


def one_of(*words: str) -> Any:
    """One of some words, the first unless told."""
    return dataclasses.field(default=words[0], metadata={"words": words})


def check_bounds(settings: Any) -> None:
    """Refuse a value of the wrong type or out of its range, with what it may be."""
    for field in dataclasses.fields(settings):
        value = getattr(settings, field.name)
        if not all(map(is_printable, _texts(value))):
            raise TrainingError(f"{_name(settings, field)} contains control characters: {quote(value)}.")
        if "low" in field.metadata:
            _check_number(settings, field, value)
        elif "words" in field.metadata and (type(value) is not str or value not in field.metadata["words"]):
            known = field.metadata["words"]
            raise TrainingError(
                f"{_name(settings, field)} cannot be {quote(value)}. {did_you_mean(quote(value), known)}"
            )
        elif isinstance(field.default, bool) and not isinstance(value, bool):
            raise TrainingError(f"{_name(settings, field)} is true or false; got {quote(value)}.")
        elif isinstance(field.default, str) and not isinstance(value, str):
            raise TrainingError(f"{_name(settings, field)} is a text; got {quote(value)}.")
        elif isinstance(field.default, tuple) and field.type == "tuple[str, ...]" and not _are_texts(value):
            raise TrainingError(f"{_name(settings, field)} is a list of texts; got {quote(value)}.")


def _check_number(settings: Any, field: dataclasses.Field[Any], value: Any) -> None:
    low, high = field.metadata["low"], field.metadata["high"]
    whole = isinstance(field.default, int)
    right = type(value) is int or (not whole and type(value) is float)
    if not right or not low <= value <= high:
        kind = "a whole number" if whole else "a number"
        raise TrainingError(f"{_name(settings, field)} is {kind} from {low:g} to {high:g}; got {quote(value)}.")


def _texts(value: Any) -> list[str]:
    return [entry for entry in (value if isinstance(value, tuple) else (value,)) if isinstance(entry, str)]


def _are_texts(value: Any) -> bool:
    return isinstance(value, tuple) and all(isinstance(entry, str) for entry in value)


def _name(settings: Any, field: dataclasses.Field[Any]) -> str:
    doc = (type(settings).__doc__ or "").strip()
    section = doc[1 : doc.index("]")] + "." if doc.startswith("[") else ""
    return section + field.name
