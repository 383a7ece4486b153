"""How strong a run was when it was last measured, from its metrics, in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from tabia.core.text import plain
from tabia.training.config.schema import Config
from tabia.training.opponents import specs
from tabia.training.plan import Plan
from tabia.training.report.series import Line
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory

_PERFECT = {"searched": "with search", "network": "without"}


@dataclass(frozen=True)
class Strength:
    """One evaluation."""

    iteration: int
    seconds: float  # of training before it
    matches: dict[str, Line] = field(default_factory=dict)  # by opponent, weakest first: share, low, high, games
    keeps: dict[str, float] = field(default_factory=dict)  # shares of moves that keep the value, where that is known

    @property
    def minutes(self) -> float:
        return self.seconds / 60

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


def measured(lines: Sequence[Line]) -> list[Strength]:
    """Every evaluation among the lines of metrics, oldest first."""
    found = []
    for line in lines:
        keeps = {name: line[f"keeps_{name}"] for name in _PERFECT if f"keeps_{name}" in line}
        if line.get("matches") or keeps:
            found.append(Strength(line["iteration"], line["seconds"], line.get("matches") or {}, keeps))
    return found


def latest(run: RunDirectory) -> Strength | None:
    """The newest evaluation of a run."""
    return next(reversed(measured(metrics.read(run))), None)


def describe(strength: Strength, config: Config) -> tuple[str, list[str]]:
    """One evaluation in words: when it was made and how, and each result, the strongest opponent first."""
    simulations = config.evaluation.simulations
    how = f"{simulations} simulations per move" if simulations else "network alone"
    results = [
        f"{side['share']:.0%} of points against {plain(opponent)} ({side['low']:.0%} to {side['high']:.0%}, "
        f"{side['games']} games)"
        for opponent, side in reversed(strength.matches.items())
    ]
    if strength.keeps:
        shares = ", ".join(f"{share:.1%} {_PERFECT[name]}" for name, share in strength.keeps.items())
        results.append(f"moves that keep the position's value, as perfect play does: {shares}")
    when = f"Strength after {duration(strength.seconds)}, iteration {strength.iteration:,}"
    return f"{when} ({how}, random openings)", results


def command(run: RunDirectory, config: Config) -> str:
    """What to type to measure a run's newest checkpoint."""
    plan, simulations = Plan(config), config.evaluation.simulations
    opponent = (specs(plan) or ("random",))[-1]
    player = f"az:{run.path}@latest,simulations={simulations}" if simulations else f"network:{run.path}@latest"
    return f"tabia match {config.game} {player} {opponent} --games 100"


def duration(seconds: float) -> str:
    """A length of time in words.

    >>> duration(31.2), duration(300), duration(5400)
    ('31 seconds', '5.0 minutes', '90.0 minutes')
    """
    return f"{seconds:.0f} seconds" if seconds < 60 else f"{seconds / 60:.1f} minutes"
