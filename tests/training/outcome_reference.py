"""Reference implementation of outcomes: game by game, each position by what came after it."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


@dataclass
class Ply:
    """A position and the move made there."""

    values: np.ndarray  # [P] the search values
    explored: bool  # whether the move was random
    scores: np.ndarray | None = None  # [P] if the move ended the game
    valued: bool = True  # whether there was a search: a teacher gives no values
    resigned: bool = False  # whether the game was resigned there
    proven: bool = False  # whether the search proved its values


@dataclass
class Game:
    """The plies of a game so far."""

    plies: list[Ply] = field(default_factory=list)

    @property
    def over(self) -> bool:
        return bool(self.plies) and self.plies[-1].scores is not None

    def left(self, index: int) -> int:
        """Plies from the position to the final one; -1 if that is unknown or a random move came in between."""
        known = self.over and not any(ply.explored or ply.resigned for ply in self.plies[index:])
        return len(self.plies) - 1 - index if known else -1

    def outcome(self, index: int, td_lambda: float) -> np.ndarray | None:
        """The value target of a position; None while it is unknown.

        It follows the game up to the first random move or proven position, whose search value is then the end, or up to
        the game's own end. On the way each search value has weight (1 - lambda) of what is left, and the end has the
        rest.
        """
        total, left = np.zeros_like(self.plies[index].values, np.float64), 1.0
        for step, ply in enumerate(self.plies[index:]):
            if step and ply.valued:
                total, left = total + (1 - td_lambda) * left * ply.values, td_lambda * left
            if ply.explored or ply.proven:
                return total + left * ply.values if ply.valued else None
            if ply.scores is not None:
                return total + left * ply.scores
        return None
