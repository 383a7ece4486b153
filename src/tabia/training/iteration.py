"""One iteration: some plies of self-play in every lane, then some steps of learning; and what can be said of it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.training.learning import Losses, learning_rate_at
from tabia.training.plan import Plan
from tabia.training.rollback import Unguarded
from tabia.training.selfplay import replay, revisits
from tabia.training.selfplay.play import Plies
from tabia.training.state import Board, State, playing


class Seen(NamedTuple):
    """A chunk of self-play in numbers."""

    games: Array  # games that ended
    length: Array  # moves of all of them, openings included
    scores: Array  # [P] the seats' scores, summed, in [-1, 1]
    draws: Array  # games in which all seats scored the same
    resigned: Array
    agrees: Array  # share of moves that were the evaluator's favorite: the network's, or a win at once it was shown
    prior: Array  # mean probability the evaluator alone gave the move played
    first_moves: Array  # [A] how often each move opened a game from the start


@dataclass(frozen=True)
class Report:
    """What an iteration did; losses are None while the replay fills."""

    seen: Seen
    losses: Losses | None
    ready: int
    rate: float
    extra: dict[str, Any] = field(default_factory=dict)  # what gate and observers add

    def fields(self) -> dict[str, Any]:
        """Plain numbers for a line of metrics."""
        seen, games = self.seen, int(self.seen.games)
        mean = float(1 / games) if games else None
        found: dict[str, Any] = {"games": games, "ready": self.ready, "rate": self.rate}
        if mean is not None:
            found |= {
                "length": float(seen.length) * mean,
                "scores": [float(score) * mean for score in seen.scores],
                "draws": float(seen.draws) * mean,
                "resigned": float(seen.resigned) * mean,
            }
        found |= {"agrees": float(seen.agrees), "prior": float(seen.prior)}
        found["first_moves"] = {str(action): int(seen.first_moves[action]) for action in seen.first_moves.nonzero()[0]}
        if self.losses is not None:
            found |= self.losses.to_dict()
        return found | self.extra


def run(
    plan: Plan,
    state: State,
    iteration: int,
    progress: float,
    watch: Callable[[str], None] = lambda doing: None,
    guard: Unguarded | None = None,
) -> tuple[State, Report]:
    """The iteration after `iteration` others; the same numbers give the same iteration. `watch` is told what is being done.

    Of `state` only the replay that is added to is given away, and the `guard` is told how to restore it.
    """
    guard = guard or Unguarded()
    key = jax.random.fold_in(jax.random.key(plan.config.seed), iteration)
    play_key, learn_key, again_key = jax.random.split(key, 3)
    turn = iteration % len(state.boards)
    plan, board = plan.boards[turn], state.boards[turn]
    watch("playing")
    with guard.computing():
        again = revisits.draw(board.buffer, again_key, plan.config.selfplay, plan.window)
        lanes, plies = jax.block_until_ready(plan.selfplay.play(playing(state), board.lanes, play_key, again))
    before = replay.overwritten(board.buffer, count=plan.config.selfplay.plies, reach=plan.reach)
    buffer = replay.add(board.buffer, plies, reach=plan.reach, decay=plan.config.targets.td_lambda)
    guard.added(turn, buffer, before)
    with guard.computing():
        seen, ready = _summed(plies, plan.game.num_actions), int(_ready(buffer, plan.window))
        train_state, losses, rate = state.train_state, None, learning_rate_at(plan.config.learner, progress)
        if ready >= plan.start:
            watch("learning")
            train_state, losses = plan.learner.learn(_copied(train_state), buffer, learn_key, rate)
        which = {"board": plan.game.id} if len(state.boards) > 1 else {}
        report = Report(jax.tree.map(np.asarray, seen), jax.tree.map(np.asarray, losses), ready, rate, which)
    boards = (*state.boards[:turn], Board(lanes, buffer), *state.boards[turn + 1 :])
    return state._replace(boards=boards, train_state=train_state), report


_ready = jax.jit(replay.ready_positions, static_argnums=1)
_copied = jax.jit(lambda tree: jax.tree.map(jnp.copy, tree))  # learning gives its argument away


@partial(jax.jit, static_argnums=1)
def _summed(plies: Plies, num_actions: int) -> Seen:
    ended, level = plies.ended, jnp.ptp(plies.scores, axis=-1) == 0
    first = jnp.zeros(num_actions, jnp.int32).at[plies.action].add(plies.ply == 0)
    return Seen(
        ended.sum(),
        jnp.where(ended, plies.ply + 1, 0).sum(),
        jnp.where(ended[..., None], plies.scores, 0).sum((0, 1)),
        (ended & level).sum(),
        plies.resigned.sum(),
        plies.agrees.mean(),
        plies.prior.mean(),
        first,
    )
