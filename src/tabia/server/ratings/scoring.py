"""How a rated game changes a rating: Glicko-2 with a week as the rating period, and a cap for games between friends.

Everything is a function of what is stored with the game, so a recount gives the same numbers. They are rounded to
decimals that do not depend on the last bit of a processor's arithmetic.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from tabia.evaluation.glicko import Rating, Result, aged, update_game

WEEK_SECONDS = 7 * 86_400.0
"""The rating period."""
LEAST_DEVIATION = 45.0
"""Below this a deviation does not fall, so that a rating can follow a person who learns."""
WIDEST_DEVIATION = 350.0
"""At least this is the deviation of a newcomer, and up to this a deviation grows with time."""
PROVISIONAL = 110.0
"""A rating with a larger deviation is shown with a question mark."""
DAILY_CAP = 100.0
"""The most points that one person can move another's rating within a day (UTC), in either direction.

All people with a provisional rating count as one here: otherwise somebody could win against ever new accounts.
"""
_SPAN = 0.3  # a little more than the standard deviation of strengths spread evenly over a ladder, sqrt(1/12) of it
_HALVINGS = 40


@dataclass(frozen=True)
class Pairing:
    """Two seats of a finished game, as the first saw it."""

    seat: int
    opponent: int
    score: float
    weight: float


def newcomer(ladder: Sequence[float]) -> Rating:
    """The rating before the first game: the middle of the ladder, and a 95% interval that covers it.

    >>> newcomer([0.0, 700.0, 1400.0])
    Rating(rating=700.0, deviation=420.0, volatility=0.06)
    """
    low, high = min(ladder), max(ladder)
    return Rating((low + high) / 2.0, max(WIDEST_DEVIATION, _SPAN * (high - low)))


def pairings(scores: Sequence[float]) -> list[Pairing]:
    """One result per ordered pair of seats, weighted so that a game counts once for each seat.

    >>> pairings([1.0, -1.0])
    [Pairing(seat=0, opponent=1, score=1.0, weight=1.0), Pairing(seat=1, opponent=0, score=0.0, weight=1.0)]
    """
    seats = range(len(scores))
    return [
        Pairing(seat, other, 0.5 * (1 + (scores[seat] > scores[other]) - (scores[seat] < scores[other])), weight)
        for weight in [1.0 / (len(scores) - 1)]
        for seat in seats
        for other in seats
        if seat != other
    ]


def rate(own: Rating, result: Result, *, elapsed: float) -> Rating:
    """The rating after a result."""
    return _rounded(update_game(own, result, elapsed=elapsed, least=LEAST_DEVIATION, most=WIDEST_DEVIATION))


def fair_weight(own: Rating, result: Result, *, elapsed: float, gained: float) -> float:
    """The weight of a game between people under the daily cap.

    `gained` is what the opponent, or all provisional ones together, have moved the rating today. If the whole game
    would move it past the cap, the game counts with the largest weight that does not. The evidence shrinks with it, so
    the interval stays honest.
    """

    def past(weight: float) -> bool:
        after = rate(own, replace(result, weight=weight), elapsed=elapsed)
        return abs(gained + after.rating - own.rating) > max(DAILY_CAP, abs(gained))

    if not past(result.weight):
        return result.weight
    low, high = 0.0, result.weight
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        low, high = (low, middle) if past(middle) else (middle, high)
    return low


def is_provisional(rating: Rating) -> bool:
    """Whether too little is known about somebody."""
    return rating.deviation > PROVISIONAL


def weeks_between(before: str, after: str) -> float:
    """The rating periods between two ISO 8601 times; 0 if a clock was set back."""
    seconds = (datetime.fromisoformat(after) - datetime.fromisoformat(before)).total_seconds()
    return max(seconds, 0.0) / WEEK_SECONDS


def at(own: Rating, updated: str, now: str) -> Rating:
    """A stored rating as it stands now: less certain after weeks without a game."""
    return _rounded(aged(own, weeks_between(updated, now), most=WIDEST_DEVIATION))


def _rounded(own: Rating) -> Rating:
    return Rating(round(own.rating, 6), round(own.deviation, 6), round(own.volatility, 9))
