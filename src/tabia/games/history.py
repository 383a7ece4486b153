"""Earlier positions as extra planes of the observation, for any game: `connect4:history=4`."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.errors import GameError
from tabia.games.game import Cell, Game, Key, Symmetry


class State(NamedTuple):
    """The current state and the ones before it."""

    now: Any  # the game's own state
    past: Any  # with a leading axis: the history - 1 states before, newest first
    length: Array  # int32: how many of them are positions of the game


@dataclass(frozen=True)
class History(Game):
    """A game that observes its last positions, all from the same seat; planes before the start are empty."""

    game: Game
    history: int

    def __post_init__(self) -> None:
        if not 1 <= self.history <= 64:
            raise GameError(f"history={self.history}: expected 1 to 64 positions.")

    @property
    def id(self) -> str:
        inner = self.game.id
        has_parameters = ":" in inner.removeprefix("pgx:").removeprefix("spiel:").rpartition(".py:")[2]
        return f"{inner}{',' if has_parameters else ':'}history={self.history}"

    @property
    def title(self) -> str:
        return f"{self.game.title} Shows its last {self.history} positions."

    @property
    def name(self) -> str:
        return self.game.name

    @property
    def version(self) -> int:
        return self.game.version

    @property
    def definition(self) -> str:
        return self.game.definition

    @property
    def position_note(self) -> str:
        return self.game.position_note

    @property
    def chance(self) -> bool:
        return self.game.chance

    @property
    def calls_python(self) -> bool:
        return self.game.calls_python

    @property
    def num_players(self) -> int:
        return self.game.num_players

    @property
    def num_actions(self) -> int:
        return self.game.num_actions

    @property
    def max_moves(self) -> int:
        return self.game.max_moves

    @property
    def score_range(self) -> tuple[float, float]:
        return self.game.score_range

    @property
    def has_heuristic(self) -> bool:
        return self.game.has_heuristic

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        height, width, planes = self.game.observation_shape
        return (height, width, planes * self.history)

    @property
    def plane_names(self) -> tuple[str, ...]:
        when = ("now", "1 move ago", *(f"{moves} moves ago" for moves in range(2, self.history)))[: self.history]
        return tuple(f"{name}, {moment}" for moment in when for name in self.game.plane_names)

    def certain(self, state: State) -> Array:
        return self.game.certain(state.now)

    def init(self, key: Key) -> State:
        now = self.game.init(key)
        past = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (self.history - 1, *leaf.shape)), now)
        return State(now, past, jnp.int32(0))

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        played = self.game.legal(state.now)[action]
        now = self.game.step(state.now, action, key)
        shifted = jax.tree.map(lambda n, p: jnp.concatenate([n[None], p])[: self.history - 1], state.now, state.past)
        past = jax.tree.map(lambda new, old: jnp.where(played, new, old), shifted, state.past)
        length = jnp.minimum(state.length + played, self.history - 1)
        return State(now, past, length)

    def legal(self, state: State) -> Array:
        return self.game.legal(state.now)

    def mover(self, state: State) -> Array:
        return self.game.mover(state.now)

    def over(self, state: State) -> Array:
        return self.game.over(state.now)

    def scores(self, state: State) -> Array:
        return self.game.scores(state.now)

    def observe(self, state: State, seat: Array | None = None) -> Array:
        seat = self.mover(state) if seat is None else seat
        past = jax.vmap(lambda earlier: self.game.observe(earlier, seat))(state.past)  # [T - 1, H, W, C]
        happened = jnp.arange(self.history - 1) < state.length
        past = jnp.where(happened[:, None, None, None], past, 0.0)
        return jnp.concatenate([self.game.observe(state.now, seat), *past], axis=-1)

    def heuristic(self, state: State) -> Array:
        return self.game.heuristic(state.now)

    def move_name(self, action: int, state: State | None = None) -> str:
        return self.game.move_name(action, state and state.now)

    def parse_move(self, text: str, state: State | None = None) -> int:
        return self.game.parse_move(text, state and state.now)

    def draw(self, state: State) -> str:
        return self.game.draw(state.now)

    def svg(self, state: State) -> str:
        return self.game.svg(state.now)

    def piece(self, seat: int) -> str:
        return self.game.piece(seat)

    def goal(self, seat: int) -> str:
        return self.game.goal(seat)

    def ending(self, state: State) -> str:
        return self.game.ending(state.now)

    def winning_line(self, state: State) -> tuple[Cell, ...]:
        return self.game.winning_line(state.now)

    def moves_left(self, state: State) -> int | None:
        return self.game.moves_left(state.now)

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return self.game.symmetries
