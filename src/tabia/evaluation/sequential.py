"""A test that may look at the score after every game and still errs no more often than promised.

It is a bet. Start with a stake of 1 and, before each game, put a share of it on "the newcomer scores more than
`low`". If that is false, no way of betting makes the stake grow on average, so the chance that it ever reaches
1 / alpha is at most alpha (Ville's inequality): no normal approximation, draws and points of any kind included. A
second stake is bet the same way against "scores at least `high`", and stops a hopeless newcomer.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from tabia.core.errors import TabiaError


def expected_score(elo: float) -> float:
    """The share of points a player `elo` points stronger expects.

    >>> round(expected_score(100), 3)
    0.64
    """
    return 1.0 / (1.0 + 10.0 ** (-elo / 400.0))


@dataclass
class Stake:
    """The capital of a gambler who bets that independent scores in [0, 1] average more than `mean`."""

    mean: float
    log_capital: float = 0.0
    _count: int = 0
    _sum: float = 0.0
    _squares: float = 0.0

    def add(self, score: float) -> None:
        """Bet by what has been seen so far, then see one more score."""
        self.log_capital += math.log1p(self._share() * (score - self.mean))
        self._count += 1
        self._sum += score
        self._squares += (score - self.mean) ** 2

    def _share(self) -> float:
        """The share that would have grown a stake fastest (to second order), at most half of what is at risk."""
        lead = (self._sum - self._count * self.mean) / (self._count + 1.0)
        spread = (self._squares + 0.25) / (self._count + 1.0)
        return min(max(lead / spread, 0.0), 0.5 / max(self.mean, 1e-9))


@dataclass
class SequentialTest:
    """Is a player at least `high` Elo better than its opponent, rather than `low` or less?

    `verdict` is True once it is proved better than `low` (wrongly at most with chance `alpha`), False once it is
    proved worse than `high` (wrongly at most with chance `beta`), None while neither is.
    """

    low: float = 0.0
    high: float = 35.0
    alpha: float = 0.05
    beta: float = 0.05

    def __post_init__(self) -> None:
        if not self.low < self.high:
            raise TabiaError(f"A sequential test needs low < high in Elo, not {self.low} and {self.high}.")
        if not (0 < self.alpha < 0.5 and 0 < self.beta < 0.5):
            raise TabiaError(
                f"alpha and beta are chances of error between 0 and 0.5, not {self.alpha} and {self.beta}."
            )
        self._better = Stake(expected_score(self.low))
        self._worse = Stake(1.0 - expected_score(self.high))

    def add(self, score: float) -> None:
        """Take in one independent score in [0, 1]: a game's, or a pair's from one opening."""
        if not 0.0 <= score <= 1.0:
            raise TabiaError(f"A score of {score} is not between 0 and 1.")
        self._better.add(score)
        self._worse.add(1.0 - score)

    @property
    def verdict(self) -> bool | None:
        if self._better.log_capital >= -math.log(self.alpha):
            return True
        if self._worse.log_capital >= -math.log(self.beta):
            return False
        return None
