"""The figures of a run's report; they need matplotlib, the extra `plots`.

Colours are Okabe and Ito's, which readers with any kind of colour vision can tell apart; lines differ in their dashes
or markers too.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import jax

from tabia.core.text import printable, shorten
from tabia.games.game import Game
from tabia.training import series
from tabia.training.config import Config
from tabia.training.directory import RunDirectory
from tabia.training.series import Curve, Line

FIGURES = "figures"
BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"
_COLOURS, _MARKERS = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY), "osD^vP"
_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)))
_STYLE: Any = {
    "axes.spines.top": False, "axes.spines.right": False, "axes.grid": True, "grid.color": "#e5e5e5",
    "axes.axisbelow": True, "font.size": 9, "legend.frameon": False, "lines.linewidth": 1.4, "lines.markersize": 4,
    "svg.hashsalt": "tabia", "text.parse_math": False,
}  # fmt: skip


class Drawing(NamedTuple):
    """What a figure shows, and how to draw it."""

    name: str  # of the file, without .svg
    draw: Callable[[Any], None]  # onto a matplotlib figure
    height: float = 2.8


def available() -> bool:
    """Whether matplotlib is there."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        return False
    return True


def style() -> AbstractContextManager[None]:
    """How figures of a report look, whoever draws them."""
    import matplotlib

    return matplotlib.rc_context(_STYLE)


def draw(run: RunDirectory, game: Game, config: Config, lines: Sequence[Line]) -> dict[str, Path]:
    """Draw all figures the metrics suffice for; the file of each by its name."""
    drawings = [
        _losses(config, lines), _entropy(lines), _games(game, lines), _matches(lines), _perfect(lines),
        _openings(game, lines), _agreement(lines),
    ]  # fmt: skip
    return {drawing.name: save(run, drawing) for drawing in drawings if drawing is not None}


def save(run: RunDirectory, drawing: Drawing) -> Path:
    """Draw one figure into a file; the same numbers make the same file."""
    from matplotlib.figure import Figure

    path, content = run.make_folder(run.path / FIGURES) / f"{drawing.name}.svg", io.BytesIO()
    with style():
        figure = Figure(figsize=(7, drawing.height), layout="constrained")
        drawing.draw(figure)
        figure.savefig(content, format="svg", metadata={"Date": None})
    run.write(path, content.getvalue())
    return path


def label(name: str) -> str:
    """A name for a legend: short and printable; Matplotlib would leave out one that starts with an underscore."""
    text = printable(shorten(name))
    return f" {text}" if text.startswith("_") else text


def _losses(config: Config, lines: Sequence[Line]) -> Drawing | None:
    policy, value = series.curve(lines, "loss_policy"), series.curve(lines, "loss_value")
    nats = {"cross_entropy": "nats", "squared": "squared error"}
    return _stacked(
        "losses",
        (policy, f"policy loss,\n{nats[config.learner.policy_loss]}"),
        (value, f"value loss,\n{nats[config.learner.value_loss]}"),
        (series.curve(lines, "loss_board"), "last position,\nnats"),
    )


def _entropy(lines: Sequence[Line]) -> Drawing | None:
    network, target = series.curve(lines, "entropy"), series.curve(lines, "target_entropy")
    return _together("entropy", "entropy, nats", {"network": network, "target (the search)": target})


def _games(game: Game, lines: Sequence[Line]) -> Drawing | None:
    return _stacked(
        "games",
        (series.curve(lines, "length"), "length,\nmoves"),
        (series.first_seat(lines), "first seat's\nscore, -1 to 1"),
        (_percent(series.curve(lines, "draws")), "drawn,\n% of games"),
    )


def _agreement(lines: Sequence[Line]) -> Drawing | None:
    curves = {
        "was the network's favourite, share of moves": _percent(series.curve(lines, "agrees")),
        "probability the network gave it, mean": _percent(series.curve(lines, "prior")),
    }
    return _together("agreement", "move played, %", curves, top=100.0)


def _perfect(lines: Sequence[Line]) -> Drawing | None:
    curves = {
        "with search": _percent(series.curve(lines, "keeps_searched", most=10_000)),
        "network alone": _percent(series.curve(lines, "keeps_network", most=10_000)),
    }
    return _together("perfect", "moves that keep\nthe value, %", curves, marked=True)


