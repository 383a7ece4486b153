"""Small games with features that the shipped games lack: seats that move twice, loops, dice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, Key


class RaceState(NamedTuple):
    fields: Array  # int32[3] how far each seat is
    mover: Array  # int32


@dataclass(frozen=True)
class Race(Game):
    """Three seats race along a track by one, two or three fields, never onto another; every third field moves again.

    The first to arrive ends the game and gets 3, the others their fraction of the track: the game is not zero-sum.
    """

    name = "race"
    length: int = 10
    num_players = 3
    num_actions = 3
    observation_shape = (1, 11, 3)
    score_range = (0.0, 3.0)

    @property
    def max_moves(self) -> int:
        return 3 * self.length

    def init(self, key: Key) -> RaceState:
        return RaceState(jnp.zeros(3, jnp.int32), jnp.int32(0))

    def step(self, state: RaceState, action: Array, key: Key | None = None) -> RaceState:
        played = self.legal(state)[action]
        here = jnp.minimum(state.fields[state.mover] + action + 1, self.length)
        again = here % 3 == 0
        after = RaceState(state.fields.at[state.mover].set(here), jnp.where(again, state.mover, (state.mover + 1) % 3))
        return jax.tree.map(lambda new, old: jnp.where(played, new, old), after, state)

    def legal(self, state: RaceState) -> Array:
        target = state.fields[state.mover] + 1 + jnp.arange(3)
        taken = jnp.any(target[:, None] == state.fields[None, :], axis=1)
        return ~taken & ~self.over(state)

    def mover(self, state: RaceState) -> Array:
        return state.mover

    def over(self, state: RaceState) -> Array:
        return jnp.any(state.fields >= self.length)

    def scores(self, state: RaceState) -> Array:
        ended = jnp.where(state.fields >= self.length, 3.0, state.fields / self.length)
        return jnp.where(self.over(state), ended, 0.0)

    def observe(self, state: RaceState, seat: Array | None = None) -> Array:
        seat = state.mover if seat is None else seat
        seen = state.fields[(seat + jnp.arange(3)) % 3]
        return (jnp.arange(11)[None, :, None] == seen[None, None, :]).astype(jnp.float32)


class RingState(NamedTuple):
    fields: Array  # int32[3]
    mover: Array  # int32
    settled: Array  # float32[3]
    moves: Array  # int32


@dataclass(frozen=True)
class RingGame(Game):
    """Three seats move around a ring, left, right or not at all, and may not meet; each wants the opposite field.

    The first to arrive gets 2 and stays, the second gets 1 and ends the game. Positions can
    repeat, and `max_moves` ends a game in which nobody arrives. The number of moves is not part of the position.
    """

    name = "ring"
    size: int = 9
    max_moves: int = 200
    num_players = 3
    num_actions = 3
    score_range = (0.0, 2.0)

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (1, self.size, 6)

    def init(self, key: Key) -> RingState:
        return RingState(jnp.arange(3) * (self.size // 3), jnp.int32(0), jnp.zeros(3), jnp.int32(0))

    def step(self, state: RingState, action: Array, key: Key | None = None) -> RingState:
        played = self.legal(state)[action]
        seat = state.mover
        here = self._targets(state)[action]
        home = here == (seat * (self.size // 3) + self.size // 2) % self.size
        prize = jnp.where(state.settled.any(), 1.0, 2.0)
        settled = state.settled.at[seat].set(jnp.where(home, prize, 0.0))
        following = (seat + 1 + jnp.arange(3)) % 3
        waiting = settled[following] == 0
        after = RingState(state.fields.at[seat].set(here), following[jnp.argmax(waiting)], settled, state.moves + 1)
        return jax.tree.map(lambda new, old: jnp.where(played, new, old), after, state)

    def _targets(self, state: RingState) -> Array:
        return (state.fields[state.mover] + jnp.array([-1, 1, 0])) % self.size

    def legal(self, state: RingState) -> Array:
        others = jnp.where(jnp.arange(3) == state.mover, -1, state.fields)
        taken = jnp.any(self._targets(state)[:, None] == others[None, :], axis=1)
        return ~taken & ~self.over(state)

    def mover(self, state: RingState) -> Array:
        return state.mover

    def over(self, state: RingState) -> Array:
        return (jnp.count_nonzero(state.settled) >= 2) | (state.moves >= self.max_moves)

    def scores(self, state: RingState) -> Array:
        return state.settled

    def observe(self, state: RingState, seat: Array | None = None) -> Array:
        seat = state.mover if seat is None else seat
        order = (seat + jnp.arange(3)) % 3
        here = jnp.arange(self.size)[None, :, None] == state.fields[order][None, None, :]
        settled = jnp.broadcast_to(state.settled[order][None, None, :], (1, self.size, 3))
        return jnp.concatenate([here.astype(jnp.float32), settled], axis=-1)

    def position(self, state: RingState) -> Array:
        return jnp.concatenate([state.fields, state.settled, jnp.array([state.mover, self.over(state)])]).astype(
            jnp.uint32
        )


class DiceState(NamedTuple):
    thrown: Array  # int32: dice thrown so far
    face: Array  # int32: the last of them
    settled: Array  # float32: the mover's points, 0 while the game goes on


@dataclass(frozen=True)
class Dice(Game):
    """Take `safe` points or throw a die; then take its points or throw once more.

    Whoever throws again at 3 and below gets (4 + 5 + 6) / 6 + 3.5 / 2 = 4.25 points on average, so with 4 safe
    points it is right to throw, though a single die brings but 3.5. Seat 1 never moves and gets 7 less the points.
    """

    name = "dice"
    safe: float = 4.0
    num_players = 2
    num_actions = 2  # take, throw
    observation_shape = (1, 1, 9)
    max_moves = 2
    score_range = (0.0, 6.0)
    chance = True

    def init(self, key: Key) -> DiceState:
        return DiceState(jnp.int32(0), jnp.int32(0), jnp.float32(0))

    def step(self, state: DiceState, action: Array, key: Key | None = None) -> DiceState:
        assert key is not None
        played = self.legal(state)[action]
        face = jax.random.randint(key, (), 1, 7)
        taken = jnp.where(state.thrown == 0, self.safe, state.face)
        take = DiceState(state.thrown, state.face, taken)
        throw = DiceState(state.thrown + 1, face, jnp.where(state.thrown == 1, face, 0).astype(jnp.float32))
        after = jax.tree.map(lambda a, b: jnp.where(action == 0, a, b), take, throw)
        return jax.tree.map(lambda new, old: jnp.where(played, new, old), after, state)

    def legal(self, state: DiceState) -> Array:
        return jnp.broadcast_to(~self.over(state), (2,))

    def mover(self, state: DiceState) -> Array:
        return jnp.int32(0)

    def over(self, state: DiceState) -> Array:
        return state.settled > 0

    def scores(self, state: DiceState) -> Array:
        return jnp.where(self.over(state), jnp.stack([state.settled, 7.0 - state.settled]), 0.0)

    def observe(self, state: DiceState, seat: Array | None = None) -> Array:
        shown = jax.nn.one_hot(state.face, 7)
        return jnp.concatenate([shown, jax.nn.one_hot(state.thrown, 2)])[None, None, :]
