"""A run's metrics as curves: the lines of metrics.jsonl, averaged over neighboring iterations where there are many."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

Line = dict[str, Any]
T = TypeVar("T")


class Curve(NamedTuple):
    """A number over the iterations; each point is the mean of a few neighbors."""

    iterations: np.ndarray  # float[K]
    values: np.ndarray  # float[K, ...]

    def __bool__(self) -> bool:
        return len(self.iterations) > 0


def curve(
    lines: Sequence[Line], name: str, *, most: int = 200, pick: Callable[[Any], Any] = lambda found: found
) -> Curve:
    """The numbers called `name`, of the iterations that have them, in at most `most` points.

    >>> curve([{"iteration": 1, "length": 7.0}, {"iteration": 2}, {"iteration": 3, "length": 9.0}], "length").values.tolist()
    [7.0, 9.0]
    """
    held = [line for line in lines if line.get(name) is not None]
    parts = np.array_split(np.arange(len(held)), min(most, len(held))) if held else []
    iterations = np.array([line["iteration"] for line in held], float)
    values = np.array([pick(line[name]) for line in held], float)
    return Curve(
        np.array([iterations[part].mean() for part in parts]), np.array([values[part].mean(axis=0) for part in parts])
    )


def first_seat(lines: Sequence[Line], *, most: int = 200) -> Curve:
    """The first seat's mean score in self-play, in [-1, 1]."""
    return curve(lines, "scores", most=most, pick=lambda scores: scores[0])


def openings(
    lines: Sequence[Line], *, bands: int = 9, most: int = 60, num_actions: int = 2**16
) -> tuple[Curve, list[int | None]]:
    """How often each move opened a game: shares [K, bands] and the moves, None for all rarer ones together.

    The moves kept are the commonest of the whole run; they stand in the order of their numbers.
    """
    actions = [int(action) for line in lines for action in line.get("first_moves") or {} if int(action) < num_actions]

    def row(found: dict[str, int]) -> list[int]:
        return [found.get(str(action), 0) for action in range(max(actions, default=0) + 1)]

    counts = curve(lines, "first_moves", most=most, pick=row)
    if not counts or not counts.values.sum():
        return Curve(np.zeros(0), np.zeros((0, 0))), []
    played = counts.values.sum(axis=1) > 0
    iterations, shares = counts.iterations[played], counts.values[played]
    shares = shares / shares.sum(axis=1, keepdims=True)
    used = int((shares.sum(axis=0) > 0).sum())
    kept = np.sort(np.argsort(-shares.sum(axis=0), kind="stable")[: min(used, bands)])
    moves: list[int | None] = [int(action) for action in kept]
    bands_of = shares[:, kept]
    if used > bands:
        bands_of, moves = np.column_stack([bands_of, 1.0 - bands_of.sum(axis=1)]), [*moves, None]
    return Curve(iterations, bands_of), moves


def spread(lines: Sequence[T], most: int) -> list[T]:
    """At most so many of them, evenly spread, the first and the last among them."""
    if len(lines) <= most:
        return list(lines)
    return [lines[place] for place in np.linspace(0, len(lines) - 1, most).round().astype(int)]
