"""JSON and TOML from outside: anything wrong with it is a ValueError, including endless nesting."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable
from typing import Any

_DEEPEST = 64  # levels; nothing Tabia writes has more than five


def parse_json(text: str | bytes) -> Any:
    """The value of a JSON text; ValueError if it is not JSON or too deeply nested."""
    return _parse(json.loads, text)


def parse_toml(text: str) -> dict[str, Any]:
    """The tables of a TOML text; ValueError if it is not TOML or too deeply nested."""
    tables: dict[str, Any] = _parse(tomllib.loads, text)
    return tables


def _parse(load: Callable[[Any], Any], text: str | bytes) -> Any:
    try:
        value = load(text)
        _check_depth(value, _DEEPEST)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    return value


def _check_depth(value: Any, left: int) -> None:
    """Refuse deep nesting that only the parser survives; later steps are recursive."""
    if left == 0:
        raise RecursionError
    if isinstance(value, dict):
        for entry in value.values():
            _check_depth(entry, left - 1)
    elif isinstance(value, list):
        for entry in value:
            _check_depth(entry, left - 1)
