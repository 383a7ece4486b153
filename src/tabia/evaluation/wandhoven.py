"""The ratings of Wandhoven 2022: Elo's formulas with the natural logarithm, so 400 points are odds of e to 1.

    E = 1 / (1 + e^((r_opponent - r) / 400))       expected score                        (45)
    r' = r + K (W - E)                             after a game with score W             (46)
    r = r_opponent - 400 ln((1 - s) / s)           from a score s in many games          (48)

These points are not Elo points: `elo_points` converts a difference. The thesis rates every version of its agent by
(48), with the untrained one at 100, and names no value for K. The server rates people by Glicko-2 instead
(`tabia.evaluation.glicko`), because (46) has no interval and takes dozens of games.
"""

from __future__ import annotations

import math

from tabia.core.elo import SCALE

UNTRAINED = 100.0
"""The rating of the untrained agent, to which all others are relative."""


def expected_score(difference: float) -> float:
    """The expected score of a player that is `difference` points stronger than its opponent.

    >>> round(expected_score(400), 4), round(expected_score(-400), 4)  # e : 1 and 1 : e
    (0.7311, 0.2689)
    """
    return 0.5 * (1.0 + math.tanh(difference / (2.0 * SCALE)))


def update(rating: float, opponent: float, score: float, *, k: float) -> float:
    """The rating after one game; the opponent's changes by as much in the other direction.

    >>> update(1000, 1000, 1.0, k=20)
    1010.0
    """
    return rating + k * (score - expected_score(rating - opponent))


def sequential_elo(opponent: float, points: float, games: int) -> float:
    """Wandhoven's rating of a new version, with score s = points / games: r = r_opponent - 400 ln((1 - s) / s).

    A score of 0 or 1 counts as half a game less, to keep the logarithm finite.

    >>> round(sequential_elo(100, 13, 23))  # 1.3 wins for each loss, Wandhoven's gate
    205
    """
    score = min(max(points / games, 0.5 / games), 1.0 - 0.5 / games)
    return opponent + SCALE * math.log(score / (1.0 - score))


def elo_points(difference: float) -> float:
    """A difference of Wandhoven's points in Elo points, with the same expected score.

    >>> round(elo_points(400))
    174
    """
    return difference / math.log(10.0)
