"""Glicko-2 (Glickman 2012): the rating of a player who is measured game by game, with an advantage of the first move.

Ratings and deviations are in Elo points, as on a ladder. In natural units (173.7 points), with mu, phi and sigma the
rating, deviation and volatility of a player, and for each result the opponent's mu_j and phi_j, the score s in [0, 1],
a weight w and the advantage a of the own seat over the opponent's:

    g = 1 / sqrt(1 + 3 phi_j^2 / pi^2)          E = 1 / (1 + exp(-g (mu - mu_j + a)))
    1 / v = sum w g^2 E (1 - E)                 delta = v sum w g (s - E)
    1 / phi'^2 = 1 / (phi^2 + t sigma'^2) + 1 / v         mu' = mu + phi'^2 sum w g (s - E)

The first-mover term `a` is antisymmetric: what one seat gains, the other loses. It is known beforehand (`Ladder`
measures it), never fitted here, so the update of one game needs nothing but the two ratings. A result of weight w
counts as w games with that score. With w = 1, a = 0 and t = 1 this is Glickman's system.

`update` is that: one step from the old rating, for the results of one rating period. After single games, and with a
deviation of hundreds of points, the step is too bold: 95% intervals cover 90% of simulated newcomers. `update_game`
integrates over the player's own uncertainty too. With k = 1 / sqrt(1 + pi (phi^2 + phi_j^2) / 8) in place of g
(MacKay's approximation of the mean of a logistic function under a normal distribution), mean and variance of the
posterior are

    mu' = mu + phi^2 w k (s - E)                phi'^2 = phi^2 - phi^4 w k^2 E (1 - E)

which tends to `update` as the deviations fall.

`t` is the time since the player's last game in rating periods, and may be a fraction: strength drifts with time, not
with games. Glickman's equation for sigma' has sigma^2 where this one has t sigma^2, so t = 0 leaves sigma alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from tabia.core.elo import POINTS_PER_LOGIT
from tabia.evaluation.rating_models import RatingError
from tabia.evaluation.significance import Z95

TAU = 0.5
"""How fast the volatility may change; Glickman recommends 0.3 to 1.2, and uses this in his example."""
MOST_VOLATILITY = 0.1
"""A bound, because one upset between very different ratings can make an absurdly large volatility the most probable."""
_TOLERANCE = 1e-9  # of the logarithm of the volatility squared


@dataclass(frozen=True)
class Rating:
    """What is known about the strength of a player; the defaults are Glickman's for an unrated one."""

    rating: float = 1500.0
    deviation: float = 350.0  # standard deviation, in Elo points
    volatility: float = 0.06  # standard deviation of the drift in one rating period, in natural units

    @property
    def error(self) -> float:
        """Half the width of the 95% interval."""
        return Z95 * self.deviation


@dataclass(frozen=True)
class Result:
    """A game as one player saw it."""

    opponent: Rating  # before the game
    score: float  # 1 for a win, 0.5 for a draw, 0 for a loss
    weight: float = 1.0
    advantage: float = 0.0  # of the own seat over the opponent's, in Elo points

    def __post_init__(self) -> None:
        if not 0.0 <= self.score <= 1.0 or not 0.0 <= self.weight < math.inf:
            raise RatingError(
                f"A result needs a score from 0 to 1 and a weight of at least 0, not {self.score} and {self.weight}."
            )


def expected_score(own: Rating, opponent: Rating, advantage: float = 0.0) -> float:
    """The expected score E of a game, for a player whose own rating is taken as certain.

    >>> round(expected_score(Rating(1500), Rating(1400, 30)), 3)
    0.639
    """
    return _expected((own.rating - opponent.rating + advantage) / POINTS_PER_LOGIT, _g(opponent))


def update(
    own: Rating,
    results: Sequence[Result],
    *,
    elapsed: float = 1.0,
    tau: float = TAU,
    least: float = 0.0,
    most: float = math.inf,
) -> Rating:
    """The rating after results that came `elapsed` rating periods after the last ones.

    `least` and `most` bound the deviation. A bound from below keeps a rating able to move after many games; one from
    above says that nobody is known less than a newcomer.
    """
    return _moved(own, *_evidence(own, results), elapsed=elapsed, tau=tau, least=least, most=most)


