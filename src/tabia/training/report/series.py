"""Metrics as curves and as tables: the lines of metrics.jsonl, averaged over neighboring iterations or thinned out."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from tabia.core.text import printable, shorten

Line = dict[str, Any]
T = TypeVar("T")


class Curve(NamedTuple):
    """A metric by iteration; each point is the mean of a few neighboring iterations."""

    iterations: np.ndarray  # float[K]
    values: np.ndarray  # float[K, ...]

    def __bool__(self) -> bool:
        return len(self.iterations) > 0


def auxiliary_losses(lines: Sequence[Line]) -> list[str]:
    """The metrics of loss terms besides policy and value, in order of appearance.

    >>> auxiliary_losses([{"loss_total": 1.0, "loss_policy": 0.6, "loss_value": 0.3, "loss_final_position": 0.1}])
    ['loss_final_position']
    """
    names = dict.fromkeys(name for line in lines for name in line if name.startswith("loss_"))
    return [name for name in names if name not in ("loss_total", "loss_policy", "loss_value")]


def loss_title(name: str) -> str:
    """The title of a loss term.

    >>> loss_title("loss_final_position")
    'final position loss'
    """
    return f"{printable(shorten(name)).removeprefix('loss_').replace('_', ' ')} loss"


def curve(
    lines: Sequence[Line], name: str, *, most: int = 200, pick: Callable[[Any], Any] = lambda found: found
) -> Curve:
    """The metric `name` of the iterations that have it, in at most `most` points.

    >>> curve([{"iteration": 1, "draws": 0.5}, {"iteration": 2}, {"iteration": 3, "draws": 0.25}], "draws").values
    array([0.5 , 0.25])
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
    """How often each move opened a game: fractions [K, bands] and the moves, None for all rarer moves together.

    The moves are the most common ones of the whole run, ordered by action.
    """
    actions = [int(action) for line in lines for action in line.get("first_moves") or {} if int(action) < num_actions]

    def row(found: dict[str, int]) -> list[int]:
        return [found.get(str(action), 0) for action in range(max(actions, default=0) + 1)]

    counts = curve(lines, "first_moves", most=most, pick=row)
    if not counts or not counts.values.sum():
        return Curve(np.zeros(0), np.zeros((0, 0))), []
    played = counts.values.sum(axis=1) > 0
    iterations, fractions = counts.iterations[played], counts.values[played]
    fractions = fractions / fractions.sum(axis=1, keepdims=True)
    used = int((fractions.sum(axis=0) > 0).sum())
    kept = np.sort(np.argsort(-fractions.sum(axis=0), kind="stable")[: min(used, bands)])
    moves: list[int | None] = [int(action) for action in kept]
    bands_of = fractions[:, kept]
    if used > bands:
        bands_of, moves = np.column_stack([bands_of, 1.0 - bands_of.sum(axis=1)]), [*moves, None]
    return Curve(iterations, bands_of), moves


def spread(lines: Sequence[T], most: int) -> list[T]:
    """At most `most` of the lines, evenly spaced, including the first and the last."""
    if len(lines) <= most:
        return list(lines)
    return [lines[place] for place in np.linspace(0, len(lines) - 1, most).round().astype(int)]


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: int = 0) -> str:
    """A Markdown table, its last `right` columns aligned to the right."""
    left = len(headings) - right
    rule = "|" + "---|" * left + "---:|" * right
    return "\n".join([_row(headings), rule, *map(_row, rows)])


def number(value: float | None, form: str) -> str:
    """A number in a table, or a dash."""
    return "-" if value is None else format(value, form)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\|", cell) for cell in cells) + " |"
