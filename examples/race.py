"""Twenty-one: add 1, 2 or 3 in turn; the seat that says 21 loses. A game as array rules."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from tabia.games import Game


class State(NamedTuple):
    total: Array  # int32, the last number said
    mover: Array  # int32, the seat to move


@dataclass(frozen=True)
class Race(Game):
    """Twenty-one: add 1, 2 or 3 in turn; the seat that says 21 loses."""

    target: int = 21

    name = "race"
    num_players = 2
    num_actions = 3

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (1, self.target + 1, 1)

    @property
    def max_moves(self) -> int:
        return self.target

    def init(self, key: Array) -> State:
        return State(total=jnp.int32(0), mover=jnp.int32(0))

    def step(self, state: State, action: Array, key: Array | None = None) -> State:
        played = self.legal(state)[action]
        total = state.total + jnp.where(played, action + 1, 0)
        mover = jnp.where(played, 1 - state.mover, state.mover)
        return State(total, mover)

    def legal(self, state: State) -> Array:
        return state.total + jnp.arange(1, 4) <= self.target

    def mover(self, state: State) -> Array:
        return state.mover

    def over(self, state: State) -> Array:
        return state.total == self.target

    def scores(self, state: State) -> Array:
        # The other seat just said 21, so the seat to move has won.
        won = jnp.where(jnp.arange(2) == state.mover, 1.0, -1.0)
        return jnp.where(self.over(state), won, 0.0)

    def observe(self, state: State, seat: Array | None = None) -> Array:
        # Both seats see the same: one cell per number, set at the last number said.
        return (jnp.arange(self.target + 1) == state.total).astype(jnp.float32).reshape(self.observation_shape)

    def move_name(self, action: int, state: State | None = None) -> str:
        return f"+{action + 1}"

    def draw(self, state: State) -> str:
        return f"{int(state.total)} of {self.target}"

    def goal(self, seat: int) -> str:
        return f"Make the other seat say {self.target}."