def update_game(
    own: Rating, result: Result, *, elapsed: float, tau: float = TAU, least: float = 0.0, most: float = math.inf
) -> Rating:
    """The rating after one game of weight at most 1, right for newcomers too; the options are those of `update`."""
    if result.weight > 1.0:
        raise RatingError(f"One game has a weight of at most 1, not {result.weight}.")
    square = (own.deviation / POINTS_PER_LOGIT) ** 2
    k = 1.0 / math.sqrt(1.0 + math.pi / 8.0 * (square + (result.opponent.deviation / POINTS_PER_LOGIT) ** 2))
    lead = (own.rating - result.opponent.rating + result.advantage) / POINTS_PER_LOGIT
    slope = result.weight * k * (result.score - _expected(lead, k))
    curvature = result.weight * k**2 * _expected(lead, k) * _expected(-lead, k)
    rest = 1.0 - square * curvature  # phi'^2 / phi^2; positive, because square k^2 / 4 < 2 / pi
    return _moved(own, slope / rest, curvature / rest, elapsed=elapsed, tau=tau, least=least, most=most)


def _moved(
    own: Rating, slope: float, precision: float, *, elapsed: float, tau: float, least: float, most: float
) -> Rating:
    """The rating after evidence with this slope and precision of its logarithm, in natural units."""
    if precision == 0.0:
        return aged(own, elapsed, most=most)
    volatility = _volatility(own, delta=slope / precision, variance=1.0 / precision, elapsed=elapsed, tau=tau)
    before = aged(replace(own, volatility=volatility), elapsed, most=most).deviation / POINTS_PER_LOGIT
    square = 1.0 / (1.0 / before**2 + precision)
    return Rating(
        rating=own.rating + square * slope * POINTS_PER_LOGIT,
        deviation=max(math.sqrt(square) * POINTS_PER_LOGIT, least),
        volatility=volatility,
    )


def aged(own: Rating, elapsed: float, *, most: float = math.inf) -> Rating:
    """The rating after time without games: the same, but less certain.

    >>> round(aged(Rating(1500, 50, 0.06), 100).deviation, 1)  # sqrt(50^2 + 100 (0.06 * 173.7)^2)
    115.6
    """
    if elapsed < 0.0:
        raise RatingError(f"Results come in order of time, not {-elapsed} rating periods before the last one.")
    drift = elapsed * (own.volatility * POINTS_PER_LOGIT) ** 2
    return replace(own, deviation=min(math.sqrt(own.deviation**2 + drift), max(most, own.deviation)))


def _evidence(own: Rating, results: Sequence[Result]) -> tuple[float, float]:
    """The sums of w g (s - E) and of w g^2 E (1 - E), in natural units."""
    slope = precision = 0.0
    for result in results:
        g = _g(result.opponent)
        lead = (own.rating - result.opponent.rating + result.advantage) / POINTS_PER_LOGIT
        slope += result.weight * g * (result.score - _expected(lead, g))
        precision += result.weight * g**2 * _expected(lead, g) * _expected(-lead, g)
    return slope, precision


def _g(opponent: Rating) -> float:
    """How much a result counts against an opponent whose own rating is uncertain."""
    return 1.0 / math.sqrt(1.0 + 3.0 * (opponent.deviation / POINTS_PER_LOGIT / math.pi) ** 2)


def _expected(lead: float, g: float) -> float:
    # Beyond 300 natural units the score is certain in floating point, and exp would overflow further out.
    return 1.0 / (1.0 + math.exp(-min(max(g * lead, -300.0), 300.0)))


def _volatility(own: Rating, *, delta: float, variance: float, elapsed: float, tau: float) -> float:
    """The new volatility, by Glickman's step 5 (the Illinois algorithm), with y = ln(t sigma^2) for the unknown."""
    if elapsed == 0.0:
        return own.volatility
    start = math.log(elapsed * own.volatility**2)
    square = (own.deviation / POINTS_PER_LOGIT) ** 2 + variance

    def slope(y: float) -> float:
        drift = math.exp(y)
        return drift * (delta**2 - square - drift) / (2.0 * (square + drift) ** 2) - (y - start) / tau**2

    bound = math.log(elapsed * max(MOST_VOLATILITY, own.volatility) ** 2)
    if slope(start) > 0.0 and slope(bound) >= 0.0:
        return max(MOST_VOLATILITY, own.volatility)
    other = bound if slope(start) >= 0.0 else start - tau
    while slope(start) * slope(other) > 0.0:
        other -= tau
    return math.exp(_root(slope, start, other) / 2.0) / math.sqrt(elapsed)


def _root(slope: Callable[[float], float], one: float, other: float) -> float:
    """The root of a function between two points, by the Illinois variant of false position."""
    at_one, at_other = slope(one), slope(other)
    while abs(other - one) > _TOLERANCE:
        middle = one + (one - other) * at_one / (at_other - at_one)
        at_middle = slope(middle)
        if at_middle * at_other <= 0.0:
            one, at_one = other, at_other
        else:
            at_one /= 2.0
        other, at_other = middle, at_middle
    return one
