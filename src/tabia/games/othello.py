"""Othello: a stone flips every line of rival stones that it encloses; most stones win.

        a   b   c   d   e   f   g   h
    1   0   1   2   3   4   5   6   7        action i sets a stone on field i, named d3: column, then row
    2   8   9  10  11  12  13  14  15        from the top; the last action is the pass, legal only where no
    3  16  17  18  19  20  21  22  23        field is. Seat 0 is black and starts; white has d4 and e5.
    4  24  25  26  27  28  29  30  31
    5  32  33  34  35  36  37  38  39        A set of fields is two words of four rows, eight bits per row at
    6  40  41  42  43  44  45  46  47        any board size: a step along the board is one shift of the 64
    7  48  49  50  51  52  53  54  55        bits. Each word is its own array, so that under `vmap` a whole
    8  56  57  58  59  60  61  62  63        step becomes plain arithmetic over the batch.

A smaller board is numbered row by row in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cached_property, reduce
from operator import or_
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.errors import GameError
from tabia.games.game import Key, Symmetry, square_symmetries
from tabia.games.grid import GridGame


class Fields(NamedTuple):
    """A set of fields, bit 8 * row + column; set operations work word by word."""

    low: Array  # uint32, rows 1 to 4
    high: Array  # uint32, rows 5 to 8

    def __and__(self, other: Fields) -> Fields:
        return Fields(self.low & other.low, self.high & other.high)

    def __or__(self, other: Fields) -> Fields:
        return Fields(self.low | other.low, self.high | other.high)

    def __invert__(self) -> Fields:
        return Fields(~self.low, ~self.high)

    def any(self) -> Array:
        return (self.low | self.high) != 0

    def where(self, condition: Array, other: Fields) -> Fields:
        """These fields where the condition holds, otherwise the other set."""
        return Fields(jnp.where(condition, self.low, other.low), jnp.where(condition, self.high, other.high))


class State(NamedTuple):
    """The board as the mover sees it."""

    own: Fields  # the mover's stones
    other: Fields
    playable: Fields  # where the mover may place a stone
    seat: Array  # int32, the mover
    over: Array  # bool


@dataclass(frozen=True)
class Othello(GridGame):
    """Othello, also called Reversi: close in lines of rival stones, most stones win."""

    name = "othello"
    num_players = 2
    stone_colors = ("#1d1d1f", "#fffdf8")
    size: int = 8

    def __post_init__(self) -> None:
        if self.size not in (4, 6, 8):
            raise GameError(f"othello needs size=4, 6 or 8, not {self.size}.")

    @property
    def num_actions(self) -> int:
        return self.size**2 + 1

    @property
    def observation_shape(self) -> tuple[int, int, int]:
        return (self.size, self.size, 2)

    @property
    def max_moves(self) -> int:
        """Every stone fills a field, and no pass follows a pass: after a pass the other seat can move."""
        return 2 * (self.size**2 - 4)

    def init(self, key: Key) -> State:
        low, high = self.size // 2 - 1, self.size // 2
        black, white = self._fields([(low, high), (high, low)]), self._fields([(low, low), (high, high)])
        return State(black, white, self._playable(black, white), jnp.int32(0), jnp.bool_(False))

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        stone = self._field(action) & state.playable
        passed = (action == self.size**2) & ~state.playable.any() & ~state.over
        played = stone.any() | passed
        turned = self._turned(stone, state.own, state.other)
        own, other = state.own | stone | turned, state.other & ~turned
        replies = self._playable(other, own)
        stuck = ~replies.any() & ~self._playable(own, other).any()
        return State(
            other.where(played, own),
            own.where(played, other),
            replies.where(played, state.playable),
            state.seat ^ played,
            state.over | stuck,
        )

    def legal(self, state: State) -> Array:
        passes = ~state.playable.any() & ~state.over
        return jnp.concatenate([self._bits(state.playable) != 0, passes[None]])

    def mover(self, state: State) -> Array:
        return state.seat

    def over(self, state: State) -> Array:
        return state.over

    def scores(self, state: State) -> Array:
        lead = jnp.sign(_count(state.own) - _count(state.other)) * state.over
        return _by_seat(state, lead.astype(jnp.float32))

    def observe(self, state: State, seat: Array | None = None) -> Array:
        own, other = state.own, state.other
        if seat is not None:
            own, other = own.where(seat == state.seat, other), other.where(seat == state.seat, own)
        planes = jnp.stack([self._bits(own), self._bits(other)], axis=-1)
        return planes.astype(jnp.float32).reshape(self.observation_shape)

    def heuristic(self, state: State) -> Array:
        """Each seat's stones minus its rival's, divided by the number of fields."""
        lead = _count(state.own) - _count(state.other)
        return _by_seat(state, lead.astype(jnp.float32) / self.size**2)

    def move_name(self, action: int, state: State | None = None) -> str:
        if action == self.size**2:
            return "pass"
        row, column = divmod(int(action), self.size)
        return f"{'abcdefgh'[column]}{row + 1}"

    @property
    def column_labels(self) -> str:
        return "abcdefgh"[: self.size]

    @property
    def row_labels(self) -> str:
        return "12345678"[: self.size]

    def goal(self, seat: int) -> str:
        return "Have more discs than your opponent when neither of you can move."

    def ending(self, state: State) -> str:
        more, fewer = sorted((int(_count(state.own)), int(_count(state.other))), reverse=True)
        return f"{more} discs to {fewer}" if more > fewer else f"{more} discs each"

    def position(self, state: State) -> Array:
        """The stones and whose move it is; all else follows."""
        return jnp.stack([*state.own, *state.other, state.seat.astype(jnp.uint32)])

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        """The half turn and the two diagonal reflections; a quarter turn would swap the colors of the start."""
        return square_symmetries(self.size, lambda goes_to: np.append(goes_to, self.size**2))[::2]

    def _playable(self, own: Fields, other: Fields) -> Fields:
        """The empty fields where `own` would enclose stones of `other`."""
        between = self._between(other)
        ends = [move(_run(own, between, move), _SHIFTS) for move in _MOVES]
        return _union(ends) & self._board_fields & ~(own | other)

    def _turned(self, stone: Fields, own: Fields, other: Fields) -> Fields:
        """The stones of `other` between the new stone and `own`."""
        between, turned = self._between(other), []
        for move in _MOVES:
            run = _run(stone, between, move)
            closed = (move(run, _SHIFTS) & own).any()
            turned.append(run.where(closed, self._fields([])))
        return _union(turned)

    def _between(self, stones: Fields) -> Fields:
        """[D] The stones that can lie inside a line: without the outer columns, no sideways run leaves its row."""
        inner = self._inner_fields
        upright = np.where(_SHIFTS == 8, np.uint32(0xFFFFFFFF), np.uint32(0))
        return stones & Fields(inner.low | upright, inner.high | upright)

    @property
    def _board_fields(self) -> Fields:
        return self._fields([(row, column) for row in range(self.size) for column in range(self.size)])

    @property
    def _inner_fields(self) -> Fields:
        return self._fields([(row, column) for row in range(self.size) for column in range(1, self.size - 1)])

    def _fields(self, places: list[tuple[int, int]]) -> Fields:
        bits = sum(1 << (8 * row + column) for row, column in places)
        return Fields(jnp.uint32(bits & 0xFFFFFFFF), jnp.uint32(bits >> 32))

    def _field(self, action: Array) -> Fields:
        """The field of an action; empty for the pass."""
        row, column = action // self.size, action % self.size
        bit = jnp.uint32(1) << (row % 4 * 8 + column).astype(jnp.uint32)
        on_board = (action >= 0) & (row < self.size)
        return Fields(jnp.where(on_board & (row < 4), bit, 0), jnp.where(on_board & (row >= 4), bit, 0))

    def _bits(self, fields: Fields) -> Array:
        """uint32[size * size]: 1 for each field of the set, 0 for the others."""
        row, column = np.divmod(np.arange(self.size**2, dtype=np.uint32), np.uint32(self.size))
        return jnp.where(row < 4, fields.low, fields.high) >> (row % 4 * 8 + column) & 1

    def board(self, state: State) -> np.ndarray:
        own, other = np.asarray(self._bits(state.own)), np.asarray(self._bits(state.other))
        seat = int(state.seat)
        return np.where(own, seat, np.where(other, 1 - seat, -1)).reshape(self.size, self.size)


def _left(fields: Fields, by: np.ndarray) -> Fields:
    """[D] All fields shifted up by this many bits (1 to 31); bits beyond the 64 are lost."""
    return Fields(fields.low << by, fields.high << by | fields.low >> (32 - by))


def _right(fields: Fields, by: np.ndarray) -> Fields:
    """[D] The same, shifted down."""
    return Fields(fields.low >> by | fields.high << (32 - by), fields.high >> by)


# The eight directions are these four shifts (axis D), each up and down. They are an axis rather than eight copies of
# the code: a search contains the rules several times, and compiling them takes most of the time of a first move.
_SHIFTS = np.array([1, 7, 8, 9], np.uint32)
_MOVES = (_left, _right)


def _run(start: Fields, through: Fields, move: Callable[[Fields, np.ndarray], Fields]) -> Fields:
    """[D] The fields of `through` that follow `start` without a gap, up to six: the longest line on eight fields."""
    run = through & move(start, _SHIFTS)
    run = run | through & move(run, _SHIFTS)
    pairs = through & move(through, _SHIFTS)  # from here on two fields at a time
    run = run | pairs & move(run, 2 * _SHIFTS)
    return run | pairs & move(run, 2 * _SHIFTS)


def _union(sets: Iterable[Fields]) -> Fields:
    """The union of these sets [D]."""
    every = reduce(or_, sets)
    return Fields(*(jax.lax.reduce(word, np.uint32(0), jax.lax.bitwise_or, (0,)) for word in every))


def _count(fields: Fields) -> Array:
    return (jnp.bitwise_count(fields.low) + jnp.bitwise_count(fields.high)).astype(jnp.int32)


def _by_seat(state: State, value: Array) -> Array:
    """[P]: the mover's value at its seat, the opposite at the other."""
    return jnp.where(jnp.arange(2) == state.seat, value, -value)
