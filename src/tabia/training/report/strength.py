"""How strong a run is: its evaluations, read from its metrics, in words and as a section of the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tabia.core.text import markdown, markdown_code, plain
from tabia.training.config.schema import Config
from tabia.training.evaluate import opponent_specs
from tabia.training.plan import Plan
from tabia.training.report import series
from tabia.training.report.ratings import Ratings
from tabia.training.report.series import Line, table
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory

_AGREEMENT = {"search": "with search", "network": "without"}
_ROWS = 10  # of a table
_MATCHES = (
    "Score as a fraction of the points with its 95% interval, {how}. Every opening is a few random moves and is played "
    "in every seating, so even perfect play may score less than 100%. Time is training time: compilation, self-play, "
    "learning and earlier evaluations."
)


@dataclass(frozen=True)
class Strength:
    """One evaluation."""

    iteration: int
    seconds: float  # of training before it
    matches: dict[str, Line] = field(default_factory=dict)  # by opponent, weakest first: score, low, high, games
    agreement: dict[str, float] = field(default_factory=dict)  # with perfect play, if that is known: network, search

    @property
    def minutes(self) -> float:
        return self.seconds / 60

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measured(lines: Sequence[Line]) -> list[Strength]:
    """The evaluations in the lines of metrics, oldest first."""
    found = []
    for line in lines:
        agreement = {name: line[f"agreement_{name}"] for name in _AGREEMENT if f"agreement_{name}" in line}
        if line.get("matches") or agreement:
            found.append(Strength(line["iteration"], line["seconds"], line.get("matches") or {}, agreement))
    return found


def latest(run: RunDirectory) -> Strength | None:
    """The newest evaluation of a run."""
    return next(reversed(measured(metrics.read(run))), None)


def describe(strength: Strength, config: Config) -> tuple[str, list[str]]:
    """An evaluation in words: a heading with its time and method, and the results, strongest opponent first."""
    simulations = config.evaluation.simulations
    how = f"{simulations} simulations per move" if simulations else "network alone"
    results = [
        f"{side['score']:.0%} of points against {plain(opponent)} ({side['low']:.0%} to {side['high']:.0%}, "
        f"{side['games']} games)"
        for opponent, side in reversed(strength.matches.items())
    ]
    if strength.agreement:
        found = ", ".join(f"{fraction:.1%} {_AGREEMENT[name]}" for name, fraction in strength.agreement.items())
        results.append(f"moves that keep the value of the position, as perfect play does: {found}")
    when = f"Strength after {duration(strength.seconds)}, iteration {strength.iteration:,}"
    return f"{when} ({how}, random openings)", results


def command(run: RunDirectory, config: Config) -> str:
    """The command that measures the newest checkpoint of a run."""
    plan, simulations = Plan(config), config.evaluation.simulations
    opponent = (opponent_specs(plan) or ("random",))[-1]
    player = f"az:{run.path}@latest,simulations={simulations}" if simulations else f"network:{run.path}@latest"
    return f"tabia match {config.game} {player} {opponent} --games 100"


def duration(seconds: float) -> str:
    """A duration in words.

    >>> duration(31.2), duration(300), duration(5400)
    ('31 seconds', '5.0 minutes', '90.0 minutes')
    """
    return f"{seconds:.0f} seconds" if seconds < 60 else f"{seconds / 60:.1f} minutes"


# The section of the report.


def section(
    config: Config, evaluations: Sequence[Strength], ratings: Ratings | str, figures: dict[str, str]
) -> list[str]:
    """Paragraphs, tables and figures; `figures` has the Markdown of each figure by name."""
    return [
        "## Strength",
        *_matches(config, evaluations, figures),
        *_perfect(evaluations, figures),
        *_ratings(ratings, figures),
    ]


def verdict(config: Config, evaluations: Sequence[Strength]) -> str:
    """The newest evaluation in words."""
    if not evaluations:
        return "Strength has not been measured yet."
    heading, results = describe(evaluations[-1], config)
    return "\n".join([f"{heading}:\n", *(f"- {markdown(result)}" for result in results)])


def _matches(config: Config, evaluations: Sequence[Strength], figures: dict[str, str]) -> list[str]:
    played = [found for found in evaluations if found.matches]
    opponents = list(dict.fromkeys(opponent for found in played for opponent in found.matches))
    if not played:
        return []
    rows = [
        (f"{found.minutes:.1f}", f"{found.iteration:,}", *(_score(found.matches.get(one)) for one in opponents))
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
    known = [found for found in evaluations if found.agreement]
    if not known:
        return []
    rows = [
        (f"{found.minutes:.1f}", f"{found.iteration:,}", _percent(found, "network"), _percent(found, "search"))
        for found in series.spread(known, _ROWS)
    ]
    return [
        "### Agreement with perfect play",
        "How often the move chosen keeps the value of the position, on positions from random games.",
        figures.get("perfect", ""),
        table(("minutes", "iteration", "network alone", "with search"), rows, right=4),
    ]


def _ratings(ratings: Ratings | str, figures: dict[str, str]) -> list[str]:
    if isinstance(ratings, str):
        return [ratings]
    how = f"with {ratings.simulations} simulations per move" if ratings.simulations else "by the network alone"
    words = f"From {ratings.games} different games between checkpoints, {how}; the first checkpoint is rated 0."
    rows = [
        (f"{iteration:,}", f"{elo:+.0f}", "fixed" if not error else f"± {error:.0f}")
        for iteration, elo, error in zip(ratings.iterations, ratings.elo, ratings.error, strict=True)
    ]
    headings = ("iteration", "Elo", "95%")
    return ["### Between checkpoints", words, figures.get("ratings", ""), table(headings, rows, right=3)]


def _score(side: Line | None) -> str:
    return "-" if side is None else f"{side['score']:.1%} ({side['low']:.1%} to {side['high']:.1%})"


def _percent(found: Strength, name: str) -> str:
    return f"{found.agreement[name]:.1%}" if name in found.agreement else "-"
