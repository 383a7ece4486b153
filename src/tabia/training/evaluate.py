"""Evaluations: matches against fixed opponents, and agreement with perfect play where it is known.

The end of a run is always evaluated. Before that, evaluations come at a fixed interval or, by default, as often as fits
a small fraction of the run's time.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from tabia.evaluation import accuracy
from tabia.evaluation.match import Match, check_batch, play
from tabia.evaluation.positions import PositionSet, draw
from tabia.evaluation.records import Record
from tabia.evaluation.results import match_result
from tabia.evaluation.rounds import MatchError
from tabia.games.game import Game
from tabia.players import PerfectPlayer, make, perfect
from tabia.players.player import Player
from tabia.players.spec import PlayerError
from tabia.training.arena import make_player
from tabia.training.errors import TrainingError
from tabia.training.iteration import IterationResult
from tabia.training.observers import BaseObserver
from tabia.training.plan import Plan
from tabia.training.state import playing
from tabia.training.training import Training

MCTS = "mcts:simulations=100"
TIME_FRACTION = 0.05  # of a run, for the evaluations before the last
MOST = 8  # evaluations per run
FEWEST_GAMES = 20  # against each opponent
FINAL_FRACTION = 0.1  # of a run, for the last evaluation
_FINAL_SECONDS = 20.0  # or this long, if that is more
_FIRST_COST = 5.0  # seconds that the first evaluation is expected to take, without compilation
_TOGETHER = 16  # games: 8 per player, so that each player compiles for one batch size
_POSITIONS = 200  # compared with perfect play by default
_LONG_ROLLOUTS = 20_000  # longest game times actions: above it, rollouts take too long


@dataclass(frozen=True)
class Allowance:
    """How many games an evaluation plays against each opponent, and how long it may take.

    After `seconds`, no more games start once there are `least`; a match that lasts longer than `patience` is abandoned.
    """

    games: int
    least: int
    seconds: float = math.inf
    patience: float = math.inf

    @property
    def together(self) -> int:
        """Games played at once."""
        return games_at_once(self.games)


class Evaluate(BaseObserver):
    """Measures strength during a run and at its end; the results join the metrics of the iteration."""

    def __init__(self) -> None:
        self._opponents: list[Player] = []
        self._since = (0.0, 0.0)  # seconds and progress at the last evaluation
        self._cost = _FIRST_COST  # seconds per evaluation, without compilation

    def on_start(self, training: Training) -> None:
        self._opponents = opponents(Plan(training.config))
        self._since = (training.counters.seconds, training.progress)

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        if training.stopping or not self._due(training):
            return {}
        training.enter("evaluating")
        # The counters do not advance while observers work.
        last, since = training.progress >= 1.0, training.counters.seconds - time.monotonic()
        allowed, final = allowance(training, last=last), allowance(training, last=True)
        found = self.measure(training, allowed)
        is_over = _left(training, since + time.monotonic()) <= 0  # then this was the last iteration after all
        if is_over and allowed != final and not training.stopping:
            found = self.measure(training, final)
        self._since = (since + time.monotonic(), training.progress)
        return found

    def _due(self, training: Training) -> bool:
        settings, last = training.config.evaluation, training.progress >= 1.0
        if not settings.games or settings.every:
            return bool(settings.games) and (last or training.counters.iteration % settings.every == 0)
        seconds, progress = training.counters.seconds - self._since[0], training.progress - self._since[1]
        worthwhile = seconds >= self._cost / TIME_FRACTION and _left(training, training.counters.seconds) > self._cost
        return last or (progress >= 1 / MOST and worthwhile)

    def measure(self, training: Training, allowed: Allowance) -> dict[str, Any]:
        """The match against each opponent and, where it is known, the agreement with perfect play."""
        plan, settings = Plan(training.current), training.config.evaluation
        found: dict[str, Any] = {}
        started, self._cost = time.monotonic(), 0.0
        for number, opponent in enumerate(self._opponents, start=1):
            us = make_player(plan, playing(training.state), settings.simulations, "tabia", search=settings.search)
            until = started + allowed.seconds * number / len(self._opponents)
            side = self._against(training, us, opponent, allowed, until)
            if side is not None:
                found.setdefault("matches", {})[opponent.spec] = side
        reference = None if training.stopping else positions(plan)
        if reference is not None:
            simulations = settings.simulations or plan.config.search.simulations
            for name, count in (("network", 0), ("search", simulations)):
                us = make_player(plan, playing(training.state), count, name, search=settings.search)
                found[f"agreement_{name}"] = accuracy.agreement(us, reference).all.agreement
        return found

    def _against(
        self, training: Training, us: Player, opponent: Player, allowed: Allowance, until: float
    ) -> dict[str, Any] | None:
        """Our side of a match that ends at about `until`; None if it was abandoned."""
        watch = _Watch(training, allowed.patience)
        match = Match(us.game, (us, opponent), allowed.games, seed=training.counters.iteration, batch=allowed.together)
        try:
            played = play(
                match,
                watch=watch,
                enough=lambda records: len(records) >= allowed.least and time.monotonic() >= until,
            )
        except _Abandoned:
            return None
        finally:
            self._cost += watch.seconds
        result = match_result(us.game, played.records)
        side = next(side for side in result.players if side.name == us.spec)
        return {"score": side.score, "low": side.low, "high": side.high, "games": result.games}


def _left(training: Training, seconds: float) -> float:
    """Seconds to the end of the run after so many, if it has a length in minutes."""
    return 60 * training.config.minutes - seconds if training.config.minutes else math.inf


def allowance(training: Training, *, last: bool) -> Allowance:
    """What the settings and the clock allow an evaluation, the last of the run or one before it."""
    settings, seconds = training.config.evaluation, training.counters.seconds
    if settings.every:
        return Allowance(settings.games, settings.games)
    games, final = settings.games, max(FINAL_FRACTION * seconds, _FINAL_SECONDS)
    if not last:
        return Allowance(min(FEWEST_GAMES, games), min(FEWEST_GAMES, games), 0.0, final)
    return Allowance(games, min(FEWEST_GAMES, games), final, 2.0 * final)


class _Abandoned(Exception):
    """A match takes too long, or the run was asked to stop."""


class _Watch:
    """Times a match from its first moves on, once everything is compiled, and abandons it if necessary."""

    def __init__(self, training: Training, patience: float) -> None:
        self._training, self._patience, self._steps, self._started = training, patience, 0, time.monotonic()

    @property
    def seconds(self) -> float:
        return time.monotonic() - self._started

    def __call__(self, records: Sequence[Record]) -> None:
        self._steps += 1
        if self._steps <= 2:  # before the first move and after it
            self._started = time.monotonic()
        if self._training.stopping or self.seconds > self._patience:
            raise _Abandoned


# Opponents.


def games_at_once(games: int) -> int:
    """How many games of a match are played at once: sixteen, or more for matches of hundreds of games."""
    return max(_TOGETHER, games // 8)


def suitable_opponents(game: Game) -> tuple[str, ...]:
    """Fixed opponents for a game, weakest first.

    >>> from tabia.games import make
    >>> suitable_opponents(make("tictactoe")), suitable_opponents(make("connect4"))
    (('random', 'mcts:simulations=100'), ('random', 'greedy', 'mcts:simulations=100'))
    """
    greedy = ("greedy",) if game.has_heuristic else ()
    long = game.max_moves * game.num_actions > _LONG_ROLLOUTS
    # Without a heuristic, MCTS is the only opponent that resists, however long it takes.
    return ("random", *greedy) if greedy and long else ("random", *greedy, MCTS)


def opponent_specs(plan: Plan) -> tuple[str, ...]:
    """The opponents of a run, weakest first; empty if strength is not measured."""
    settings = plan.config.evaluation
    return (settings.opponents or suitable_opponents(plan.game)) if settings.games else ()


def opponents(plan: Plan) -> list[Player]:
    """The opponents of a run; made before it starts, so that a misspelled one is reported in time."""
    try:
        if plan.config.evaluation.games and plan.config.evaluation.positions > 0:
            PerfectPlayer(plan.game)
        found = [make(spec, plan.game) for spec in opponent_specs(plan)]
        for player in found:
            check_batch(player, games_at_once(plan.config.evaluation.games))
        return found
    except (PlayerError, MatchError) as error:
        raise TrainingError(f"[evaluation] {error}") from None


@lru_cache(maxsize=1)
def positions(plan: Plan) -> PositionSet | None:
    """The positions on which a run is compared with perfect play; None if it is not."""
    settings = plan.config.evaluation
    wanted = settings.positions
    if wanted < 0:
        wanted = _POSITIONS if perfect.is_quick(plan.game) else 0
    return draw(plan.game, wanted, seed=plan.config.seed) if settings.games and wanted else None
