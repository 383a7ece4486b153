"""One finished game becomes results and ratings: a pure step, which the book takes once and a recount again.

The ratings of all seats are those before the game. The pairs of a seat are rated one after the other, in the order of
the other seats; only the first of them comes after a time without games.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from tabia.evaluation.glicko import Rating, Result
from tabia.server.ratings import scoring
from tabia.server.ratings.scoring import Pairing


@dataclass(frozen=True)
class PersonRating:
    """The rating of a person in one game; `updated` is None before the first game."""

    rating: Rating
    games: int = 0
    updated: str | None = None


@dataclass(frozen=True)
class PairOpponent:
    """What is known about the opponent of a pair beforehand."""

    rating: Rating | None  # of an agent, or of a person who has left; None if the person's own rating holds
    agent: str | None = None
    advantage: float = 0.0  # of the seat over the opponent's
    weight: float | None = None  # if it was fixed before


@dataclass(frozen=True)
class FinishedGame:
    """A finished game: the person at each seat (None for agents and people who have left) and the scores."""

    people: tuple[str | None, ...]
    scores: tuple[float, ...]
    time: str


@dataclass(frozen=True)
class RatedPair:
    """What one pair of seats did to the rating of the first."""

    pairing: Pairing  # with the weight that counted
    person: str
    opponent_person: str | None
    opponent: PairOpponent
    opponent_rating: Rating
    before: Rating
    after: Rating


FindOpponent = Callable[[Pairing], PairOpponent | None]
"""The opponent of a pair; None if the pair does not count."""
PointsGained = Callable[[str, str, Rating], float]
"""The points that a person has gained today from another with this rating, or from all who are provisional like it."""


def settle(
    game: FinishedGame, before: Mapping[str, PersonRating], find_opponent: FindOpponent, points_gained: PointsGained
) -> tuple[list[RatedPair], dict[str, PersonRating]]:
    """The results of a game, and the ratings of its people after it; `before` has a rating for each of them."""
    pairs: list[RatedPair] = []
    after: dict[str, PersonRating] = {}
    for person in dict.fromkeys(filter(None, game.people)):
        own = _settle_person(game, person, before, find_opponent, points_gained)
        pairs += own
        if own:
            after[person] = PersonRating(own[-1].after, before[person].games + 1, game.time)
    return pairs, after


def _settle_person(
    game: FinishedGame,
    person: str,
    before: Mapping[str, PersonRating],
    find_opponent: FindOpponent,
    points_gained: PointsGained,
) -> list[RatedPair]:
    own, updated = before[person].rating, before[person].updated
    elapsed = 0.0 if updated is None else scoring.weeks_between(updated, game.time)
    pairs: list[RatedPair] = []
    for pairing in scoring.pairings(game.scores):
        other = game.people[pairing.opponent]
        opponent = find_opponent(pairing) if game.people[pairing.seat] == person and other != person else None
        if opponent is None:
            continue
        rating = _now(before[other or ""], game.time) if opponent.rating is None else opponent.rating
        result = Result(rating, pairing.score, pairing.weight, opponent.advantage)
        if opponent.weight is not None:
            result = replace(result, weight=opponent.weight)
        elif other is not None:
            points = points_gained(person, other, rating)
            result = replace(result, weight=scoring.fair_weight(own, result, elapsed=elapsed, gained=points))
        after = scoring.rate(own, result, elapsed=elapsed)
        pairs.append(
            RatedPair(
                pairing=replace(pairing, weight=result.weight),
                person=person,
                opponent_person=other,
                opponent=opponent,
                opponent_rating=rating,
                before=own,
                after=after,
            )
        )
        own, elapsed = after, 0.0
    return pairs


def _now(known: PersonRating, time: str) -> Rating:
    return known.rating if known.updated is None else scoring.at(known.rating, known.updated, time)
