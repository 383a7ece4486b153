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
class Held:
    """The rating of a person in one game; `updated` is None before the first game."""

    rating: Rating
    games: int = 0
    updated: str | None = None


@dataclass(frozen=True)
class Met:
    """What is known about the opponent of a pair beforehand."""

    rating: Rating | None  # of an agent, or of a person who has left; None if the person's own rating holds
    agent: str | None = None
    advantage: float = 0.0  # of the seat over the opponent's
    weight: float | None = None  # if it was fixed before


@dataclass(frozen=True)
class Finished:
    """A finished game: the person at each seat (None for agents and people who have left) and the scores."""

    people: tuple[str | None, ...]
    scores: tuple[float, ...]
    time: str


@dataclass(frozen=True)
class Settled:
    """What one pair of seats did to the rating of the first."""

    pairing: Pairing  # with the weight that counted
    person: str
    opponent_person: str | None
    met: Met
    opponent: Rating
    before: Rating
    after: Rating


Meet = Callable[[Pairing], Met | None]
"""Whom a pair meets; None if the pair does not count."""
Gained = Callable[[str, str, Rating], float]
"""The points that a person has gained today from another with this rating, or from all who are provisional like it."""


def settle(
    game: Finished, held: Mapping[str, Held], meet: Meet, gained: Gained
) -> tuple[list[Settled], dict[str, Held]]:
    """The results of a game, and the ratings of its people after it; `held` has a rating for each of them."""
    settled: list[Settled] = []
    after: dict[str, Held] = {}
    for person in dict.fromkeys(filter(None, game.people)):
        found = _settle_person(game, person, held, meet, gained)
        settled += found
        if found:
            after[person] = Held(found[-1].after, held[person].games + 1, game.time)
    return settled, after


def _settle_person(game: Finished, person: str, held: Mapping[str, Held], meet: Meet, gained: Gained) -> list[Settled]:
    own, updated = held[person].rating, held[person].updated
    elapsed = 0.0 if updated is None else scoring.weeks_between(updated, game.time)
    found: list[Settled] = []
    for pairing in scoring.pairings(game.scores):
        other = game.people[pairing.opponent]
        met = meet(pairing) if game.people[pairing.seat] == person and other != person else None
        if met is None:
            continue
        opponent = _now(held[other or ""], game.time) if met.rating is None else met.rating
        result = Result(opponent, pairing.score, pairing.weight, met.advantage)
        if met.weight is not None:
            result = replace(result, weight=met.weight)
        elif other is not None:
            points = gained(person, other, opponent)
            result = replace(result, weight=scoring.fair_weight(own, result, elapsed=elapsed, gained=points))
        after = scoring.rate(own, result, elapsed=elapsed)
        found.append(
            Settled(
                pairing=replace(pairing, weight=result.weight),
                person=person,
                opponent_person=other,
                met=met,
                opponent=opponent,
                before=own,
                after=after,
            )
        )
        own, elapsed = after, 0.0
    return found


def _now(held: Held, time: str) -> Rating:
    return held.rating if held.updated is None else scoring.at(held.rating, held.updated, time)
