"""How the figures of studies are drawn; needs matplotlib, the extra `plots`.

Ours is solid with filled markers and 95% intervals; published values have hollow markers and dotted lines in the same
color. Of a series, the lines of several seeds are solid, dashed and dotted, in the order of the seeds.
"""

from __future__ import annotations

import textwrap
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from tabia.core import plotting
from tabia.core.plotting import COLORS, DASHES, MARKERS, label
from tabia.studies.estimates import Estimate
from tabia.studies.part import Series
from tabia.studies.plots import Curve, Figure, SeriesCurve
from tabia.studies.verdicts import Published

_SIDE = 0.007  # of the width of the axis between curves, so that intervals do not hide each other


def draw(
    figure: Figure,
    values: dict[str, Estimate],
    series: Mapping[str, Sequence[Series]],
    published: Sequence[Published],
    *,
    scale: str,
    authors: str,
    format: str = "svg",
) -> bytes | None:
    """A figure as the content of a file; None if nothing in it is measured. The same values give the same file."""
    from matplotlib.figure import Figure as Drawing

    if not any(key in values for key in figure.keys) and not any(series.get(one.series) for one in figure.series):
        return None
    with plotting.style():
        drawing = Drawing(figsize=(7, 4.4), layout="constrained")
        axes = drawing.subplots()
        known = {one.key: one for one in published}
        figure = _with_points(figure, values.keys() | known.keys())
        for number, curve in enumerate(figure.curves):
            _curve(axes, figure, curve, number, values, known, authors)
        for number, one in enumerate(figure.series):
            _series(axes, one, len(figure.curves) + number, series.get(one.series, ()))
        _lines(axes, figure, authors)
        _finish(drawing, axes, figure, scale)
        return plotting.content(drawing, format)


def _with_points(figure: Figure, keys: Collection[str]) -> Figure:
    """The figure without points that have none of these keys, so that no word on the axis is empty."""
    curves = (
        replace(curve, points=tuple(point for point in curve.points if point[1] in keys)) for curve in figure.curves
    )
    return replace(figure, curves=tuple(curves))


def _curve(
    axes: Any,
    figure: Figure,
    curve: Curve,
    number: int,
    values: dict[str, Estimate],
    known: dict[str, Published],
    authors: str,
) -> None:
    places = _places(figure, curve)
    theirs = [(_aside(figure, places[key], -number), known[key].estimate) for _, key in curve.points if key in known]
    ours = [(_aside(figure, places[key], number + 1), values[key]) for _, key in curve.points if key in values]
    look = {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)], "capsize": 2}
    line = "-" if figure.joined else "none"
    name = f"{curve.label}, Tabia" if theirs else curve.label
    _errorbar(axes, ours, name, linestyle=line, elinewidth=0.9, **look)
    published = {"markerfacecolor": "white", "linewidth": 1.0, "elinewidth": 0.5}
    dotted = ":" if figure.joined else "none"
    _errorbar(axes, theirs, f"{curve.label}, {authors}", linestyle=dotted, **published, **look)


def _errorbar(axes: Any, points: Sequence[tuple[float, Estimate]], name: str, **look: Any) -> None:
    """Draw values with their intervals, if there are any."""
    if points:
        x, found = zip(*points, strict=True)
        below, above = [one.value - one.low for one in found], [one.high - one.value for one in found]
        axes.errorbar(x, [one.value for one in found], [below, above], label=label(name), **look)


def _series(axes: Any, curve: SeriesCurve, number: int, repeats: Sequence[Series]) -> None:
    color = COLORS[number % len(COLORS)]
    for index, one in enumerate(repeats):
        name = label(curve.label) if index == 0 else None
        marker = "o" if len(one.x) == 1 else None
        axes.plot(one.x, one.y, color=color, linestyle=DASHES[index % len(DASHES)], marker=marker, label=name)
        if one.low and one.high:
            axes.fill_between(one.x, one.low, one.high, color=color, alpha=0.15, linewidth=0)


def _lines(axes: Any, figure: Figure, authors: str) -> None:
    """Draw the lines of the publication within the range of what is measured."""
    first = len(figure.curves) + len(figure.series)
    low, high = axes.get_ylim()
    for number, line in enumerate(figure.lines):
        color = COLORS[(first + number) % len(COLORS)]
        axes.axline(
            (0.0, line.start), slope=line.slope, color=color, linestyle=":", label=label(f"{line.label}, {authors}")
        )
    axes.set_ylim(low, high)


def _places(figure: Figure, curve: Curve) -> dict[str, float]:
    """Where each key is drawn; words are numbered in the order of the figure."""
    words = _words(figure)
    return {key: float(words.index(x)) if isinstance(x, str) else float(x) for x, key in curve.points}


def _words(figure: Figure) -> list[str]:
    return list(dict.fromkeys(x for curve in figure.curves for x, _ in curve.points if isinstance(x, str)))


def _aside(figure: Figure, x: float, steps: int) -> float:
    """The place of a point, shifted by some steps so that intervals stand side by side."""
    spots = [place for curve in figure.curves for place in _places(figure, curve).values()]
    low, high = min(spots), max(spots)
    if figure.log_x and low > 0.0:
        return float(x * (max(high / low, 2.0)) ** (_SIDE * steps))
    return x + _SIDE * steps * max(high - low, 1.0)


def _finish(drawing: Any, axes: Any, figure: Figure, scale: str) -> None:
    axes.set(xlabel=figure.x, ylabel=figure.y)
    axes.set_title(figure.title)
    words = _words(figure)
    if words:
        axes.set_xticks(range(len(words)), [label(word) for word in words])
        axes.set_xlim(-0.5, len(words) - 0.5)
        if sum(map(len, words)) > 60:
            axes.tick_params("x", rotation=30)
    if figure.log_x:
        _log(axes, figure)
    elif not words and all(float(x).is_integer() for x in _spots(figure) or _drawn(axes)):
        axes.xaxis.get_major_locator().set_params(integer=True)
    if figure.y_range is not None:
        axes.set_ylim(*figure.y_range)
    labels = axes.get_legend_handles_labels()[1]
    if labels:
        columns = 2 if max(map(len, labels)) < 50 else 1
        drawing.legend(loc="outside upper left", fontsize=8, ncols=columns)
    drawing.supxlabel("\n".join(textwrap.wrap(scale, 110)), x=0.01, ha="left", fontsize=7, color="#555555")


def _spots(figure: Figure) -> list[float]:
    """The numbers over which the points of curves stand, before they are moved aside."""
    return sorted({float(x) for curve in figure.curves for x, _ in curve.points if not isinstance(x, str)})


def _drawn(axes: Any) -> list[float]:
    return [float(x) for line in axes.lines for x in line.get_xdata()]


def _log(axes: Any, figure: Figure) -> None:
    from matplotlib.ticker import FixedLocator, NullLocator

    spots = _spots(figure)
    axes.set_xscale("log")
    if spots:
        axes.xaxis.set_major_locator(FixedLocator(spots))
        axes.xaxis.set_minor_locator(NullLocator())
        axes.set_xticklabels([f"{spot:g}" for spot in spots])
