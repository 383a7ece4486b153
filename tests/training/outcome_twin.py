"""Outcomes as one would tell them: game by game, each position by what came after it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Ply:
    """One position and the move made there."""

    values: np.ndarray  # [P] what the search expects
    explored: bool  # whether the move was random
    scores: np.ndarray | None = None  # [P] if the move ended the game
    valued: bool = True  # whether there was a search: a teacher expects nothing
    resigned: bool = False  # whether the game was given up there


@dataclass
class Game:
    """The plies of one game, as far as it has come."""

    plies: list[Ply] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return bool(self.plies) and self.plies[-1].scores is not None

    def left(self, index: int) -> int:
        """Plies from the position to the game's last; -1 where that is open, or a random move came between."""
        told = self.over and not any(ply.explored or ply.resigned for ply in self.plies[index:])
        return len(self.plies) - 1 - index if told else -1

    def outcome(self, index: int, decay: float) -> np.ndarray | None:
        """What the position at an index is worth; None as long as nobody knows.

        The story after it ends with the first random move, there the search's own value is the last word, or with the
        game. On the way each later value takes its share of what is left, 1 - decay, and the last word has the rest.
        """
        told, left = np.zeros_like(self.plies[index].values, np.float64), 1.0
        for step, ply in enumerate(self.plies[index:]):
            if step and ply.valued:
                told, left = told + (1 - decay) * left * ply.values, decay * left
            if ply.explored:
                return told + left * ply.values if ply.valued else None
            if ply.scores is not None:
                return told + left * ply.scores
        return None
