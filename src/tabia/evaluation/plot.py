"""A plot of rating against iteration; needs matplotlib, the extra `plots`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tabia.evaluation.ratings import RatingError
from tabia.players.spec import parse


def steps(names: Sequence[str]) -> list[int | None]:
    """The iteration each player's spec names, as in az:runs/connect4@3000.

    >>> steps(["az:runs/connect4@3000,simulations=64", "random"])
    [3000, None]
    """
    versions = [parse(name).version for name in names]
    return [int(version) if version is not None and version.isdecimal() else None for version in versions]


def plot(path: Path, names: Sequence[str], elo: Sequence[float], error: Sequence[float]) -> None:
    """Draw ratings with their 95% intervals over the iterations; players without one are lines across."""
    if path.suffix not in (".svg", ".png", ".pdf"):
        raise RatingError(f"{path}: a plot is written as .svg, .png or .pdf.")
    try:
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise RatingError("A plot needs matplotlib: pip install 'tabia[plots]'.") from None
    known = steps(names)
    trained = sorted((step, row) for row, step in enumerate(known) if step is not None)
    if not trained:
        raise RatingError("No player names an iteration, as az:RUN@3000 does, so there is nothing to plot against.")
    figure = Figure(figsize=(7, 4.5), layout="constrained")
    axes = figure.subplots()
    rows = [row for _, row in trained]
    axes.errorbar(
        [step for step, _ in trained], [elo[row] for row in rows], yerr=[error[row] for row in rows],
        marker="o", markersize=3, capsize=2,
    )  # fmt: skip
    for row, step in enumerate(known):
        if step is None:
            axes.axhline(elo[row], linestyle="--", linewidth=1, color=f"C{row % 9 + 1}", label=names[row])
    axes.set_xlabel("iteration")
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_ylabel("rating, Elo, with 95% interval")
    if len(trained) < len(names):
        axes.legend()
    try:
        figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    except OSError as problem:
        raise RatingError(f"{path} cannot be written: {problem.strerror}.") from None
