"""Tic-tac-toe.

 0 | 1 | 2        action i sets a stone on field i; names are a1 to c3,
---+---+---       column letter first, row 1 at the bottom:
 3 | 4 | 5        field 0 is a3, field 4 is b2, field 8 is c1.
---+---+---
 6 | 7 | 8        The stones of a seat are nine bits of one word, bit i for field i.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games import drawing
from tabia.games.game import Cell, Key, Symmetry, square_symmetries
from tabia.games.grid import GridGame

_LINES = np.array(
    [
        sum(1 << field for field in line)
        for line in ((0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6))
    ],
    dtype=np.uint32,
)
_FIELDS = np.arange(9, dtype=np.uint32)
_FULL = np.uint32(0b111_111_111)


class State(NamedTuple):
    """The stones, and who has won."""

    stones: Array  # uint32[2] bits by field
    winner: Array  # int32, -1 while there is none


@dataclass(frozen=True)
class TicTacToe(GridGame):
    """Tic-tac-toe on 3 x 3 fields, two seats."""

    name = "tictactoe"
    num_players = 2
    num_actions = 9
    observation_shape = (3, 3, 2)
    max_moves = 9
    column_labels = "abc"
    row_labels = "321"

    def init(self, key: Key) -> State:
        return State(stones=jnp.zeros(2, jnp.uint32), winner=jnp.int32(-1))

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        stone = jnp.uint32(1) << action.astype(jnp.uint32)
        playable = (state.winner < 0) & ((state.stones[0] | state.stones[1]) & stone == 0)
        seat = self.mover(state)
        stones = state.stones | jnp.where(jnp.arange(2) == seat, jnp.where(playable, stone, 0), 0)
        own = jnp.where(seat == 0, stones[0], stones[1])
        won = playable & jnp.any(own & _LINES == _LINES)
        return State(stones, jnp.where(won, seat, state.winner))

    def legal(self, state: State) -> Array:
        taken = (state.stones[0] | state.stones[1]) >> _FIELDS & 1
        return (taken == 0) & (state.winner < 0)

    def mover(self, state: State) -> Array:
        first, second = state.stones[0], state.stones[1]
        return (jnp.bitwise_count(first) > jnp.bitwise_count(second)).astype(jnp.int32)

    def over(self, state: State) -> Array:
        return (state.winner >= 0) | ((state.stones[0] | state.stones[1]) == _FULL)

    def scores(self, state: State) -> Array:
        won = jnp.where(jnp.arange(2) == state.winner, 1.0, -1.0)
        return jnp.where(state.winner >= 0, won, 0.0)

    def observe(self, state: State, seat: Array | None = None) -> Array:
        seat = self.mover(state) if seat is None else seat
        first, second = state.stones[0], state.stones[1]
        own, other = jnp.where(seat == 0, first, second), jnp.where(seat == 0, second, first)
        planes = jnp.stack([own, other])[None, :] >> _FIELDS[:, None] & 1
        return planes.astype(jnp.float32).reshape(3, 3, 2)

    def move_name(self, action: int, state: State | None = None) -> str:
        row, column = divmod(int(action), 3)
        return f"{'abc'[column]}{3 - row}"

    def goal(self, seat: int) -> str:
        return "Get three of your marks in a row: across, up or diagonally."

    def ending(self, state: State) -> str:
        winner = int(state.winner)
        return f"{self.piece(winner)} has three in a row" if winner >= 0 else "the board is full"

    def winning_line(self, state: State) -> tuple[Cell, ...]:
        return drawing.straight_lines(self.board(state) == int(state.winner), 3) if int(state.winner) >= 0 else ()

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return square_symmetries(3, lambda goes_to: goes_to)

    def board(self, state: State) -> np.ndarray:
        bits = np.asarray(state.stones)[:, None] >> _FIELDS & 1
        return np.where(bits.any(axis=0), bits.argmax(axis=0), -1).reshape(3, 3)
