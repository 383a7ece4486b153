"""The table of people by rating, with what the uncertainty leaves open.

Only settled ratings have a place. Two people are apart if their 95% intervals do not overlap; the best and the worst
place a person may have count only those who are apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabia.evaluation.glicko import Rating
from tabia.server.ratings.scoring import is_provisional


@dataclass(frozen=True)
class Standing:
    """A person with a rating."""

    name: str
    rating: Rating  # as it is now
    games: int

    @property
    def provisional(self) -> bool:
        """Whether too little is known for a place."""
        return is_provisional(self.rating)


@dataclass(frozen=True)
class Row:
    """A line of the table."""

    standing: Standing
    place: int | None  # None while provisional; people with equal ratings share a place
    best: int | None  # the places that the intervals allow
    worst: int | None


def leaderboard(standings: Sequence[Standing]) -> list[Row]:
    """All people, the settled ones first, each part by rating."""
    settled = _by_rating([one for one in standings if not one.provisional])
    rest = _by_rating([one for one in standings if one.provisional])
    return [*(_row(one, settled) for one in settled), *(Row(one, None, None, None) for one in rest)]


def _row(own: Standing, settled: Sequence[Standing]) -> Row:
    above = sum(_low(other) > _high(own) for other in settled)
    below = sum(_high(other) < _low(own) for other in settled)
    higher = sum(other.rating.rating > own.rating.rating for other in settled)
    return Row(own, place=1 + higher, best=1 + above, worst=len(settled) - below)


def _by_rating(standings: Sequence[Standing]) -> list[Standing]:
    return sorted(standings, key=lambda one: (-one.rating.rating, one.name))


def _low(one: Standing) -> float:
    return one.rating.rating - one.rating.error


def _high(one: Standing) -> float:
    return one.rating.rating + one.rating.error
