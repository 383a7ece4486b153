"""One iteration: play, store, learn; and its result in numbers.

    iteration = Iteration(plan, state, number, progress)
    iteration.store(iteration.play())
    iteration.learn()

Where a network learns several boards, each iteration plays the next one of them. Axis letters: A actions, P seats.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.training.errors import DIVERGED, TrainingError
from tabia.training.learning import Losses, learning_rate_at
from tabia.training.plan import Plan
from tabia.training.rollback import Unguarded
from tabia.training.selfplay import openings, replay
from tabia.training.selfplay.play import Plies
from tabia.training.state import Board, State, playing

COLLAPSED = 1e-4  # nats: below this entropy the policy allows a single move in every position


class SelfPlaySummary(NamedTuple):
    """Sums and means over the plies of an iteration."""

    positions: Array  # positions searched
    games: Array  # games that ended
    moves: Array  # moves in all of them, openings included
    scores: Array  # [P] sum of each seat's scores, in [-1, 1] per game
    draws: Array  # games in which all seats scored the same
    resigned: Array  # games that ended by resignation
    policy_agreement: Array  # fraction of moves that were the evaluator's first choice
    played_prior: Array  # mean prior probability of the move played
    first_moves: Array  # [A] how often each move opened a game
    proven: Array | None = None  # fraction of positions that were proven, with `search.proven_values`


@dataclass(frozen=True)
class IterationResult:
    """What an iteration did; `losses` is None while the replay buffer fills."""

    selfplay: SelfPlaySummary
    losses: Losses | None
    buffer_positions: int  # positions ready to learn from
    learning_rate: float
    extra: dict[str, Any] = field(default_factory=dict)  # added by the gate and by observers

    def fields(self) -> dict[str, Any]:
        """Plain numbers for a line of metrics."""
        summary, games = self.selfplay, int(self.selfplay.games)
        found: dict[str, Any] = {
            "games": games,
            "buffer_positions": self.buffer_positions,
            "learning_rate": self.learning_rate,
        }
        if games:
            per_game = float(1 / games)
            found |= {
                "game_length": float(summary.moves) * per_game,
                "scores": [float(score) * per_game for score in summary.scores],
                "draws": float(summary.draws) * per_game,
                "resigned": float(summary.resigned) * per_game,
            }
        found |= {
            "policy_agreement": float(summary.policy_agreement),
            "played_prior": float(summary.played_prior),
            "first_moves": {
                str(action): int(summary.first_moves[action]) for action in summary.first_moves.nonzero()[0]
            },
        }
        if summary.proven is not None:
            found["proven"] = float(summary.proven)
        return found | self._losses() | self.extra

    def check(self, number: int, steps: int) -> None:
        """Stop a run whose losses are not finite or whose policy has collapsed, before it can save a checkpoint."""
        where = f"Stopped in iteration {number}, by optimizer step {steps}"
        found = self._losses()
        for name, value in found.items():
            if not math.isfinite(value):
                raise TrainingError(f"{where}: {name} is {value}. {DIVERGED}")
        if "entropy" in found and found["entropy"] < COLLAPSED:
            raise TrainingError(
                f"{where}: the policy has collapsed; its mean entropy is {found['entropy']:.1e} nats. "
                "The last checkpoint is sound. More noise (search.dirichlet_fraction, selfplay.temperature), more "
                "opening moves, or a smaller search.value_scale keep the policy open."
            )

    def _losses(self) -> dict[str, float]:
        return {} if self.losses is None else self.losses.to_dict()


class Keys(NamedTuple):
    """The random keys of an iteration."""

    play: Array
    learn: Array
    revisit: Array


def random_keys(seed: int, number: int) -> Keys:
    """The keys of the iteration after `number` others."""
    return Keys(*jax.random.split(jax.random.fold_in(jax.random.key(seed), number), 3))


class Iteration:
    """The iteration after `number` others and `games` finished games. The same arguments give the same iteration.

    `state` is the run's state as far as the iteration has come. Of the state given, only the replay buffer that is
    written to is donated; the `guard` keeps what is needed to restore it.
    """

    def __init__(
        self,
        plan: Plan,
        state: State,
        number: int,
        progress: float,
        enter: Callable[[str], None] = lambda phase: None,
        guard: Unguarded | None = None,
        games: int = 0,
    ) -> None:
        self._keys = random_keys(plan.config.seed, number)
        self._board = number % len(state.boards)
        self.plan, self.state = plan.boards[self._board], state
        self._learning_rate = learning_rate_at(self.plan.config.learner, progress)
        self._enter, self._guard, self._games = enter, guard or Unguarded(), games
        self._summary: SelfPlaySummary | None = None
        self._losses: Losses | None = None
        self._buffer_positions = 0

    @property
    def positions(self) -> int:
        """How many were played, once plies are stored."""
        assert self._summary is not None
        return int(self._summary.positions)

    def play(self) -> Plies:
        """Play some plies in every lane with the network that plays."""
        plan, (lanes, buffer) = self.plan, self.state.boards[self._board]
        self._enter("playing")
        with self._guard.computing():
            revisits = openings.draw_revisits(buffer, self._keys.revisit, plan.config.selfplay, plan.window)
            lanes, plies = jax.block_until_ready(
                plan.selfplay.play(playing(self.state), lanes, self._keys.play, revisits)
            )
        self._put(Board(lanes, buffer))
        return plies

    def store(self, plies: Plies) -> None:
        """Write plies to the replay buffer, with the outcomes of the games they ended."""
        plan, (lanes, buffer) = self.plan, self.state.boards[self._board]
        before = replay.overwritten(buffer, count=plan.config.selfplay.plies, reach=plan.reach)
        buffer = replay.add(buffer, plies, reach=plan.reach, td_lambda=plan.config.targets.td_lambda)
        self._guard.added(self._board, buffer, before)
        self._put(Board(lanes, buffer))
        with self._guard.computing():
            self._summary = jax.tree.map(np.asarray, summarize(plies, plan.game.num_actions))
            self._buffer_positions = int(_ready_positions(buffer, plan.window))

    def learn(self) -> None:
        """Take some optimizer steps on samples from the replay buffer, if it is due and it holds enough positions."""
        steps = self._steps_due()
        if steps == 0 or self._buffer_positions < self.plan.min_positions:
            return
        buffer = self.state.boards[self._board].buffer
        self._enter("learning")
        with self._guard.computing():
            train_state, losses = self.plan.learner.learn(
                _copied(self.state.train_state), buffer, self._keys.learn, self._learning_rate, steps
            )
            self._losses = jax.tree.map(np.asarray, losses)
        self.state = self.state._replace(train_state=train_state)

    def _steps_due(self) -> int | None:
        """Optimizer steps to take, as far as finished games decide it; None: as the learner's settings say."""
        assert self._summary is not None
        settings, before = self.plan.config.learner, self._games
        after = before + int(self._summary.games)
        selfplay = self.plan.config.selfplay
        if selfplay.teacher_games:  # then the network learns once, from all games of the teacher
            if after < selfplay.teacher_games:
                return 0
            before = 0
        if settings.steps_per_game:
            return math.floor(after * settings.steps_per_game) - math.floor(before * settings.steps_per_game)
        every = settings.train_every_games
        return 0 if every and after // every == before // every else None

    @property
    def result(self) -> IterationResult:
        """The numbers of the iteration, once plies are stored."""
        assert self._summary is not None
        board = {"board": self.plan.game.id} if len(self.state.boards) > 1 else {}
        return IterationResult(
            selfplay=self._summary,
            losses=self._losses,
            buffer_positions=self._buffer_positions,
            learning_rate=self._learning_rate,
            extra=board,
        )

    def _put(self, board: Board) -> None:
        boards = self.state.boards
        self.state = self.state._replace(boards=(*boards[: self._board], board, *boards[self._board + 1 :]))


