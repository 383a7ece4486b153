"""A run's settings and metrics as the page draws them: flat keys, curves with bands, strength by opponent."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from tabia.core.text import printable

MOST_POINTS = 500
Line = dict[str, Any]


def flat(settings: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Nested settings by dotted keys.

    >>> flat({"game": "connect4", "search": {"simulations": 16}})
    {'game': 'connect4', 'search.simulations': 16}
    """
    found: dict[str, Any] = {}
    for key, value in settings.items():
        name = f"{prefix}{printable(str(key))[:100]}"
        if isinstance(value, dict):
            found |= flat(value, f"{name}.")
        else:
            found[name] = value if isinstance(value, bool | int | float) else printable(str(value))[:1000]
    return {key: value for key, value in found.items() if not isinstance(value, float) or math.isfinite(value)}


def series(lines: Sequence[Line], most: int = MOST_POINTS) -> dict[str, dict[str, list[float]]]:
    """The numbers in the metrics as curves, thinned to at most `most` points each; matches carry their intervals."""
    points: dict[str, list[tuple[Line, float, float | None, float | None]]] = {}
    for line in lines:
        for key, value in line.items():
            if type(value) in (int, float) and key not in ("iteration", "seconds"):
                points.setdefault(key, []).append((line, float(value), None, None))
        for opponent, side in (line.get("matches") or {}).items():
            entry = (line, side["score"], side["low"], side["high"])
            points.setdefault(f"matches.{printable(opponent)[:200]}", []).append(entry)
    return {name: _curve(_thinned(found, most)) for name, found in points.items()}


def _curve(points: list[tuple[Line, float, float | None, float | None]]) -> dict[str, list[float]]:
    curve: dict[str, list[float]] = {
        "x": [line["iteration"] for line, *_ in points],
        "seconds": [line["seconds"] for line, *_ in points],
        "y": [value for _, value, *_ in points],
    }
    bands = [(low, high) for *_, low, high in points if low is not None and high is not None]
    if len(bands) == len(points) and bands:
        curve |= {"low": [low for low, _ in bands], "high": [high for _, high in bands]}
    return curve


def _thinned(points: list[Any], most: int) -> list[Any]:
    """Evenly chosen points, the last among them."""
    step = max(1, math.ceil(len(points) / most))
    return points[::-1][::step][::-1]


def strength(lines: Sequence[Line]) -> list[dict[str, Any]]:
    """The newest evaluation against each opponent."""
    newest: dict[str, dict[str, Any]] = {}
    for line in lines:
        for opponent, side in (line.get("matches") or {}).items():
            kept = {key: side[key] for key in ("score", "low", "high", "games")}
            newest[opponent] = {"opponent": printable(opponent)[:200], "iteration": line["iteration"], **kept}
    return list(newest.values())
