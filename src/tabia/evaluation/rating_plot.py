"""The plot of ratings against training iterations; needs matplotlib, the extra `plots`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from tabia.core import files, plotting
from tabia.evaluation.rating_models import RatingError
from tabia.players.spec import parse

_ITERATION = re.compile("[0-9]{1,12}")
_FORMATS = (".svg", ".png", ".pdf")


def spec_iterations(names: Sequence[str]) -> list[int | None]:
    """The training iteration that each player's spec names, as in az:runs/connect4@3000.

    >>> spec_iterations(["az:runs/connect4@3000,simulations=64", "random"])
    [3000, None]
    """
    versions = [parse(name).version for name in names]
    return [int(version) if version is not None and _ITERATION.fullmatch(version) else None for version in versions]


def plot_ratings(
    path: Path, names: Sequence[str], elo: Sequence[float], error: Sequence[float], *, within: Path | None = None
) -> None:
    """Plot ratings with their 95% intervals; players without an iteration are horizontal lines."""
    if path.suffix not in _FORMATS:
        raise RatingError(f"{path}: a plot needs the extension .svg, .png or .pdf.")
    if not plotting.available():
        raise RatingError("A plot needs matplotlib: pip install 'tabia[plots]'.")
    if all(iteration is None for iteration in spec_iterations(names)):
        raise RatingError("No player names an iteration, as az:RUN@3000 does, so there is nothing to plot against.")
    with plotting.style():
        from matplotlib.figure import Figure

        figure = Figure(figsize=(7, 4.5), layout="constrained")
        _draw(figure.subplots(), names, elo, error)
        content = plotting.content(figure, path.suffix[1:])
    try:
        files.write_atomic(path, content, within=within)
    except OSError as problem:
        raise RatingError(f"{path} cannot be written: {problem.strerror or problem}.") from None


def _draw(axes: Any, names: Sequence[str], elo: Sequence[float], error: Sequence[float]) -> None:
    from matplotlib.ticker import MaxNLocator

    known = spec_iterations(names)
    trained = sorted((iteration, row) for row, iteration in enumerate(known) if iteration is not None)
    axes.errorbar(
        [iteration for iteration, _ in trained],
        [elo[row] for _, row in trained],
        yerr=[error[row] for _, row in trained],
        marker="o",
        markersize=3,
        capsize=2,
    )
    for row, iteration in enumerate(known):
        if iteration is None:
            color = f"C{row % 9 + 1}"
            axes.axhline(elo[row], linestyle="--", linewidth=1, color=color, label=plotting.label(names[row]))
    axes.set_xlabel("iteration")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("rating, Elo, with 95% interval")
    if len(trained) < len(names):
        axes.legend()
