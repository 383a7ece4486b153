"""pgx's games of placing stones: move names, drawings and symmetries.

    tic_tac_toe   0 to 8 from the top left; b2 is the middle, row 1 at the bottom
    connect_four  one action per column; names 1 to 7
    othello       row * 8 + column; d3 is column d, row 3 from the top; 64 is the pass
    hex           row * 11 + column; a1 is the top left; 121 is the swap
    go            row * size + column; A1 is the bottom left, there is no I; size * size is the pass

Drawings show the same side of the board for both seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games import drawing
from tabia.games.adapters import pgx_go
from tabia.games.game import Symmetry, square_symmetries

State = Any  # pgx's own state
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Board:
    """What the adapter needs to know about one pgx game besides its rules."""

    title: str
    max_moves: int  # from pgx's rules, unless noted
    score_range = (-1.0, 1.0)
    chance = False
    sides = ("X", "O")
    goals = ("Finish with a higher score than the other.",) * 2  # of each seat
    planes: tuple[str, ...] = ()  # what each plane of an observation shows; empty: as `Game.plane_names` says
    limited = False  # whether `max_moves` is a rule rather than a consequence of the board's size

    def prepare(self, state: State) -> State:
        """Change the start so that seat 0 moves first."""
        return state

    def step(self, library: Any, state: State, action: Array, key: Any) -> State:
        """The state after a legal action; its legal actions do not matter once the game is over."""
        return library.step(state, action, key)

    def legal(self, state: State) -> Array:
        """The legal actions: none after the end, where pgx allows all."""
        return state.legal_action_mask & ~self.over(state)

    def over(self, state: State) -> Array:
        return state.terminated | state.truncated

    def observe(self, library: Any, state: State, seat: Array) -> Array:
        """The observation of a seat; the public `observe` of pgx would warn."""
        return library._observe(state, seat)

    def encode(self, observation: Array) -> Array:
        """The planes of an observation of pgx."""
        return observation

    def certain(self, state: State) -> Array:
        """As `Game.certain`, for games of chance."""
        return jnp.bool_(False)

    def future(self, state: State) -> Any:
        """The fields on which the rest of the game depends."""
        raise NotImplementedError

    def symmetries(self) -> tuple[Symmetry, ...]:
        return ()

    def move_name(self, action: int, state: State | None) -> str:
        raise NotImplementedError

    def draw(self, state: State) -> str:
        raise NotImplementedError


class TicTacToe(Board):
    title = "Tic-tac-toe from pgx."
    max_moves = 9
    goals = ("Get three of your marks in a row: across, up or diagonally.",) * 2

    def future(self, state: State) -> Any:
        return state._x.board

    def symmetries(self) -> tuple[Symmetry, ...]:
        return square_symmetries(3, lambda goes_to: goes_to)

    def move_name(self, action: int, state: State | None) -> str:
        row, column = divmod(action, 3)
        return f"{_LETTERS[column]}{3 - row}"

    def draw(self, state: State) -> str:
        return drawing.grid_text(state._x.board.reshape(3, 3), columns="abc", rows="321")


class ConnectFour(Board):
    title = "Connect Four from pgx: 7 columns, 6 rows."
    max_moves = 42
    goals = ("Get 4 of your stones in a row: across, up or diagonally.",) * 2

    def future(self, state: State) -> Any:
        return state._x.board

    def symmetries(self) -> tuple[Symmetry, ...]:
        cells = np.arange(42).reshape(6, 7)
        return (
            Symmetry(cells.reshape(-1), np.arange(7)),
            Symmetry(cells[:, ::-1].reshape(-1), np.arange(7)[::-1].copy()),
        )

    def move_name(self, action: int, state: State | None) -> str:
        return str(action + 1)

    def draw(self, state: State) -> str:
        return drawing.grid_text(state._x.board.reshape(6, 7), columns="1234567")


class Othello(Board):
    title = "Othello from pgx, 8 x 8."
    max_moves = 120  # 60 stones, never two passes between them, two at the end
    goals = ("Have more discs than your opponent when neither of you can move.",) * 2

    def future(self, state: State) -> Any:
        return (state._x.board, state._x.turn, state._x.passed, state.terminated)

    def symmetries(self) -> tuple[Symmetry, ...]:
        """The four that preserve the start; the others swap its colors."""
        start = np.zeros((8, 8), int)
        start[3:5, 3:5] = [[-1, 1], [1, -1]]
        every = square_symmetries(8, lambda goes_to: np.append(goes_to, 64))
        return tuple(turn for turn in every if (start.reshape(-1)[turn.cells] == start.reshape(-1)).all())

    def move_name(self, action: int, state: State | None) -> str:
        row, column = divmod(action, 8)
        return "pass" if action == 64 else f"{_LETTERS[column]}{row + 1}"

    def draw(self, state: State) -> str:
        colors = state._x.board if state._x.turn == 0 else -state._x.board  # the mover's stones are positive
        return drawing.grid_text(_seats(colors).reshape(8, 8), columns="abcdefgh", rows="12345678")


class Hex(Board):
    title = "Hex from pgx, 11 x 11, with the swap; X joins top and bottom, O left and right."
    max_moves = 122  # 121 stones and a swap
    goals = ("Join the top and the bottom edge.", "Join the left and the right edge.")
    planes = ("pieces of the mover", "pieces of the next seat", "the mover's seat", "1 if the mover may swap")

    def future(self, state: State) -> Any:
        return (jnp.sign(state._x.board), state._x.step_count)

    def symmetries(self) -> tuple[Symmetry, ...]:
        cells = np.arange(121)
        return (
            Symmetry(cells, np.arange(122)),
            Symmetry(cells[::-1].copy(), np.append(cells[::-1], 121)),
        )

    def move_name(self, action: int, state: State | None) -> str:
        row, column = divmod(action, 11)
        return "swap" if action == 121 else f"{_LETTERS[column]}{row + 1}"

    def draw(self, state: State) -> str:
        colors = state._x.board if state._x.step_count % 2 == 0 else -state._x.board
        rows = drawing.grid_text(_seats(colors).reshape(11, 11)).splitlines()
        slanted = [f"{' ' * row}{row + 1:>2} {line}" for row, line in enumerate(rows)]
        return "\n".join([f"   {' '.join(_LETTERS[:11])}", *slanted])


@dataclass(frozen=True)
class Go(Board):
    size: int
    sides = ("X (black)", "O (white)")
    goals = ("Control more of the board than white and its 7.5 points.", "Control, with 7.5 points, more than black.")
    planes = (
        *(f"pieces of {side}, {ago} moves ago" for ago in range(8) for side in ("the mover", "the next seat")),
        "the mover's seat",
    )
    limited = True

    @property
    def title(self) -> str:  # type: ignore[override]
        return f"Go from pgx, {self.size} x {self.size}, area scoring, komi 7.5; repeating a position loses."

    @property
    def max_moves(self) -> int:  # type: ignore[override]
        """After this many moves pgx scores the board."""
        return 2 * self.size**2

    def step(self, library: Any, state: State, action: Array, key: Any) -> State:
        return pgx_go.step(library, state, action)

    def future(self, state: State) -> Any:
        x = state._x
        return (x.board, x.step_count, x.ko, x.consecutive_pass_count, x.is_psk, x.hash_history)

    def symmetries(self) -> tuple[Symmetry, ...]:
        return square_symmetries(self.size, lambda goes_to: np.append(goes_to, self.size**2))

    def move_name(self, action: int, state: State | None) -> str:
        row, column = divmod(action, self.size)
        return "pass" if action == self.size**2 else f"{self._columns[column]}{self.size - row}"

    def draw(self, state: State) -> str:
        board = _seats(state._x.board).reshape(self.size, self.size)
        rows = [str(self.size - row) for row in range(self.size)]
        return drawing.grid_text(board, columns=self._columns, rows=rows)

    @property
    def _columns(self) -> str:
        return "ABCDEFGHJKLMNOPQRST"[: self.size]


def _seats(colors: np.ndarray) -> np.ndarray:
    """Positive fields as seat 0, negative ones as seat 1, empty ones as -1."""
    return np.select([colors > 0, colors < 0], [0, 1], -1)
