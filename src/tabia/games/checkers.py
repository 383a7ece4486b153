"""Checkers: English draughts.

      the mover's men come from here
      .   1   .   2   .   3   .   4        A square is named by its number, 1 to 32; its index is one less.
      5   .   6   .   7   .   8   .        Seat 0 (black, moves first) sees the board as printed, seat 1 (red)
      .   9   .  10   .  11   .  12        rotated by half a turn, so that its own men go down the board.
     13   .  14   .  15   .  16   .
      .  17   .  18   .  19   .  20        action = 4 * index + direction, seen from the mover: 0 down left,
     21   .  22   .  23   .  24   .        1 down right (forward), 2 up left, 3 up right (back, kings only).
      .  25   .  26   .  27   .  28        Half a turn makes action a of 128 into 127 - a.
     29   .  30   .  31   .  32   .
      and become kings here                A set of squares is one word, bit i for index i.

An action does not say whether it steps or jumps: if a jump is possible, only jumps are legal. If a jump can continue,
the same seat jumps again with the same piece; it may choose any sequence. A man that is crowned stops there. A seat
that cannot move loses. Otherwise the game is a draw after `no_progress` actions in a row without a capture or a man's
move (80: forty moves per side), or after `limit` actions in total. Repetition is not a draw.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games import drawing
from tabia.games.errors import GameError
from tabia.games.game import Game, Key

Words = TypeVar("Words", Array, np.ndarray)

_COMPASS = ("sw", "se", "nw", "ne")  # the directions, as seat 0 sees them
_COLORS = ("#1d1d1f", "#b5382f", "#1d1d1f", "#b5382f")
_FORWARD = 2  # directions below this one are forward
_BACK_ROWS = np.uint32(0x00000FFF)  # the three rows where men start
_CROWN_ROW = np.uint32(0xF0000000)
_EVEN_ROWS, _ODD_ROWS = np.uint32(0x0F0F0F0F), np.uint32(0xF0F0F0F0)  # even rows start with a light cell
_RIGHT_EDGE, _LEFT_EDGE = np.uint32(0x08080808), np.uint32(0x10101010)  # of the even, of the odd rows
_SQUARES = np.arange(32, dtype=np.uint32)
_ROWS, _COLUMNS = np.divmod(np.arange(64, dtype=np.uint32), 8)
_DARK = (_ROWS + _COLUMNS) % 2 == 1
_INDEX = 4 * _ROWS + _COLUMNS // 2  # of the square on each dark cell


class State(NamedTuple):
    """The board as the mover sees it."""

    own: Array  # uint32, the mover's pieces
    other: Array  # uint32
    kings: Array  # uint32, of both seats
    jumper: Array  # uint32, the piece that must continue its jump, if any
    moves: Array  # uint32[4] by direction: the squares from which the mover can go that way; empty if it has lost
    seat: Array  # int32, the mover
    idle: Array  # int32, actions since the last progress
    plies: Array  # int32, actions since the start


@dataclass(frozen=True)
class Checkers(Game):
    """Checkers, English draughts: capture what you can, block the rest."""

    name = "checkers"
    version = 2  # 1: the last permitted action was a draw even if it won
    num_players = 2
    num_actions = 128
    observation_shape = (8, 8, 6)
    no_progress: int = 80
    limit: int = 300

    def __post_init__(self) -> None:
        if not (1 <= self.no_progress <= 100_000 and 1 <= self.limit <= 100_000):
            raise GameError(
                f"checkers needs no_progress and limit from 1 to 100,000, not {self.no_progress} and {self.limit}."
            )

    @property
    def max_moves(self) -> int:
        return self.limit

    def init(self, key: Key) -> State:
        own = jnp.uint32(_BACK_ROWS)
        other, kings = half_turn(own), jnp.uint32(0)
        zero = jnp.int32(0)
        return State(own, other, kings, jnp.uint32(0), open_moves(own, other, kings), zero, zero, zero)

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        played = self.legal(state)[action]
        after = self._played(state, action)
        return jax.tree.map(lambda new, old: jnp.where(played, new, old), after, state)

    def legal(self, state: State) -> Array:
        moves = jnp.where(self._out_of_time(state), 0, state.moves)
        return (moves[None, :] >> _SQUARES[:, None] & 1).astype(bool).reshape(-1)

    def mover(self, state: State) -> Array:
        return state.seat

    def over(self, state: State) -> Array:
        return _lost(state) | self._out_of_time(state)

    def scores(self, state: State) -> Array:
        return jnp.where(_lost(state), jnp.where(jnp.arange(2) == state.seat, -1.0, 1.0), 0.0)

    @property
    def plane_names(self) -> tuple[str, ...]:
        sides = [f"{kind} of {side}" for side in ("the mover", "the next seat") for kind in ("men", "kings")]
        return (*sides, "the piece that must jump on", "moves without progress, divided by their limit")

    def observe(self, state: State, seat: Array | None = None) -> Array:
        """My men and kings, the other seat's men and kings, the piece that must jump on, how near a draw is."""
        own, other, kings, jumper = state.own, state.other, state.kings, state.jumper
        if seat is not None:
            mine = seat == state.seat
            own, other = jnp.where(mine, own, half_turn(other)), jnp.where(mine, other, half_turn(own))
            kings, jumper = (jnp.where(mine, word, half_turn(word)) for word in (kings, jumper))
        words = jnp.stack([own & ~kings, own & kings, other & ~kings, other & kings, jumper])
        pieces = (words[None, :] >> _INDEX[:, None] & _DARK[:, None]).astype(jnp.float32)
        idle = jnp.broadcast_to(state.idle.astype(jnp.float32) / self.no_progress, (64, 1))
        return jnp.concatenate([pieces, idle], axis=1).reshape(self.observation_shape)

    def heuristic(self, state: State) -> Array:
        """Own material minus the other seat's, divided by that of twelve kings; a man counts 1, a king 1.5."""
        lead = _material(state.own, state.kings) - _material(state.other, state.kings)
        return jnp.where(jnp.arange(2) == state.seat, lead, -lead)

    def position(self, state: State) -> Array:
        """Everything but the moves, which follow from it; the counters decide when the game is drawn."""
        words = [state.own, state.other, state.kings, state.jumper]
        counts = [state.seat, state.idle, state.plies]
        return jnp.stack([*words, *(count.astype(jnp.uint32) for count in counts)])

    def progress(self, jumped: Array, man: Array) -> Array:
        """Whether a move postpones the draw: a capture or a man's move does."""
        return jumped | man

    def move_name(self, action: int, state: State | None = None) -> str:
        """`11-15`, or `11x18` for a jump, each jump being one move; without a state, the step of seat 0."""
        jumps = state is not None and bool(_STEP_TO[action] & np.asarray(state.other))
        seen = 127 - int(action) if state is not None and int(state.seat) == 1 else int(action)
        origin, direction = divmod(seen, 4)
        target = int((_JUMP_TO if jumps else _STEP_TO)[seen]).bit_length()
        # Every action has a name, even one that leaves the board.
        return f"{origin + 1}{'x' if jumps else '-'}{target or _COMPASS[direction]}"

    def draw(self, state: State) -> str:
        board = np.where(_DARK.reshape(8, 8), self._board(state), 4)
        lines = drawing.grid_text(board, rows=_ROW_LABELS, marks="brBR ").splitlines()
        return "\n".join(line.rstrip() for line in lines)

    def svg(self, state: State) -> str:
        board = self._board(state)
        crowned = {(int(row), int(column)): "K" for row, column in np.argwhere(board >= 2)}
        dark = _DARK.reshape(8, 8)
        return drawing.grid_svg(board, rows=_ROW_LABELS, colors=_COLORS, labels=crowned, shaded=dark)

    def piece(self, seat: int) -> str:
        return ("b, kings B", "r, kings R")[seat]

    def goal(self, seat: int) -> str:
        return "Leave your opponent without a move: capture or block all their pieces."

    def ending(self, state: State) -> str:
        if bool(_lost(state)):
            return f"{('b', 'r')[int(state.seat)]} has no moves left"
        if int(state.idle) >= self.no_progress:
            return f"{self.no_progress} moves in a row without a capture or a man's move"
        return f"the limit of {self.limit} moves"

    def moves_left(self, state: State) -> int:
        """Moves until the limit on all moves or on moves without progress, whichever is nearer."""
        return int(jnp.minimum(self.no_progress - state.idle, self.limit - state.plies))

    def _played(self, state: State, action: Array) -> State:
        """The state after a legal action."""
        origin, step_to = jnp.uint32(1) << (action // 4).astype(jnp.uint32), jnp.asarray(_STEP_TO)[action]
        captured = step_to & state.other
        jumped, man = captured != 0, origin & state.kings == 0
        landing = jnp.where(jumped, jnp.asarray(_JUMP_TO)[action], step_to)
        crowned = man & (landing & _CROWN_ROW != 0)
        own, other = state.own ^ origin | landing, state.other ^ captured
        kings = state.kings & ~(origin | captured) | jnp.where(man & ~crowned, 0, landing)
        onward = jnp.where(jumped & ~crowned, _jumps(own, other, kings) & landing, 0)
        again = jnp.any(onward != 0)
        turned_own, turned_other, turned_kings = half_turn(other), half_turn(own), half_turn(kings)
        return State(
            own=jnp.where(again, own, turned_own),
            other=jnp.where(again, other, turned_other),
            kings=jnp.where(again, kings, turned_kings),
            jumper=jnp.where(again, landing, 0),
            moves=jnp.where(again, onward, open_moves(turned_own, turned_other, turned_kings)),
            seat=jnp.where(again, state.seat, 1 - state.seat),
            idle=jnp.where(self.progress(jumped, man), 0, state.idle + 1),
            plies=state.plies + 1,
        )

    def _out_of_time(self, state: State) -> Array:
        """Whether a limit ends the game: a draw, unless the mover cannot move."""
        return (state.idle >= self.no_progress) | (state.plies >= self.limit)

    def _board(self, state: State) -> np.ndarray:
        """int[8, 8] as seat 0 sees it: -1 empty, 0 and 1 the seats' men, 2 and 3 their kings."""
        planes = np.asarray(self.observe(state, jnp.int32(0)))[..., :4]
        kinds = np.array([0, 2, 1, 3])  # of the planes: my men, my kings, the other seat's men and kings
        return np.where(planes.any(axis=-1), kinds[planes.argmax(axis=-1)], -1)


def neighbors(squares: Words, direction: int) -> Words:
    """All squares one step along `direction`; those beyond the edge are dropped."""
    even, odd = squares & _EVEN_ROWS, squares & _ODD_ROWS
    inner_even, inner_odd = even & ~_RIGHT_EDGE, odd & ~_LEFT_EDGE
    match direction:
        case 0:
            return even << 4 | inner_odd << 3
        case 1:
            return inner_even << 5 | odd << 4
        case 2:
            return even >> 4 | inner_odd >> 5
        case _:
            return inner_even >> 3 | odd >> 4


def half_turn(squares: Array) -> Array:
    """The squares as the other seat sees them: the 32 bits reversed."""
    for shift, mask in ((1, 0x55555555), (2, 0x33333333), (4, 0x0F0F0F0F), (8, 0x00FF00FF), (16, 0x0000FFFF)):
        squares = squares >> shift & mask | (squares & mask) << shift
    return squares


def open_moves(own: Array, other: Array, kings: Array) -> Array:
    """uint32[4] by direction: the squares from which `own` can jump that way or, if no jump is possible, step."""
    free = ~(own | other)
    steps = jnp.stack([_able(own, kings, d) & neighbors(free, 3 - d) for d in range(4)])
    jumps = _jumps(own, other, kings)
    return jnp.where(jnp.any(jumps != 0), jumps, steps)


def _jumps(own: Array, other: Array, kings: Array) -> Array:
    free = ~(own | other)
    # Backward from a free square over a rival's piece: 3 - d is the direction opposite to d.
    return jnp.stack([_able(own, kings, d) & neighbors(other & neighbors(free, 3 - d), 3 - d) for d in range(4)])


def _able(own: Array, kings: Array, direction: int) -> Array:
    return own if direction < _FORWARD else own & kings


def _lost(state: State) -> Array:
    """Whether the mover cannot move."""
    return jnp.all(state.moves == 0)


def _material(pieces: Array, kings: Array) -> Array:
    men, crowned = jnp.bitwise_count(pieces & ~kings), jnp.bitwise_count(pieces & kings)
    return (men.astype(jnp.float32) + 1.5 * crowned.astype(jnp.float32)) / 18


def _targets(steps: int) -> np.ndarray:
    """uint32[A]: the square that each action reaches after `steps` steps; empty beyond the edge."""
    squares = np.uint32(1) << _SQUARES
    columns = []
    for direction in range(4):
        reached = squares
        for _ in range(steps):
            reached = neighbors(reached, direction)
        columns.append(reached)
    return np.stack(columns, axis=1).reshape(-1)


_STEP_TO, _JUMP_TO = _targets(1), _targets(2)
_ROW_LABELS = [f"{first}-{first + 3}" for first in range(1, 33, 4)]
