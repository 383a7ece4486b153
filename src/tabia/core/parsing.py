"""JSON and TOML from files of strangers: whatever is wrong with them is a ValueError, also nesting without end."""

from __future__ import annotations

import json
import tomllib
from typing import Any

_DEEPEST = 64  # levels; nothing Tabia writes has more than five


def parse_json(text: str | bytes) -> Any:
    """The value a JSON text holds; ValueError for anything that is none, or that is nested too deeply."""
    try:
        value = json.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(value, _DEEPEST)
    return value


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; ValueError (tomllib.TOMLDecodeError is one) for anything that is none."""
    try:
        tables = tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    _check_depth(tables, _DEEPEST)
    return tables


def _check_depth(value: Any, left: int) -> None:
    """Later steps walk the value recursively, so a depth that only the parser survives is refused too."""
    if left == 0:
        raise ValueError("it is nested too deeply")
    if isinstance(value, dict):
        for entry in value.values():
            _check_depth(entry, left - 1)
    elif isinstance(value, list):
        for entry in value:
            _check_depth(entry, left - 1)
