"""Games on a grid of fields: drawing and naming that their rules share.

A subclass says which seat has each field (`board`) and how rows and columns are labeled; the rest follows.
"""

from __future__ import annotations

import abc
from collections.abc import Sequence

import numpy as np

from tabia.games import drawing
from tabia.games.game import Game, State


class GridGame(Game):
    """A game whose position is a grid of fields, each empty or with one seat's stone."""

    @abc.abstractmethod
    def board(self, state: State) -> np.ndarray:
        """int[H, W]: the seat on each field, -1 where it is empty; row 0 is drawn on top."""

    @property
    def column_labels(self) -> Sequence[str]:
        """Below the board, from left to right."""
        return ()

    @property
    def row_labels(self) -> Sequence[str]:
        """To the left of the board, from top to bottom."""
        return ()

    @property
    def stone_colors(self) -> Sequence[str]:
        """The color of each seat's stones in an SVG."""
        return drawing.SEAT_COLORS

    def piece(self, seat: int) -> str:
        return drawing.SEAT_MARKS[seat]

    def draw(self, state: State) -> str:
        return drawing.grid_text(
            self.board(state), columns=self.column_labels, rows=self.row_labels, marked=self.winning_line(state)
        )

    def svg(self, state: State) -> str:
        return drawing.grid_svg(
            self.board(state),
            columns=self.column_labels,
            rows=self.row_labels,
            colors=self.stone_colors,
            marked=self.winning_line(state),
        )
