"""Self-play as by actors on other machines, simulated in one process: weights that arrive late, chunks that are lost.

A chunk is what one actor plays in an iteration: the plies of its share of the lanes. When an actor dies and nobody
takes over its work, its plies are never stored and its games are lost; the actor that replaces it starts new ones.
Axis letters: T plies, B lanes, S actors.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.networks import Variables
from tabia.training.iteration import Iteration
from tabia.training.selfplay.openings import Lanes, where
from tabia.training.selfplay.play import Plies
from tabia.training.state import Board, playing

_LOSSES = 2**31  # folded into the key of an iteration: which chunks are lost, and the games that replace theirs


@dataclass(frozen=True)
class Impairment:
    """How late weights arrive, and how many chunks are lost."""

    delay: int = 0  # iterations between the weights that play and the newest ones
    dropped: float = 0.0  # the probability that a chunk is lost
    actors: int = 1  # they share the lanes evenly


class SimulatedActors:
    """Makes the iterations of one run, for `train(..., iteration=...)`.

    Without delay and losses the run is the ordinary one. The weights of earlier iterations are kept here and not in
    checkpoints, so a run that was interrupted has to start again.
    """

    def __init__(self, impairment: Impairment) -> None:
        self.impairment = impairment
        self._sent: deque[Variables] = deque(maxlen=impairment.delay + 1)

    def __call__(self, **arguments: Any) -> Iteration:
        return _Iteration(self, **arguments)

    def received(self, newest: Variables) -> Variables:
        """The weights that play in an iteration that starts with these: those of `delay` iterations before."""
        self._sent.append(newest)
        return self._sent[0]


class _Iteration(Iteration):
    """An iteration with the weights that arrived, and without the chunks that are lost."""

    def __init__(self, actors: SimulatedActors, **arguments: Any) -> None:
        super().__init__(**arguments)
        self._actors = actors
        key = jax.random.fold_in(jax.random.key(self.plan.config.seed), arguments["number"])
        self._loss_key = jax.random.fold_in(key, _LOSSES)

    def play(self) -> Plies:
        champion = self.state.champion
        self.state = self.state._replace(champion=self._actors.received(playing(self.state)))
        plies = super().play()
        self.state = self.state._replace(champion=champion)
        return self._without_losses(plies) if self._actors.impairment.dropped else plies

    def _without_losses(self, plies: Plies) -> Plies:
        draw_key, game_key = jax.random.split(self._loss_key)
        lost = lost_lanes(self._actors.impairment, plies.ended.shape[1], draw_key)
        lanes, buffer = self.state.boards[self._board]
        self._put(Board(_replaced(lost, self.plan.selfplay.begin(game_key), lanes), buffer))
        return without(plies, lost)


def lost_lanes(impairment: Impairment, lanes: int, key: Array) -> Array:
    """bool[B]: the lanes whose chunk is lost; each actor loses its own with the same probability."""
    lost = jax.random.uniform(key, (impairment.actors,)) < impairment.dropped
    return jnp.repeat(lost, lanes // impairment.actors, total_repeat_length=lanes)


@jax.jit
def without(plies: Plies, lost: Array) -> Plies:
    """Plies [T, B] that the replay buffer never learns from in the lanes that are lost, nor from what led to them.

    A random move without a search makes its own position worthless, and cuts off the outcome of earlier ones: exactly
    what is needed here, and in the lost lanes every ply becomes such a move.
    """
    gone = jnp.broadcast_to(lost[None, :], plies.ended.shape)
    return plies._replace(
        ended=plies.ended & ~gone,
        resigned=plies.resigned & ~gone,
        valued=plies.valued & ~gone,
        explored=plies.explored | gone,
    )


@jax.jit
def _replaced(lost: Array, new: Lanes, lanes: Lanes) -> Lanes:
    return Lanes(*where(lost, new, lanes))
