"""Evaluations: matches against fixed opponents, and agreement with perfect play where it is known.

The end of a run is always evaluated. On the way there are evaluations every so many iterations, or, where the settings
leave that open, as many as fit into a small share of the run's time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tabia.evaluation import accuracy
from tabia.evaluation.match import Match, play
from tabia.evaluation.records import Record
from tabia.evaluation.results import match_result
from tabia.players.player import Player
from tabia.training.arena import seated
from tabia.training.iteration import Report
from tabia.training.loop import BaseObserver, Training
from tabia.training.opponents import opponents, positions, side_by_side
from tabia.training.plan import Plan
from tabia.training.state import playing

SHARE = 0.05  # of the time, for the evaluations before the last
TIMES = 8  # evaluations in a run, at most
LEAST = 20  # games against each opponent
FINAL_SHARE = 0.1  # of the run's time, for the last evaluation
_FINAL_SECONDS = 20.0  # or so long, where that is more
_FIRST = 5.0  # seconds the first evaluation is expected to take, without compilation


@dataclass(frozen=True)
class Allowance:
    """How many games an evaluation plays against each opponent, and how long it may take.

    After `seconds` no games begin once there are `least`; a match that is not over after `patience` is given up.
    """

    games: int
    least: int
    seconds: float = math.inf
    patience: float = math.inf

    @property
    def together(self) -> int:
        """Games side by side."""
        return side_by_side(self.games)


class Evaluate(BaseObserver):
    """Measures strength on the way and at the end; what it finds is part of the iteration's metrics."""

    def __init__(self) -> None:
        self._opponents: list[Player] = []
        self._since = (0.0, 0.0)  # seconds and progress at the last evaluation
        self._cost = _FIRST  # seconds one takes, without compilation

    def begun(self, training: Training) -> None:
        self._opponents = opponents(Plan(training.config))
        self._since = (training.counters.seconds, training.progress)

    def on_iteration(self, training: Training, report: Report) -> dict[str, Any]:
        if training.stopping or not self._due(training):
            return {}
        training.now("evaluating")
        begun = time.monotonic()
        found = self.measure(training, allowance(training))
        # The counters's clock stands still while observers are at work.
        self._since = (training.counters.seconds + time.monotonic() - begun, training.progress)
        return found

    def _due(self, training: Training) -> bool:
        settings, last = training.config.evaluation, training.progress >= 1.0
        if not settings.games or settings.every:
            return bool(settings.games) and (last or training.counters.iteration % settings.every == 0)
        seconds, progress = training.counters.seconds - self._since[0], training.progress - self._since[1]
        return last or (progress >= 1 / TIMES and seconds >= self._cost / SHARE)

    def measure(self, training: Training, allowed: Allowance) -> dict[str, Any]:
        """Every opponent's match and, where known, the shares of moves that keep the value."""
        plan, settings = Plan(training.config), training.config.evaluation
        found: dict[str, Any] = {}
        begun, self._cost = time.monotonic(), 0.0
        for number, opponent in enumerate(self._opponents, start=1):
            us = seated(plan, playing(training.state), settings.simulations, "tabia")
            until = begun + allowed.seconds * number / len(self._opponents)
            side = self._against(training, us, opponent, allowed, until)
            if side is not None:
                found.setdefault("matches", {})[opponent.spec] = side
        judged = None if training.stopping else positions(plan)
        if judged is not None:
            searched = settings.simulations or plan.config.search.simulations
            for name, simulations in (("network", 0), ("searched", searched)):
                us = seated(plan, playing(training.state), simulations, name)
                found[f"keeps_{name}"] = accuracy.agreement(us, judged).all.agreement
        return found

    def _against(
        self, training: Training, us: Player, opponent: Player, allowed: Allowance, until: float
    ) -> dict[str, Any] | None:
        """Our side of a match that ends about `until`; None if it was given up."""
        watch = _Watch(training, allowed.patience)
        match = Match(
            us.game, (us, opponent), allowed.games, seed=training.counters.iteration, batch=allowed.together
        )
        try:
            played = play(
                match,
                watch=watch,
                enough=lambda records: len(records) >= allowed.least and time.monotonic() >= until,
            )
        except _GivenUp:
            return None
        finally:
            self._cost += watch.seconds
        result = match_result(us.game, played.records)
        side = next(side for side in result.players if side.name == us.spec)
        return {"share": side.score, "low": side.low, "high": side.high, "games": result.games}


def allowance(training: Training) -> Allowance:
    """What the settings, the clock and how far the run has come allow."""
    settings, seconds = training.config.evaluation, training.counters.seconds
    if settings.every:
        return Allowance(settings.games, settings.games)
    games, final = settings.games, max(FINAL_SHARE * seconds, _FINAL_SECONDS)
    if training.progress < 1.0:
        return Allowance(min(LEAST, games), min(LEAST, games), 0.0, final)
    return Allowance(games, min(LEAST, games), final, 2.0 * final)


class _GivenUp(Exception):
    """A match takes too long, or somebody stopped the run."""


class _Watch:
    """Follows a match from its first moves on, after which everything is compiled, and ends it if need be."""

    def __init__(self, training: Training, patience: float) -> None:
        self._training, self._patience, self._steps, self._begun = training, patience, 0, time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._begun

    def __call__(self, records: Sequence[Record]) -> None:
        self._steps += 1
        if self._steps <= 2:  # before the first move and after it
            self._begun = time.monotonic()
        if self._training.stopping or self.seconds > self._patience:
            raise _GivenUp
