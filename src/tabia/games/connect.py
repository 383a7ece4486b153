"""Connect: stones fall down columns; the first line of a given length, in any direction, wins.

       columns 0  1  2  3  4  5  6        action c drops a stone into column c; its name is c + 1.
    row 5      .  .  .  .  .  .  .
    row 4      .  .  .  .  .  .  .        The stones of a seat are one word per column:
    row 3      .  .  .  .  .  .  .        bit r of word c is the field in row r of column c.
    row 2      .  .  .  .  .  .  .        A line to the right is then an AND of neighboring
    row 1      .  .  .  .  .  .  .        words, a diagonal one the same after shifts.
    row 0      .  .  .  .  .  .  .

Connect 4 is the game with 6 rows, 7 columns and lines of 4; Mini AlphaGo's Connect 3 has 3 rows and 4 columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games import drawing
from tabia.games.errors import GameError
from tabia.games.game import Cell, Key, Symmetry
from tabia.games.grid import GridGame

ALIASES = {"connect4": {"rows": 6, "columns": 7, "line": 4}, "connect3": {"rows": 3, "columns": 4, "line": 3}}
"""Ids of their own for the usual sizes."""
DIRECTIONS = ((0, 1), (1, 0), (1, 1), (1, -1))  # (columns, rows) per step: up, right, and the two diagonals


class State(NamedTuple):
    """The stones, and who has won."""

    stones: Array  # uint32[P, columns] bits by row
    moves: Array  # int32, stones on the board
    winner: Array  # int32, -1 while there is none


@dataclass(frozen=True)
class Connect(GridGame):
    """Connect N: drop stones into columns, a line of N wins."""

    name = "connect"
    rows: int = 6
    columns: int = 7
    line: int = 4
    players: int = 2

    def __post_init__(self) -> None:
        if not (1 <= self.rows <= 32 and 1 <= self.columns <= 32):
            raise GameError(f"connect needs 1 to 32 rows and columns, not {self.rows} x {self.columns}.")
        if not 2 <= self.line <= max(self.rows, self.columns):
            longest = max(self.rows, self.columns)
            raise GameError(
                f"line={self.line} is impossible on {self.rows} x {self.columns} fields: expected 2 to {longest}."
            )
        if not 2 <= self.players <= 4:
            raise GameError(f"connect has 2 to 4 players, not {self.players}.")

    @property
    def id(self) -> str:
        sizes = {"rows": self.rows, "columns": self.columns, "line": self.line}
        alias = next((name for name, known in ALIASES.items() if known == sizes and self.players == 2), None)
        return alias or f"connect:rows={self.rows},columns={self.columns},line={self.line}" + (
            f",players={self.players}" if self.players != 2 else ""
        )

    @property
    def title(self) -> str:
        return f"Connect {self.line}: {self.columns} columns, {self.rows} rows, {self.players} seats."

    @property
    def num_players(self) -> int:
        return self.players

    @property
    def num_actions(self) -> int:
        return self.columns

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self.rows, self.columns, self.players)

    @property
    def max_moves(self) -> int:
        return self.rows * self.columns

    def init(self, key: Key) -> State:
        return State(jnp.zeros((self.players, self.columns), jnp.uint32), jnp.int32(0), jnp.int32(-1))

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        played = self.legal(state)[action]
        seat = self.mover(state)
        filled = self._occupied(state)
        # Columns fill from below, so adding 1 to the filled bits carries into the lowest free row.
        landing = jnp.where(jnp.arange(self.columns) == action, ~filled & (filled + 1), 0)
        mine = (jnp.arange(self.players) == seat)[:, None] & played
        stones = state.stones | jnp.where(mine, landing[None, :], jnp.uint32(0))
        won = played & self._has_line(stones[seat])
        return State(stones, state.moves + played, jnp.where(won, seat, state.winner))

    def legal(self, state: State) -> Array:
        top = jnp.uint32(1 << (self.rows - 1))
        return (self._occupied(state) & top == 0) & (state.winner < 0)

    def mover(self, state: State) -> Array:
        return state.moves % self.players

    def over(self, state: State) -> Array:
        return (state.winner >= 0) | (state.moves == self.max_moves)

    def scores(self, state: State) -> Array:
        won = jnp.where(jnp.arange(self.players) == state.winner, 1.0, -1.0)
        return jnp.where(state.winner >= 0, won, 0.0)

    def observe(self, state: State, seat: Array | None = None) -> Array:
        seat = self.mover(state) if seat is None else seat
        seen = state.stones[(seat + jnp.arange(self.players)) % self.players]  # me, next, next after
        heights = jnp.arange(self.rows - 1, -1, -1, dtype=jnp.uint32)  # top row first
        planes = seen.T[None, :, :] >> heights[:, None, None] & 1
        return planes.astype(jnp.float32)

    def heuristic(self, state: State) -> Array:
        """`line_heuristic` of pairs."""
        return self.line_heuristic(state, 2)

    def line_heuristic(self, state: State, length: int) -> Array:
        """Each seat's open lines of `length` stones minus its best rival's, divided by the number of fields.

        A line is open unless both ends are a rival's stone or the edge (Sanz & Villanueva 2021, section 4.2).
        """
        lines = jnp.stack([self._open_lines(state, seat, length) for seat in range(self.players)])
        others = jnp.where(jnp.eye(self.players, dtype=bool), -1, lines[None, :]).max(axis=1)
        return ((lines - others) / self.max_moves).astype(jnp.float32)

    def move_name(self, action: int, state: State | None = None) -> str:
        return str(int(action) + 1)

    def goal(self, seat: int) -> str:
        return f"Get {self.line} of your stones in a row: across, up or diagonally."

    def ending(self, state: State) -> str:
        winner = int(state.winner)
        return f"{self.piece(winner)} has a line of {self.line}" if winner >= 0 else "the board is full"

    def winning_line(self, state: State) -> tuple[Cell, ...]:
        if int(state.winner) < 0:
            return ()
        return drawing.straight_lines(self.board(state) == int(state.winner), self.line)

    @property
    def column_labels(self) -> list[str]:
        return [self.move_name(column) for column in range(self.columns)]

    def board(self, state: State) -> np.ndarray:
        heights = np.arange(self.rows - 1, -1, -1, dtype=np.uint32)
        bits = np.asarray(state.stones)[:, None, :] >> heights[None, :, None] & 1  # [P, rows, columns]
        return np.where(bits.any(axis=0), bits.argmax(axis=0), -1)

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        cells = np.arange(self.rows * self.columns).reshape(self.rows, self.columns)
        mirror = Symmetry(cells[:, ::-1].reshape(-1), np.arange(self.columns)[::-1].copy())
        return (self.identity, mirror)

    def _occupied(self, state: State) -> Array:
        words = state.stones[0]
        for seat in range(1, self.players):
            words = words | state.stones[seat]
        return words

    def _has_line(self, words: Array) -> Array:
        """Whether one seat's words [columns] contain a line."""
        found = jnp.bool_(False)
        for direction in DIRECTIONS:
            run = words
            for distance in range(1, self.line):
                run = run & _along(words, direction, distance)
            found = found | jnp.any(run != 0)
        return found

    def _open_lines(self, state: State, seat: int, length: int) -> Array:
        own = state.stones[seat]
        inside = jnp.full(self.columns, (1 << self.rows) - 1, jnp.uint32)
        free = inside & (~self._occupied(state) | own)
        count = jnp.int32(0)
        for direction in DIRECTIONS:
            lines = own
            for distance in range(1, length):
                lines = lines & _along(own, direction, distance)
            open_ends = _along(free, direction, length) | _along(free, direction, -1)
            count += jnp.bitwise_count(lines & open_ends).sum(dtype=jnp.int32)
        return count


def _along(words: Array, direction: tuple[int, int], distance: int) -> Array:
    """The words moved so that each field shows what lies `distance` steps along `direction`; zero beyond the edge."""
    columns, rows = direction[0] * distance, direction[1] * distance
    width = words.shape[0]
    if columns >= 0:
        moved = jnp.pad(words[min(columns, width) :], (0, min(columns, width)))
    else:
        moved = jnp.pad(words[: max(width + columns, 0)], (min(-columns, width), 0))
    return moved >> rows if rows >= 0 else moved << -rows
