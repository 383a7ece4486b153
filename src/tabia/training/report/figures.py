"""The figures of a report; they need matplotlib, the extra `plots`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from tabia.core import plotting
from tabia.core.plotting import BLUE, COLORS, DASHES, MARKERS
from tabia.games.game import Game
from tabia.training.config.schema import Config
from tabia.training.report import series
from tabia.training.report.series import Curve, Line
from tabia.training.report.strength import Strength
from tabia.training.run.directory import RunDirectory

FIGURES = "figures"


class Drawing(NamedTuple):
    """A figure and how to draw it."""

    name: str  # of the file, without .svg
    draw: Callable[[Any], None]  # onto a matplotlib figure
    height: float = 2.8


def draw(
    run: RunDirectory, game: Game, config: Config, lines: Sequence[Line], evaluations: Sequence[Strength]
) -> dict[str, Path]:
    """Draw every figure that has data; their files by name."""
    drawings = [
        _losses(config, lines),
        _entropy(lines),
        _games(game, lines),
        _strength(evaluations),
        _perfect(evaluations),
        _openings(game, lines),
        _agreement(lines),
    ]
    return {drawing.name: save(run, drawing) for drawing in drawings if drawing is not None}


def save(run: RunDirectory, drawing: Drawing) -> Path:
    """Draw a figure to a file; the same data gives the same file."""
    from matplotlib.figure import Figure

    path = run.make_folder(run.path / FIGURES) / f"{drawing.name}.svg"
    with plotting.style():
        figure = Figure(figsize=(7, drawing.height), layout="constrained")
        drawing.draw(figure)
        run.write(path, plotting.content(figure))
    return path


def _losses(config: Config, lines: Sequence[Line]) -> Drawing | None:
    policy, value = series.curve(lines, "loss_policy"), series.curve(lines, "loss_value")
    divergence = {"cross_entropy": "KL divergence, nats", "squared": "squared error"}
    unit = {"cross_entropy": "cross-entropy, nats", "squared": "squared error"}
    return _stacked(
        "losses",
        Panel(policy, f"policy loss:\n{divergence[config.learner.policy_loss]}", bottom=0.0),
        Panel(value, f"value loss:\n{unit[config.learner.value_loss]}"),
        *(Panel(series.curve(lines, name), series.loss_title(name)) for name in series.auxiliary_losses(lines)),
    )


def _entropy(lines: Sequence[Line]) -> Drawing | None:
    network, target = series.curve(lines, "entropy"), series.curve(lines, "target_entropy")
    return _together("entropy", "entropy, nats", {"network": network, "target (the search)": target})


def _games(game: Game, lines: Sequence[Line]) -> Drawing | None:
    return _stacked(
        "games",
        Panel(series.curve(lines, "game_length"), "length,\nmoves"),
        Panel(series.first_seat(lines), "first seat's\nscore, -1 to 1"),
        Panel(_percent(series.curve(lines, "draws")), "drawn,\n% of games", bottom=0.0),
    )


def _agreement(lines: Sequence[Line]) -> Drawing | None:
    curves = {
        "was the network's first choice": _percent(series.curve(lines, "policy_agreement")),
        "mean prior probability": _percent(series.curve(lines, "played_prior")),
    }
    return _together("agreement", "move played, %", curves, top=100.0)


def _strength(evaluations: Sequence[Strength]) -> Drawing | None:
    """Scores against each opponent over time, with intervals."""
    played = [found for found in evaluations if found.matches]
    opponents = list(dict.fromkeys(opponent for found in played for opponent in found.matches))
    if not played:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, opponent in enumerate(opponents):
            sides = [(found.minutes, found.matches[opponent]) for found in played if opponent in found.matches]
            minutes, score, low, high = np.array(
                [(at, 100 * side["score"], 100 * side["low"], 100 * side["high"]) for at, side in sides]
            ).T
            minutes = minutes + (number - (len(opponents) - 1) / 2) * 0.008 * played[-1].minutes  # side by side
            style = {"color": COLORS[number % len(COLORS)], "marker": MARKERS[number % len(MARKERS)]}
            spread = np.maximum([score - low, high - score], 0.0)
            axes.errorbar(minutes, score, spread, label=plotting.label(opponent), capsize=2, elinewidth=0.8, **style)
        axes.set(ylabel="score, % of points,\nwith 95% interval", ylim=(-2, 102))
        _timed(axes)
        _legend(axes, "against")

    return Drawing("strength", draw, height=3.2)


def _perfect(evaluations: Sequence[Strength]) -> Drawing | None:
    """Agreement with perfect play over time."""
    curves = {
        words: [(found.minutes, 100 * found.agreement[name]) for found in evaluations if name in found.agreement]
        for name, words in (("search", "with search"), ("network", "network alone"))
    }
    if not any(curves.values()):
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (words, points) in enumerate(curves.items()):
            axes.plot(*zip(*points, strict=True), color=COLORS[number], marker=MARKERS[number], label=words)
        axes.set_ylabel("moves that keep\nthe value, %")
        _timed(axes)
        _legend(axes)

    return Drawing("perfect", draw)


def _counted(axes: Any) -> None:
    """Label the axis of iterations, in whole numbers."""
    from matplotlib.ticker import MaxNLocator

    axes.set_xlabel("iteration")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))


def _timed(axes: Any) -> None:
    axes.set_xlabel("training time, minutes")
    axes.set_xlim(left=0.0)


def _openings(game: Game, lines: Sequence[Line]) -> Drawing | None:
    fractions, moves = series.openings(lines, num_actions=game.num_actions)
    if len(fractions.iterations) < 2:
        return None
    start = game.init(jax.random.key(0))
    names = ["others" if move is None else plotting.label(game.move_name(move, start)) for move in moves]

    def draw(figure: Any) -> None:
        import matplotlib

        axes = figure.subplots()
        ramp = matplotlib.colormaps["viridis"]
        known = sum(move is not None for move in moves)
        colors = ["#bbbbbb" if move is None else ramp(row / max(known - 1, 1)) for row, move in enumerate(moves)]
        axes.stackplot(
            fractions.iterations, 100 * fractions.values.T, colors=colors, labels=names, edgecolor="white", lw=0.6
        )
        axes.set(ylabel="first moves, % of games", ylim=(0, 100))
        _counted(axes)
        axes.margins(x=0)
        axes.grid(visible=False)
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), title="move")

    return Drawing("openings", draw, height=3.2)


class Panel(NamedTuple):
    """One of several plots below each other."""

    curve: Curve
    label: str
    bottom: float | None = None  # of the axis; by default it follows the curve


def _stacked(name: str, *panels: Panel) -> Drawing | None:
    """Panels below each other, each with its own axis."""
    held = [panel for panel in panels if panel.curve]
    if not held:
        return None

    def draw(figure: Any) -> None:
        column = figure.subplots(len(held), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (curve, label, bottom) in zip(column, held, strict=True):
            axes.plot(curve.iterations, curve.values, color=BLUE, marker="o" if len(curve.iterations) == 1 else None)
            axes.set_ylabel(label)
            axes.set_ylim(bottom=bottom)
        _counted(column[-1])
        figure.align_ylabels()

    return Drawing(name, draw, height=0.6 + 1.5 * len(held))


def _together(name: str, label: str, curves: dict[str, Curve], *, top: float | None = None) -> Drawing | None:
    """Curves of the same unit in one panel."""
    held = {words: curve for words, curve in curves.items() if curve}
    if not held:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (words, curve) in enumerate(held.items()):
            style = {"color": COLORS[number], "linestyle": DASHES[number]}
            marker = MARKERS[number] if len(curve.iterations) == 1 else None
            axes.plot(curve.iterations, curve.values, marker=marker, label=words, **style)
        axes.set_ylabel(label)
        _counted(axes)
        if top is not None:
            axes.set_ylim(0, top)
        _legend(axes)

    return Drawing(name, draw)


def _legend(axes: Any, title: str | None = None) -> None:
    """A legend above the axes, in three columns if the names are short."""
    columns = 3 if sum(map(len, axes.get_legend_handles_labels()[1])) < 60 else 1
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, title=title, alignment="left", borderaxespad=0.2
    )


def _percent(curve: Curve) -> Curve:
    return Curve(curve.iterations, 100 * curve.values)