def run(plan: Plan, state: State, number: int, progress: float) -> tuple[State, IterationResult]:
    """A whole iteration: the state after it, and its result."""
    iteration = Iteration(plan, state, number, progress)
    iteration.store(iteration.play())
    iteration.learn()
    return iteration.state, iteration.result


_ready_positions = jax.jit(replay.ready_positions, static_argnums=1)
_copied = jax.jit(lambda tree: jax.tree.map(jnp.copy, tree))  # learning donates its argument


@partial(jax.jit, static_argnums=1)
def summarize(plies: Plies, num_actions: int) -> SelfPlaySummary:
    """What is counted of the plies of an iteration [T, B]; a resigned game ends without the move at its last ply."""
    ended, drawn, played = plies.ended, jnp.ptp(plies.scores, axis=-1) == 0, ~plies.resigned
    searched = None if plies.idle is None else ~plies.idle
    return SelfPlaySummary(
        positions=jnp.int32(ended.size) if searched is None else searched.sum(),
        games=ended.sum(),
        moves=jnp.where(ended, plies.ply + played, 0).sum(),
        scores=jnp.where(ended[..., None], plies.scores, 0).sum((0, 1)),
        draws=(ended & drawn).sum(),
        resigned=plies.resigned.sum(),
        policy_agreement=plies.agrees.mean(where=searched),
        played_prior=plies.prior.mean(where=searched),
        first_moves=jnp.zeros(num_actions, jnp.int32).at[plies.action].add((plies.ply == 0) & played),
        proven=None if plies.proven is None else plies.proven.mean(where=searched),
    )
