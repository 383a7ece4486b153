"""The three rule sets of Chinese checkers: where pieces may go, when a seat has finished, and its score.

            pieces must not                     a seat finishes with                      scores by place
Schulte     enter points of the star of other   first: its end zone full of own pieces,   3, 1, 0
            seats, leave the end zone           second: its end zone full
OpenSpiel                                       its end zone full of own pieces           P - 1, then -1 each
People      leave the end zone                  its end zone full, one piece its own      1, -1; 3, 1, 0; 6, 3, 1, 0

Schulte and OpenSpiel end the game with the last place that scores. Under People play continues, without the seats that
have finished, until one is left. Axis letters: F fields, P seats.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array


@dataclass(frozen=True)
class Rules(abc.ABC):
    """One rule set. Every place that a seat can win has a score other than 0, so 0 means not settled."""

    players: int

    keeps_to_own_points = False  # pieces stay out of the points that are neither their start nor their end zone
    keeps_end_zone = False  # pieces do not leave the end zone

    @property
    def skips_finished(self) -> bool:
        """Whether play continues without the seats that have finished."""
        return False

    @property
    @abc.abstractmethod
    def score_range(self) -> tuple[float, float]:
        """The lowest and the highest score."""

    @property
    def scores_to_settle(self) -> int:
        """The game is decided when this many scores are settled."""
        return 2

    @abc.abstractmethod
    def settle(self, board: Array, ends: np.ndarray, settled: Array) -> Array:
        """float32[P]: the scores after a move, given the board int[F], the end zones bool[P, F] and the old scores."""

    def decided(self, settled: Array) -> Array:
        """bool: whether the game is over."""
        return jnp.count_nonzero(settled) >= self.scores_to_settle

    def finished(self, settled: Array) -> Array:
        """bool[P]: the seats that have finished."""
        return settled > 0


class Schulte(Rules):
    """The game of Schulte 2021 for three seats."""

    keeps_to_own_points = True
    keeps_end_zone = True
    score_range = (0.0, 3.0)

    def settle(self, board: Array, ends: np.ndarray, settled: Array) -> Array:
        home = (pieces(board, self.players) | ~ends).all(axis=1)
        settled = jnp.where(home & ~settled.any(), 3.0, settled)
        return jnp.where(_full(board, ends) & (settled == 0) & settled.any(), 1.0, settled)


class OpenSpiel(Rules):
    """OpenSpiel's game: the first seat to finish wins and ends the game."""

    @property
    def score_range(self) -> tuple[float, float]:
        return (-1.0, self.players - 1.0)

    def settle(self, board: Array, ends: np.ndarray, settled: Array) -> Array:
        home = (pieces(board, self.players) | ~ends).all(axis=1)
        return jnp.where(home.any(), jnp.where(home, self.players - 1.0, -1.0), settled)


class People(Rules):
    """The game as people play it: staying in the start zone cannot force a draw, and all play for places."""

    keeps_end_zone = True

    @property
    def skips_finished(self) -> bool:
        return self.players > 2

    @property
    def score_range(self) -> tuple[float, float]:
        return (-1.0, 1.0) if self.players == 2 else (0.0, float(self.prizes[0]))

    @property
    def scores_to_settle(self) -> int:
        return max(2, self.players - 1)

    @property
    def prizes(self) -> np.ndarray:
        """float32[P]: the score of each place, 1 + 2 + ... + k with k seats behind: 3, 1, 0 for three seats."""
        behind = np.arange(self.players)[::-1]
        return (behind * (behind + 1) / 2).astype(np.float32)

    def settle(self, board: Array, ends: np.ndarray, settled: Array) -> Array:
        present = (pieces(board, self.players) & ends).any(axis=1)
        finishes = _full(board, ends) & present & (settled == 0)
        settled = jnp.where(finishes, jnp.asarray(self.prizes)[jnp.count_nonzero(settled)], settled)
        # With two seats the loser gets -1, so that a game that reaches the move limit, 0 each, is a draw.
        return jnp.where(settled.any() & (settled == 0), -1.0, settled) if self.players == 2 else settled


def pieces(board: Array, players: int) -> Array:
    """bool[P, F]: where each seat's pieces are."""
    return board[None, :] == jnp.arange(players)[:, None]


def _full(board: Array, ends: np.ndarray) -> Array:
    """bool[P]: whether each end zone is full of any pieces."""
    return ((board >= 0)[None, :] | ~ends).all(axis=1)
