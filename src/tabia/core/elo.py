"""The Elo curve: the expected score of a player, and the rating difference that a score stands for.

A score is a fraction of the points: a win is 1, a draw 1/2, a loss 0.
"""

from __future__ import annotations

import math

SCALE = 400.0
"""A player this many points stronger has odds of 10 to 1."""

POINTS_PER_LOGIT = SCALE / math.log(10.0)
"""Elo points in one natural unit of strength: odds of e to 1."""


def expected_score(difference: float) -> float:
    """The expected score of a player that is `difference` Elo points stronger than its opponent.

    >>> round(expected_score(100), 3)
    0.64
    """
    return 1.0 / (1.0 + 10.0 ** (-difference / SCALE))


def difference(score: float) -> float:
    """The rating difference at which `score` is expected; infinite for 0 and 1.

    >>> round(difference(0.64)), difference(1.0)
    (100, inf)
    """
    if score <= 0.0 or score >= 1.0:
        return math.copysign(math.inf, score - 0.5)
    return SCALE * math.log10(score / (1.0 - score))
