"""What a figure shows, without drawing it: curves of measured values, or of series, with named axes.

Published values of the same keys are drawn beside ours. `figures` draws them.
"""

from __future__ import annotations

from dataclasses import dataclass

PERCENT = (-3.0, 103.0)
"""The range of an axis of percentages, with some space for markers at its ends."""


@dataclass(frozen=True)
class Curve:
    """Measured values at points: numbers, or words for categories."""

    label: str
    points: tuple[tuple[float | str, str], ...]  # x and the key of the value


@dataclass(frozen=True)
class SeriesCurve:
    """A stored series, one line per seed."""

    label: str
    series: str  # its name in the outcomes of parts


@dataclass(frozen=True)
class PublishedLine:
    """A straight line of the publication: its value at x = 0, and its slope."""

    label: str
    start: float
    slope: float


@dataclass(frozen=True, kw_only=True)
class Figure:
    """One pair of axes."""

    name: str  # of the file
    title: str
    x: str  # with its unit
    y: str
    curves: tuple[Curve, ...] = ()
    series: tuple[SeriesCurve, ...] = ()
    lines: tuple[PublishedLine, ...] = ()  # they may leave the range of what is measured
    log_x: bool = False
    joined: bool = True  # whether the points of a curve are joined by a line
    y_range: tuple[float, float] | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The values it shows."""
        return tuple(key for curve in self.curves for _, key in curve.points)
