"""Comparison of two runs."""

from __future__ import annotations

from typing import Any

from tabia.training import state as states
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory


def same(one: states.State, other: states.State) -> bool:
    """Whether two states are equal bit for bit."""
    mine, theirs = states.to_arrays(one), states.to_arrays(other)
    return mine.keys() == theirs.keys() and all(
        mine[name].dtype == theirs[name].dtype and mine[name].tobytes() == theirs[name].tobytes() for name in mine
    )


def timeless(run: RunDirectory) -> list[dict[str, Any]]:
    """The lines of metrics without times."""
    return [{name: value for name, value in line.items() if name != "seconds"} for line in metrics.read(run)]


def games(run: RunDirectory) -> dict[str, bytes]:
    """The stored games by file name."""
    return {path.name: path.read_bytes() for path in run.games.iterdir()}
