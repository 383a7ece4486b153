"""A plot of rating against iteration; needs matplotlib, the extra `plots`."""

from __future__ import annotations

import io
import re
from collections.abc import Sequence
from pathlib import Path

from tabia.core import files
from tabia.core.text import printable, shorten
from tabia.evaluation.ratings import RatingError
from tabia.players.spec import parse

_STEP = re.compile("[0-9]{1,12}")


def steps(names: Sequence[str]) -> list[int | None]:
    """The iteration each player's spec names, as in az:runs/connect4@3000.

    >>> steps(["az:runs/connect4@3000,simulations=64", "random"])
    [3000, None]
    """
    versions = [parse(name).version for name in names]
    return [int(version) if version is not None and _STEP.fullmatch(version) else None for version in versions]


def plot(
    path: Path, names: Sequence[str], elo: Sequence[float], error: Sequence[float], *, within: Path | None = None
) -> None:
    """Draw ratings with their 95% intervals over the iterations; players without one are lines across."""
    if path.suffix not in (".svg", ".png", ".pdf"):
        raise RatingError(f"{path}: a plot is written as .svg, .png or .pdf.")
    try:
        import matplotlib
        from matplotlib.figure import Figure
        from matplotlib.ticker import MaxNLocator
    except ImportError:
        raise RatingError("A plot needs matplotlib: pip install 'tabia[plots]'.") from None
    known = steps(names)
    trained = sorted((step, row) for row, step in enumerate(known) if step is not None)
    if not trained:
        raise RatingError("No player names an iteration, as az:RUN@3000 does, so there is nothing to plot against.")
    content = io.BytesIO()
    with matplotlib.rc_context({"text.parse_math": False}):  # a name with $ is no formula
        figure = Figure(figsize=(7, 4.5), layout="constrained")
        axes = figure.subplots()
        rows = [row for _, row in trained]
        axes.errorbar(
            [step for step, _ in trained],
            [elo[row] for row in rows],
            yerr=[error[row] for row in rows],
            marker="o",
            markersize=3,
            capsize=2,
        )
        for row, step in enumerate(known):
            if step is None:
                label = f" {printable(shorten(names[row]))}"  # Matplotlib leaves out one that starts with `_`
                axes.axhline(elo[row], linestyle="--", linewidth=1, color=f"C{row % 9 + 1}", label=label)
        axes.set_xlabel("iteration")
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
        axes.set_ylabel("rating, Elo, with 95% interval")
        if len(trained) < len(names):
            axes.legend()
        dateless = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(content, format=path.suffix[1:], metadata=dateless)
    try:
        files.write_atomic(path, content.getvalue(), within=within)
    except OSError as problem:
        raise RatingError(f"{path} cannot be written: {problem.strerror or problem}.") from None
