"""pgx's games of moving pieces: move names and drawings.

pgx rotates the board to the mover after every move; names and drawings here always show seat 0's view.

    chess, gardner_chess   from, to, promotion: e2e4, e7e8q (UCI); capitals are white, seat 0
    shogi                  from, to, + for promotion, or a drop: 7g7f, 8h2b+, P*5e (USI); capitals are black, seat 0
    animal_shogi           the same on 3 files and 4 ranks: 2c2b, C*1b; chick, elephant, giraffe, lion, hen
    backgammon             from/to by the mover's own count of points: 24/18, bar/20, 6/off(5) with the die, pass
"""

from __future__ import annotations

from functools import cache
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.adapters import pgx_gardner
from tabia.games.adapters.pgx_stones import Board

State = Any  # pgx's own state
_FILES = "abcdefgh"
_CHESS_PIECES = ("pawns", "knights", "bishops", "rooks", "queens", "king")
_SIDES = ("the mover", "the next seat")


def _chess_planes(*last: str) -> tuple[str, ...]:
    """The planes of pgx's two chess games: eight positions, the newest first, then those that differ."""
    planes = list[str]()
    for ago in range(8):
        planes += [f"{kind} of {side}, {ago} moves ago" for side in _SIDES for kind in _CHESS_PIECES]
        planes += [f"1 if the position {ago} moves ago occurred {how}" for how in ("once", "more than once")]
    return (*planes, "the mover's seat", "moves, divided by their limit", *last)


