"""What a screen needs to know about a game: the cells of its board, and how positions and moves lie on them.

Cells have numbers. Coordinates are in board units, one unit per cell, x to the right and y down.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from tabia.games.game import Game, State
from tabia.games.registry import is_of_library, is_own
from tabia.games.session import Session

COLORS = ("red", "yellow", "green", "blue", "violet", "black")
"""The colors of the seats where a game has none of its own."""
_NUMBERS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")


@dataclass(frozen=True)
class Cell:
    """One place for a piece; x and y are its center."""

    x: float
    y: float
    label: str
    row: int
    column: int
    home: int | None = None  # the seat that starts here, where that matters

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        fields = {
            "x": round(self.x, 4),
            "y": round(self.y, 4),
            "label": self.label,
            "row": self.row,
            "column": self.column,
        }
        return fields if self.home is None else fields | {"home": self.home}


@dataclass(frozen=True)
class Board:
    """The cells of a game and the look of what is behind them."""

    width: float
    height: float
    style: str
    cells: tuple[Cell, ...]
    rows: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    radius: float = 0.41  # of a piece
    links: tuple[tuple[int, int], ...] = ()  # cells joined by a line

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return {
            "kind": "cells",
            "width": round(self.width, 4),
            "height": round(self.height, 4),
            "style": self.style,
            "cells": [cell.to_dict() for cell in self.cells],
            "rows": list(self.rows),
            "columns": list(self.columns),
            "radius": self.radius,
            "links": [list(link) for link in self.links],
        }


class BoardView:
    """How the positions and moves of one game lie on its board."""

    colors: tuple[str, ...] = COLORS
    wins_with = False  # whether a reason reads well after "won with"

    def __init__(self, game: Game) -> None:
        self.game = game
        self.board = self.make_board()

    def make_board(self) -> Board:
        """The board; the same for every position."""
        raise NotImplementedError

    @property
    def seat_names(self) -> tuple[str, ...]:
        """What people call the seats, such as Red."""
        return tuple(self.colors[seat % len(self.colors)].capitalize() for seat in range(self.game.num_players))

    def board_dict(self) -> dict[str, Any]:
        """The board for JSON."""
        return self.board.to_dict()

    def pieces(self, session: Session) -> list[int]:
        """The seat on every cell, -1 where it is empty."""
        raise NotImplementedError

    def kings(self, session: Session) -> list[int]:
        """The cells with a promoted piece."""
        return []

    def paths(self, session: Session) -> dict[int, list[int]]:
        """The cells that every legal action touches, in order; empty for a pass."""
        pieces, state = self.pieces(session), on_host(session)
        legal = np.flatnonzero(session.legal).tolist()
        return {action: self.path(action, pieces, state) for action in legal}

    def path(self, action: int, pieces: Sequence[int], state: State) -> list[int]:
        """The cells that one legal action touches."""
        raise NotImplementedError

    def targets(self, path: Sequence[int]) -> list[int]:
        """The cells a click on which means the move with this path."""
        return list(path[-1:])

    def line(self, session: Session) -> list[int] | None:
        """The cells of the winning line, in order."""
        return None

    def reason(self, session: Session) -> str:
        """Why a game that is over has ended, without the name of the winner."""
        return session.game.ending(session.state)


class Drawing(BoardView):
    """A game without cells: a picture and a list of moves."""

    def make_board(self) -> Board:
        return Board(width=0, height=0, style="plain", cells=())

    @property
    def seat_names(self) -> tuple[str, ...]:
        pieces = [self.game.piece(seat) for seat in range(self.game.num_players)]
        return tuple(piece or f"Seat {seat}" for seat, piece in enumerate(pieces, start=1))

    def board_dict(self) -> dict[str, Any]:
        return {"kind": "drawing"}


def on_host(session: Session) -> State:
    """The state for naming moves: NumPy arrays are much faster, but a user's own rules need the JAX arrays."""
    known = is_own(session.game.id) or is_of_library(session.game.id)
    return jax.device_get(session.state) if known else session.state


def grid(
    rows: int, columns: int, *, style: str, row_names: Sequence[str], column_names: Sequence[str], labels: Sequence[str]
) -> Board:
    """A board of squares, numbered row by row from the top left."""
    cells = tuple(
        Cell(x=column + 0.5, y=row + 0.5, label=labels[row * columns + column], row=row, column=column)
        for row in range(rows)
        for column in range(columns)
    )
    return Board(
        width=columns, height=rows, style=style, cells=cells, rows=tuple(row_names), columns=tuple(column_names)
    )


def in_words(number: int) -> str:
    """A small number as a word.

    >>> in_words(4), in_words(12)
    ('four', '12')
    """
    return _NUMBERS[number] if number < len(_NUMBERS) else str(number)
