"""The boards of the games that have cells to click: grids of squares, Hex and Go from pgx, and the star."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from tabia.games.boards.board import Board, BoardView, Cell, Drawing, grid, in_words
from tabia.games.checkers import Checkers
from tabia.games.chinese_checkers import ChineseCheckers
from tabia.games.chinese_checkers.star import seating
from tabia.games.chinese_checkers.star import star as make_star
from tabia.games.connect import Connect
from tabia.games.game import Game, State
from tabia.games.othello import Othello
from tabia.games.session import Session
from tabia.games.tictactoe import TicTacToe

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_GO_LETTERS = "ABCDEFGHJKLMNOPQRST"


class _Stones(BoardView):
    """Pieces of the seats in the first planes of an observation: me, next, next after."""

    def pieces(self, session: Session) -> list[int]:
        planes = session.observe(0).reshape(-1, session.game.observation_shape[-1])[:, : session.game.num_players]
        return np.where(planes.any(axis=1), planes.argmax(axis=1), -1).tolist()

    def path(self, action: int, pieces: Sequence[int], state: State) -> list[int]:
        return [action] if action < len(pieces) else []  # the action after the last cell is a pass


class TicTacToeView(_Stones):
    """Nine squares."""

    colors = ("red", "blue")
    wins_with = True

    @property
    def seat_names(self) -> tuple[str, ...]:
        return ("X", "O")

    def make_board(self) -> Board:
        labels = [self.game.move_name(action) for action in range(9)]
        return grid(3, 3, style="plain", row_names="321", column_names="abc", labels=labels)

    def line(self, session: Session) -> list[int] | None:
        return _line_through_last(session, columns=3, last=session.actions[-1] if session.actions else 0)

    def reason(self, session: Session) -> str:
        return "three in a row" if session.winner is not None else "the board is full"


class ConnectView(_Stones):
    """Columns that fill from below."""

    game: Connect
    wins_with = True

    def make_board(self) -> Board:
        columns = [str(column + 1) for column in range(self.game.columns)]
        rows = [str(self.game.rows - row) for row in range(self.game.rows)]
        labels = [f"{column}-{row}" for row in rows for column in columns]
        return grid(
            self.game.rows, self.game.columns, style="drop", row_names=rows, column_names=columns, labels=labels
        )

    def path(self, action: int, pieces: Sequence[int], state: State) -> list[int]:
        column = range(action, len(pieces), self.game.columns)
        return [max(cell for cell in column if pieces[cell] < 0)]

    def targets(self, path: Sequence[int]) -> list[int]:
        return list(range(path[-1] % self.game.columns, len(self.board.cells), self.game.columns))

    def line(self, session: Session) -> list[int] | None:
        if session.winner is None:
            return None
        column, pieces = session.actions[-1], self.pieces(session)
        last = min(cell for cell in range(column, len(pieces), self.game.columns) if pieces[cell] >= 0)
        return _line_through_last(session, columns=self.game.columns, last=last)

    def reason(self, session: Session) -> str:
        return f"{in_words(self.game.line)} in a row" if session.winner is not None else "the board is full"


class OthelloView(_Stones):
    """Squares; the last action is the pass."""

    game: Othello
    colors = ("black", "white")
    wins_with = True

    def make_board(self) -> Board:
        size = self.game.size
        labels = [self.game.move_name(action) for action in range(size**2)]
        return grid(
            size, size, style="squares", row_names="12345678"[:size], column_names=_LETTERS[:size], labels=labels
        )


class CheckersView(BoardView):
    """The 32 dark squares, numbered as in notation; the light squares are not cells."""

    colors = ("black", "red")

    def make_board(self) -> Board:
        cells = []
        for square in range(32):
            row = square // 4
            column = 2 * (square % 4) + (row + 1) % 2
            cells.append(Cell(x=column + 0.5, y=row + 0.5, label=str(square + 1), row=row, column=column))
        return Board(width=8, height=8, style="checkered", cells=tuple(cells))

    def _kinds(self, session: Session) -> np.ndarray:
        """bool[32, 4]: men and kings of seat 0, men and kings of seat 1."""
        planes = session.observe(0)
        return np.array([planes[cell.row, cell.column, :4] > 0 for cell in self.board.cells])

    def pieces(self, session: Session) -> list[int]:
        kinds = self._kinds(session)
        return np.where(kinds.any(axis=1), kinds.argmax(axis=1) // 2, -1).tolist()

    def kings(self, session: Session) -> list[int]:
        kinds = self._kinds(session)
        return np.flatnonzero(kinds[:, 1] | kinds[:, 3]).tolist()

    def path(self, action: int, pieces: Sequence[int], state: State) -> list[int]:
        return [int(square) - 1 for square in re.split("[-x]", self.game.move_name(action, state))]

    def reason(self, session: Session) -> str:
        if session.winner is None:
            return self.game.ending(session.state)
        return f"{self.seat_names[1 - session.winner]} has no moves left"


class StarView(BoardView):
    """The star of Chinese checkers; a chain of jumps is shown with every landing."""

    game: ChineseCheckers

    def make_board(self) -> Board:
        radius, pieces = (2, 6) if self.game.fields == 37 else (4, 10)
        star, starts = make_star(radius), seating(radius, self.game.num_players, pieces).starts
        homes = np.where(starts.any(axis=0), starts.argmax(axis=0), -1)
        points = star.points - star.points.min(axis=0) + 0.5
        width, height = points.max(axis=0) + 0.5
        rows: dict[str, int] = {name[0]: index for index, name in enumerate(dict.fromkeys(n[0] for n in star.names))}
        cells = tuple(
            Cell(
                x=float(x),
                y=float(y),
                label=name,
                row=rows[name[0]],
                column=int(name[1:]) - 1,
                home=None if home < 0 else int(home),
            )
            for (x, y), name, home in zip(points, star.names, homes, strict=True)
        )
        near = star.neighbors[:-1]
        links = tuple((a, int(b)) for a in range(len(cells)) for b in near[a] if a < b < len(cells))
        return Board(width=float(width), height=float(height), style="star", cells=cells, rows=tuple(rows), links=links)

    def pieces(self, session: Session) -> list[int]:
        return np.asarray(session.state.board).tolist()

    def path(self, action: int, pieces: Sequence[int], state: State) -> list[int]:
        return list(self.game.hops(state, action))

    def reason(self, session: Session) -> str:
        return "every piece home first" if session.winner is not None else self.game.ending(session.state)


class HexView(_Stones):
    """Hexagons; the last action is the swap."""

    colors = ("red", "blue")
    size = 11

    def make_board(self) -> Board:
        size = self.size
        cells = tuple(
            Cell(
                x=column + row / 2 + 0.5,
                y=row * 0.75**0.5 + 0.5,
                label=f"{_LETTERS[column]}{row + 1}",
                row=row,
                column=column,
            )
            for row in range(size)
            for column in range(size)
        )
        return Board(
            width=size + (size - 1) / 2,
            height=(size - 1) * 0.75**0.5 + 1,
            style="hex",
            cells=cells,
            rows=tuple(str(row + 1) for row in range(size)),
            columns=tuple(_LETTERS[:size]),
        )

    def line(self, session: Session) -> list[int] | None:
        """The shortest chain of the winner from edge to edge."""
        if session.winner is None or session.resigned is not None:
            return None
        own = np.array(self.pieces(session)).reshape(self.size, self.size) == session.winner
        own = own if session.winner == 0 else own.T  # then both join the first row with the last
        chain = _chain(own)
        return [row * self.size + column if session.winner == 0 else column * self.size + row for row, column in chain]

    def reason(self, session: Session) -> str:
        return "top and bottom joined" if session.winner == 0 else "left and right joined"


class GoView(_Stones):
    """Points where lines cross; the last action is the pass."""

    colors = ("black", "white")

    def make_board(self) -> Board:
        size = self.game.observation_shape[0]
        labels = [self.game.move_name(action) for action in range(size**2)]
        rows = [str(size - row) for row in range(size)]
        return grid(size, size, style="go", row_names=rows, column_names=_GO_LETTERS[:size], labels=labels)

    def reason(self, session: Session) -> str:
        return "more of the board counted"


_VIEWS: dict[type[Game], type[BoardView]] = {
    TicTacToe: TicTacToeView,
    Connect: ConnectView,
    Othello: OthelloView,
    Checkers: CheckersView,
    ChineseCheckers: StarView,
}
_PGX_VIEWS: dict[str, type[BoardView]] = {"pgx:hex": HexView, "pgx:go_9x9": GoView, "pgx:go_19x19": GoView}


@lru_cache(maxsize=64)
def view(game: Game) -> BoardView:
    """How a game looks; a drawing if it has no view of its own.

    >>> from tabia.games import make
    >>> view(make("connect4")).board.style, view(make("pgx:chess")).board_dict()
    ('drop', {'kind': 'drawing'})
    """
    return (_VIEWS.get(type(game)) or _PGX_VIEWS.get(game.id) or Drawing)(game)


def _line_through_last(session: Session, *, columns: int, last: int) -> list[int] | None:
    """The longest of the winning lines through the cell of the last move."""
    won = {row * columns + column for row, column in session.game.winning_line(session.state)}
    if not won or session.resigned is not None:
        return None
    best: list[int] = []
    for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
        line, (row, column) = [last], divmod(last, columns)
        for sign in (-1, 1):
            y, x = row + sign * down, column + sign * right
            while 0 <= x < columns and y * columns + x in won:
                line.append(y * columns + x)
                y, x = y + sign * down, x + sign * right
        best = max(best, sorted(line), key=len)
    return best


def _chain(own: np.ndarray) -> list[tuple[int, int]]:
    """The shortest chain of neighboring hexagons from the first row to the last."""
    size = len(own)
    before: dict[tuple[int, int], tuple[int, int] | None] = {(0, c): None for c in range(size) if own[0, c]}
    queue = deque(before)
    while queue:
        cell = queue.popleft()
        if cell[0] == size - 1:
            chain = [cell]
            while (at := before[chain[-1]]) is not None:
                chain.append(at)
            return chain[::-1]
        for down, right in ((0, 1), (0, -1), (1, 0), (-1, 0), (1, -1), (-1, 1)):
            near = (cell[0] + down, cell[1] + right)
            if near not in before and 0 <= near[0] < size and 0 <= near[1] < size and own[near]:
                before[near] = cell
                queue.append(near)
    return []