def _matches(lines: Sequence[Line]) -> Drawing | None:
    found = series.matches(lines)
    if not found:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (opponent, games) in enumerate(found.items()):
            colour, marker = _COLOURS[number % len(_COLOURS)], _MARKERS[number % len(_MARKERS)]
            cycles, share = [game["cycle"] for game in games], [100 * game["share"] for game in games]
            low, high = [100 * game["low"] for game in games], [100 * game["high"] for game in games]
            axes.fill_between(cycles, low, high, color=colour, alpha=0.15, linewidth=0)
            axes.plot(cycles, share, color=colour, marker=marker, label=label(opponent))
            if len(games) == 1:
                axes.vlines(cycles, low, high, color=colour)
        axes.set(xlabel="cycle", ylabel="share of the points, %,\nwith 95% interval", ylim=(0, 102))
        _legend(axes, "against")

    return Drawing("matches", draw)


def _openings(game: Game, lines: Sequence[Line]) -> Drawing | None:
    shares, moves = series.openings(lines, num_actions=game.num_actions)
    if len(shares.cycles) < 2:
        return None
    start = game.init(jax.random.key(0))
    names = ["others" if move is None else label(game.move_name(move, start)) for move in moves]

    def draw(figure: Any) -> None:
        import matplotlib

        axes = figure.subplots()
        ramp = matplotlib.colormaps["viridis"]
        known = sum(move is not None for move in moves)
        colours = ["#bbbbbb" if move is None else ramp(row / max(known - 1, 1)) for row, move in enumerate(moves)]
        axes.stackplot(shares.cycles, 100 * shares.values.T, colors=colours, labels=names, edgecolor="white", lw=0.6)
        axes.set(xlabel="cycle", ylabel="first moves, % of games", ylim=(0, 100))
        axes.margins(x=0)
        axes.grid(visible=False)
        handles, labels = axes.get_legend_handles_labels()
        axes.legend(handles[::-1], labels[::-1], loc="center left", bbox_to_anchor=(1.0, 0.5), title="move")

    return Drawing("openings", draw, height=3.2)


def _stacked(name: str, *panels: tuple[Curve, str]) -> Drawing | None:
    """One panel below the other, each with an axis of its own."""
    held = [(curve, label) for curve, label in panels if curve]
    if not held:
        return None

    def draw(figure: Any) -> None:
        column = figure.subplots(len(held), 1, sharex=True, squeeze=False)[:, 0]
        for axes, (curve, label) in zip(column, held, strict=True):
            axes.plot(curve.cycles, curve.values, color=BLUE, marker="o" if len(curve.cycles) == 1 else None)
            axes.set_ylabel(label)
        column[-1].set_xlabel("cycle")
        figure.align_ylabels()

    return Drawing(name, draw, height=0.6 + 1.5 * len(held))


def _together(
    name: str, label: str, curves: dict[str, Curve], *, marked: bool = False, top: float | None = None
) -> Drawing | None:
    """Curves of one unit in one panel."""
    held = {words: curve for words, curve in curves.items() if curve}
    if not held:
        return None

    def draw(figure: Any) -> None:
        axes = figure.subplots()
        for number, (words, curve) in enumerate(held.items()):
            marker = _MARKERS[number] if marked or len(curve.cycles) == 1 else None
            dash = "-" if marked else _DASHES[number]
            axes.plot(curve.cycles, curve.values, color=_COLOURS[number], linestyle=dash, marker=marker, label=words)
        axes.set(xlabel="cycle", ylabel=label)
        if top is not None:
            axes.set_ylim(0, top)
        _legend(axes)

    return Drawing(name, draw)


def _legend(axes: Any, title: str | None = None) -> None:
    """Above the axes; names side by side while they are short, otherwise one below the other."""
    columns = 3 if sum(map(len, axes.get_legend_handles_labels()[1])) < 60 else 1
    axes.legend(
        loc="lower left", bbox_to_anchor=(0.0, 1.0), ncols=columns, title=title, alignment="left", borderaxespad=0.2
    )


def _percent(curve: Curve) -> Curve:
    return Curve(curve.cycles, 100 * curve.values)
