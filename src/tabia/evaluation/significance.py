"""How certain a score is: confidence intervals, and a sequential test that may stop after any game.

The sequential test is a bet. It starts with a capital of 1 and, before each game, bets a part of it on "the player
scores more than `low`". If that is false, no betting strategy makes the capital grow on average, so the probability
that it ever reaches 1 / alpha is at most alpha (Ville's inequality). This needs no normal approximation and holds for
draws and points of any kind. A second capital is bet against "the player scores at least `high`".
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabia.core.elo import expected_score
from tabia.core.errors import TabiaError

Z95 = 1.959964
"""The two-sided 95% quantile of the normal distribution."""


def wilson_interval(fraction: float, trials: float) -> tuple[float, float]:
    """Wilson's 95% interval of a fraction observed in this many trials; it contains the fraction.

    >>> [round(end, 3) for end in wilson_interval(0.5, 100)]
    [0.404, 0.596]
    """
    shrunk = 1.0 + Z95**2 / trials
    center = (fraction + Z95**2 / (2.0 * trials)) / shrunk
    half = Z95 * math.sqrt(fraction * (1.0 - fraction) / trials + Z95**2 / (4.0 * trials**2)) / shrunk
    return max(0.0, min(center - half, fraction)), min(1.0, max(center + half, fraction))  # in spite of rounding


def score_interval(own: Sequence[float], total: Sequence[float]) -> tuple[float, float, float]:
    """A score and its 95% interval, from one side's points and all points of each independent round.

    The interval is Wilson's for the effective number of games, which follows from the variance of the rounds. The
    variance includes one more round that is off by a half, so that equal rounds do not look certain. Without points
    the interval is 0 to 1.
    """
    count, everything = len(own), float(sum(total))
    if not count or not everything:
        return 0.5, 0.0, 1.0
    score = float(sum(own)) / everything
    residuals = (np.asarray(own) - score * np.asarray(total)) / (everything / count)
    variance = (float(np.sum(residuals**2)) + 0.25) / max(count - 1, 1)
    trials = count * max(1.0, score * (1.0 - score) / variance)  # a round that varies less than a coin counts more
    return score, *wilson_interval(score, trials)


@dataclass
class Capital:
    """The capital of a gambler who bets that independent scores in [0, 1] have a mean above `mean`."""

    mean: float
    log_capital: float = 0.0
    _count: int = 0
    _sum: float = 0.0
    _squares: float = 0.0

    def add(self, score: float) -> None:
        """Bet on the next score, then observe it."""
        self.log_capital += math.log1p(self._bet() * (score - self.mean))
        self._count += 1
        self._sum += score
        self._squares += (score - self.mean) ** 2

    def _bet(self) -> float:
        """The bet with the fastest growth so far (to second order), limited to half of what can be lost."""
        lead = (self._sum - self._count * self.mean) / (self._count + 1.0)
        spread = (self._squares + 0.25) / (self._count + 1.0)
        return min(max(lead / spread, 0.0), 0.5 / max(self.mean, 1e-9))


@dataclass
class SequentialTest:
    """Is a player at least `high` Elo stronger than its opponent, rather than at most `low`?

    `verdict` is True once the player is better than `low` (wrong with probability at most `alpha`), False once it is
    worse than `high` (wrong with probability at most `beta`), and None before.
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
                f"alpha and beta are error probabilities between 0 and 0.5, not {self.alpha} and {self.beta}."
            )
        self._better = Capital(expected_score(self.low))
        self._worse = Capital(1.0 - expected_score(self.high))

    def add(self, score: float) -> None:
        """Add one independent score in [0, 1], of a game or of a round."""
        if not 0.0 <= score <= 1.0:
            raise TabiaError(f"A score of {score} is not between 0 and 1.")
        self._better.add(score)
        self._worse.add(1.0 - score)

    @property
    def verdict(self) -> bool | None:
        """True, False or, while undecided, None."""
        if self._better.log_capital >= -math.log(self.alpha):
            return True
        if self._worse.log_capital >= -math.log(self.beta):
            return False
        return None