class Chess(Board):
    title = "Chess from pgx: draws by 50 moves, threefold repetition, too little material or 512 moves."
    max_moves = 512
    sides = ("white", "black")
    goals = ("Checkmate the other king.",) * 2
    planes = _chess_planes(
        *(f"1 if {side} may castle on the {wing}'s side" for side in _SIDES for wing in ("queen", "king")),
        "moves without progress, divided by 100",
    )
    limited = True
    size = 8

    def future(self, state: State) -> Any:
        x = state._x
        return (x.color, x.board, x.castling_rights, x.en_passant, x.halfmove_count, x.step_count, x.hash_history)

    def move_name(self, action: int, state: State | None) -> str:
        start, plane = divmod(action, self._targets().shape[1])
        target = int(self._targets()[start, plane])
        if target < 0:
            return f"#{action}"  # off the board, never legal
        board, black = (None, False) if state is None else self._board(state)
        queening = board is not None and board[start] == 1 and target % self.size == self.size - 1
        promotion = "rbn"[plane // 3] if plane < 9 else "q" if queening else ""
        return f"{self._square(start, black)}{self._square(target, black)}{promotion}"

    def draw(self, state: State) -> str:
        board, black = self._board(state)
        grid = board.reshape(self.size, self.size).T[::-1]  # pgx counts up the files
        grid = -grid[::-1] if black else grid
        letters = np.array(list(".PNBRQKkqrbnp"))  # a negative index counts from the end
        return _labeled(letters[grid], columns=_FILES[: self.size], rows=range(self.size, 0, -1))

    def _board(self, state: State) -> tuple[np.ndarray, bool]:
        return np.asarray(state._x.board), bool(state._x.color == 1)

    def _square(self, square: int, black: bool) -> str:
        file, rank = divmod(square, self.size)
        return f"{_FILES[file]}{self.size - rank if black else rank + 1}"

    @cache  # noqa: B019  (one object per game, for the life of the process)
    def _targets(self) -> np.ndarray:
        from pgx._src.games.chess import FROM_PLANE

        return np.asarray(FROM_PLANE)  # [64, 73], -1 off the board


class GardnerChess(Chess):
    title = "Gardner's minichess from pgx, 5 x 5, at most 256 moves."
    max_moves = 256
    planes = _chess_planes("moves without progress, divided by 100")
    size = 5

    def step(self, library: Any, state: State, action: Array, key: Any) -> State:
        return pgx_gardner.step(state, action)

    def future(self, state: State) -> Any:
        return (
            state._turn,
            state._board,
            state._halfmove_count,
            state._step_count,
            state._zobrist_hash,
            state._hash_history,
        )

    def _board(self, state: State) -> tuple[np.ndarray, bool]:
        return np.asarray(state._board), bool(state._turn == 1)

    @cache  # noqa: B019
    def _targets(self) -> np.ndarray:
        from pgx._src.gardner_chess_utils import TO_MAP

        return np.asarray(TO_MAP)  # [25, 49]


class Shogi(Board):
    title = "Shogi from pgx: a draw after 512 moves, no repetition rule."
    max_moves = 512
    sides = ("black", "white")
    goals = ("Checkmate the other king.",) * 2
    limited = True
    files, ranks = 9, 9
    letters: tuple[str, ...] = ("P", "L", "N", "S", "B", "R", "G", "K", "+P", "+L", "+N", "+S", "+B", "+R")

    def future(self, state: State) -> Any:
        return (state._x.color, state._x.board, state._x.hand, state._x.step_count)

    def move_name(self, action: int, state: State | None) -> str:
        direction, target = divmod(action, 81)
        if direction >= 20:
            white = state is not None and bool(state._x.color == 1)
            return f"{self.letters[direction - 20]}*{self._square(target, white)}"
        promotion = "+" if direction >= 10 else ""
        if state is None:  # the origin depends on the position
            arrow = ("n", "nw", "ne", "w", "e", "s", "sw", "se", "nnw", "nne")[direction % 10]
            return f"{arrow}-{self._square(target, False)}{promotion}"
        board, white = np.asarray(state._x.board), bool(state._x.color == 1)
        behind = [square for square in self._sources()[direction % 10, target] if square >= 0]
        # The mover's nearest piece in that direction moves.
        start = next((square for square in behind if 0 <= board[square] < 14), None)
        if start is None:
            return f"#{action}"
        return f"{self._square(int(start), white)}{self._square(target, white)}{promotion}"

    def draw(self, state: State) -> str:
        board, hands, turned = self._seen(state)
        if turned:
            board, hands = self._turn(board), hands[::-1]
        # Squares are numbered down the files, starting with file 1 on the right.
        grid = board.reshape(self.files, self.ranks).T[:, ::-1]
        kinds = len(self.letters)
        pieces = np.array([*self.letters, *(letter.lower() for letter in self.letters), "."])
        table = _labeled(
            pieces[np.where(grid < 0, 2 * kinds, grid)],
            columns=[str(file) for file in range(self.files, 0, -1)],
            rows=_ranks(self.ranks),
            width=max(map(len, self.letters)),
        )
        held = (f"{side} holds {self._held(hand)}" for side, hand in zip(self.sides, hands, strict=True))
        return "\n".join([table, *held])

    def _seen(self, state: State) -> tuple[np.ndarray, np.ndarray, bool]:
        return state._x.board, state._x.hand, bool(state._x.color == 1)

    def _turn(self, board: np.ndarray) -> np.ndarray:
        kinds = len(self.letters)
        return np.where(board < 0, -1, (board + kinds) % (2 * kinds))[::-1]

    def _held(self, hand: np.ndarray) -> str:
        counted = zip(hand, self.letters, strict=False)  # a hand holds only pieces that can be dropped
        return " ".join(f"{count}{letter}" for count, letter in counted if count) or "nothing"

    def _square(self, square: int, turned: bool) -> str:
        file, rank = divmod(self.files * self.ranks - 1 - square if turned else square, self.ranks)
        return f"{file + 1}{_ranks(self.ranks)[rank]}"

    @cache  # noqa: B019
    def _sources(self) -> np.ndarray:
        from pgx._src.games.shogi import LEGAL_FROM_IDX

        return np.asarray(LEGAL_FROM_IDX)  # [10, 81, 8], nearest first, -1 beyond the edge


class AnimalShogi(Shogi):
    title = "Animal shogi from pgx, 3 x 4: a draw by repetition or after 256 moves."
    max_moves = 256
    goals = ("Capture the other lion, or bring yours safely to the far row.",) * 2
    files, ranks = 3, 4
    letters = ("C", "E", "G", "L", "H")

    def future(self, state: State) -> Any:
        return (state._turn, state._board, state._hand, state._step_count, state._zobrist_hash, state._hash_history)

    def move_name(self, action: int, state: State | None) -> str:
        kind, square = divmod(action, 12)
        white = state is not None and bool(state._turn == 1)
        if kind >= 8:
            return f"{self.letters[kind - 8]}*{self._square(square, white)}"
        files, ranks = np.array([-1, -1, -1, 0, 0, 1, 1, 1]), np.array([-1, 0, 1, -1, 1, -1, 0, 1])
        file, rank = square // 4 + files[kind], square % 4 + ranks[kind]
        if not (0 <= file < 3 and 0 <= rank < 4):
            return f"#{action}"  # off the board, never legal
        return f"{self._square(square, white)}{self._square(int(file * 4 + rank), white)}"

    def _seen(self, state: State) -> tuple[np.ndarray, np.ndarray, bool]:
        return state._board, state._hand, bool(state._turn == 1)


_CHECKERS = ("1 or more", "2 or more", "3 or more", "beyond 3, a quarter of the")


class Backgammon(Board):
    title = "Backgammon from pgx, one die per move, without doubling; a draw after 1,024 moves."
    max_moves = 1024  # ours: the rules have no bound; of 500 random games the longest took 583 moves
    goals = ("Be the first to bear off all your checkers.",) * 2
    limited = True
    score_range = (-3.0, 3.0)  # a gammon counts double, a backgammon three times
    chance = True
    planes = (
        *(f"{count} checkers of {side}" for side in ("the mover", "the next seat") for count in _CHECKERS),
        *(f"dice to play with a {die}, halved" for die in range(1, 7)),
    )

    def prepare(self, state: State) -> State:
        """Seat 0 always plays the color that pgx draws black."""
        return state.replace(_turn=jnp.int32(0))

    def over(self, state: State) -> Array:
        return state.terminated | (state._step_count >= self.max_moves)

    def legal(self, state: State) -> Array:
        """Only the first of pgx's six actions for the same pass."""
        return super().legal(state) & ~jnp.isin(jnp.arange(26 * 6), jnp.arange(1, 6))

    def observe(self, library: Any, state: State, seat: Array) -> Array:
        """Each seat's own view (pgx shows the mover's to both), with the dice only for the mover."""
        theirs = library._observe(state, seat)
        return jnp.where(seat == state.current_player, theirs, jnp.append(_turned(theirs[:28]), theirs[28:]))

    def encode(self, observation: Array) -> Array:
        """Planes over the 24 points, the two bars and the two trays, where one, two and more checkers differ.

        pgx has one number per place, from which a network hardly learns what a single checker is (Tesauro 1992).
        """
        board, dice = observation[:28], observation[28:]
        sides = [_checkers(jnp.maximum(sign * board, 0)) for sign in (1, -1)]
        dice_planes = jnp.broadcast_to(dice / 2.0, (28, 6))
        return jnp.concatenate([*sides, dice_planes], axis=-1)[None]

    def certain(self, state: State) -> Array:
        """Dice are thrown after the last die of a turn, and after a pass."""
        return ((state._playable_dice >= 0).sum() > 1) & ~state.legal_action_mask[:6].any()

    def future(self, state: State) -> Any:
        return (
            state._board,
            state._dice,
            state._playable_dice,
            state._played_dice_num,
            state.current_player,
            state._step_count,
            state.terminated,
        )

    def move_name(self, action: int, state: State | None) -> str:
        source, die = action // 6, action % 6 + 1
        if source == 0:
            return "pass" if die == 1 else f"#{action}"
        if source == 1:
            return f"bar/{25 - die}"
        point = 26 - source
        return f"{point}/{point - die}" if point > die else f"{point}/off({die})"

    def draw(self, state: State) -> str:
        board = state._board if state.current_player == 0 else np.asarray(_turned(state._board))
        cells = ["." if count == 0 else f"{'X' if count > 0 else 'O'}{abs(count)}" for count in board[23::-1]]
        numbers = [str(point) for point in range(1, 25)]  # by seat 0's count
        upper = [_row(numbers[12:]), _row(cells[12:])]
        lower = [_row(cells[11::-1]), _row(numbers[11::-1])]
        bar, off = (f"X{board[place]} O{-board[place + 1]}" for place in (24, 26))
        dice = " ".join(str(die + 1) for die in state._playable_dice if die >= 0) or "none"
        return "\n".join([*upper, "", *lower, f"bar {bar}, off {off}, dice to play: {dice}"])


def _checkers(count: Array) -> Array:
    """float32[28, 4]: at least one, two and three checkers, and a quarter of those beyond three."""
    return jnp.stack([count >= 1, count >= 2, count >= 3, jnp.maximum(count - 3, 0) / 4.0], axis=-1)


def _turned(board: Any) -> Array:
    """The other seat's view: points reversed, bars and trays exchanged, signs flipped."""
    board = jnp.asarray(board)
    return -jnp.concatenate([board[23::-1], board[25:23:-1], board[27:25:-1]])


def _row(cells: list[str]) -> str:
    return " ".join(f"{cell:>3}" for cell in cells[:6]) + " |" + " ".join(f"{cell:>3}" for cell in cells[6:])


def _ranks(count: int) -> str:
    return "abcdefghi"[:count]


def _labeled(letters: np.ndarray, *, columns: Any, rows: Any, width: int = 1) -> str:
    lines = [f"{row} " + " ".join(f"{cell:>{width}}" for cell in line) for row, line in zip(rows, letters, strict=True)]
    return "\n".join([*lines, "  " + " ".join(f"{column:>{width}}" for column in columns)])
