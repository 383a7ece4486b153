"""The part of a report about strength: against fixed opponents, against perfect play, and among checkpoints."""

from __future__ import annotations

from collections.abc import Sequence

from tabia.core.text import markdown, markdown_code
from tabia.training.config.schema import Config
from tabia.training.report import series, strength
from tabia.training.report.markdown import table
from tabia.training.report.rated import Rated
from tabia.training.report.series import Line
from tabia.training.report.strength import Strength

_ROWS = 10  # of a table
_MATCHES = (
    "Share of the points with its 95% interval, {how}. Every opening is a few random moves and is played in every "
    "seating, so even perfect play may fall short of 100%. Time is training time: compilation, self-play, learning and "
    "earlier evaluations."
)


def section(config: Config, evaluations: Sequence[Strength], rated: Rated | str, figures: dict[str, str]) -> list[str]:
    """The paragraphs, tables and figures; `figures` holds the Markdown of each by its name."""
    return [
        "## Strength",
        *_matches(config, evaluations, figures),
        *_perfect(evaluations, figures),
        *_ratings(rated, figures),
    ]


def verdict(config: Config, evaluations: Sequence[Strength]) -> str:
    """The newest evaluation in words."""
    if not evaluations:
        return "Strength has not been measured yet."
    heading, results = strength.describe(evaluations[-1], config)
    return "\n".join([f"{heading}:\n", *(f"- {markdown(result)}" for result in results)])


def _matches(config: Config, evaluations: Sequence[Strength], figures: dict[str, str]) -> list[str]:
    played = [found for found in evaluations if found.matches]
    opponents = list(dict.fromkeys(opponent for found in played for opponent in found.matches))
    if not played:
        return []
    rows = [
        (f"{found.minutes:.1f}", f"{found.iteration:,}", *(_share(found.matches.get(one)) for one in opponents))
        for found in series.spread(played, _ROWS)
    ]
    headings = ("minutes", "iteration", *(f"against {markdown_code(opponent)}" for opponent in opponents))
    simulations = config.evaluation.simulations
    how = f"with {simulations} simulations per move" if simulations else "by the network alone"
    return [
        "### Against fixed opponents",
        _MATCHES.format(how=how),
        figures.get("strength", ""),
        table(headings, rows, right=len(headings)),
    ]


def _perfect(evaluations: Sequence[Strength], figures: dict[str, str]) -> list[str]:
    known = [found for found in evaluations if found.keeps]
    if not known:
        return []
    rows = [
        (f"{found.minutes:.1f}", f"{found.iteration:,}", _percent(found, "network"), _percent(found, "searched"))
        for found in series.spread(known, _ROWS)
    ]
    return [
        "### Agreement with perfect play",
        "How often the move chosen keeps the value of the position, on positions of random games.",
        figures.get("perfect", ""),
        table(("minutes", "iteration", "network alone", "with search"), rows, right=4),
    ]


def _ratings(rated: Rated | str, figures: dict[str, str]) -> list[str]:
    if isinstance(rated, str):
        return [rated]
    how = f"with {rated.simulations} simulations per move" if rated.simulations else "by the network alone"
    words = f"From {rated.games} different games among checkpoints, {how}; the first of them is rated 0."
    rows = [
        (f"{iteration:,}", f"{elo:+.0f}", "fixed" if not error else f"± {error:.0f}")
        for iteration, elo, error in zip(rated.iterations, rated.elo, rated.error, strict=True)
    ]
    headings = ("iteration", "Elo", "95%")
    return ["### Among its checkpoints", words, figures.get("ratings", ""), table(headings, rows, right=3)]


def _share(side: Line | None) -> str:
    return "-" if side is None else f"{side['share']:.1%} ({side['low']:.1%} to {side['high']:.1%})"


def _percent(found: Strength, name: str) -> str:
    return f"{found.keeps[name]:.1%}" if name in found.keeps else "-"
