"""What people see of ratings: the leaderboard of a game, one's own, the next opponent, and the profile of a player."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sql

from tabia.server.catalog.catalog import Catalog
from tabia.server.database.schema import games, people, ratings, results, seats
from tabia.server.ratings import matching, rated_games, scoring, tables
from tabia.server.ratings.leaderboard import Row, Standing, leaderboard
from tabia.server.ratings.matching import NextMatch, PlayedGame
from tabia.server.ratings.rated_games import RatedGame
from tabia.server.ratings.settling import PersonRating

MOST_PEOPLE, MOST_GAMES = 500, 50


@dataclass(frozen=True)
class OwnRating:
    """One's own rating in a game; `known` is None before the first game."""

    game: str
    known: PersonRating | None
    placement: matching.Placement
    next: NextMatch


def table(connection: sql.Connection, game: str, now: str) -> list[tuple[str, Row]]:
    """The leaderboard of a game with the ids of the people; guests and banned people are not in it."""
    query = (
        sql.select(ratings, people.c.name)
        .join(people, people.c.id == ratings.c.person_id)
        .where(ratings.c.game == game, people.c.name_key.is_not(None), people.c.banned.is_(None))
    )
    found = connection.execute(query).all()
    ids = {row.name: row.person_id for row in found}
    rows = leaderboard([Standing(row.name, _now(tables.person_rating(row), now).rating, row.games) for row in found])
    return [(ids[row.standing.name], row) for row in rows[:MOST_PEOPLE]]


def own(
    connection: sql.Connection, rated: RatedGame, person: str | None, now: str, *, draw: Callable[[int], int]
) -> OwnRating:
    """A person's rating in a game, and the next match; without a person, that of a newcomer."""
    known = None if person is None else tables.person_ratings(connection, [person], rated.id).get(person)
    played = [] if known is None or person is None else played_games(connection, person, rated.id)
    rating = rated.start if known is None else known.rating
    return OwnRating(
        game=rated.id,
        known=None if known is None else _now(known, now),
        placement=matching.placement(rated.opponents, played),
        next=matching.next_match(rated.opponents, rating.rating, played, seats=rated.seats, draw=draw),
    )


def played_games(connection: sql.Connection, person: str, game: str) -> list[PlayedGame]:
    """The first rated games of a person, as many as a placement can have; several opponents count as their mean."""
    query = (
        sql.select(results.c.finished, results.c.opponent_rating, results.c.score)
        .where(results.c.person_id == person, results.c.game == game)
        .order_by(results.c.finished, results.c.opponent_seat)
    )
    by_game: dict[int, list[tuple[float, float]]] = defaultdict(list)
    for row in connection.execute(query):
        if row.finished not in by_game and len(by_game) == matching.MOST_GAMES:
            break
        by_game[row.finished].append((row.opponent_rating, row.score))
    return [
        PlayedGame(_mean(elo for elo, _ in pairs), _mean(score for _, score in pairs)) for pairs in by_game.values()
    ]


def running(connection: sql.Connection, person: str, game: str) -> str | None:
    """The id of a person's rated game with an agent that is not over."""
    query = (
        sql.select(games.c.id, games.c.seats)
        .join(seats, seats.c.game_id == games.c.id)
        .where(seats.c.person_id == person, games.c.game == game, games.c.rated, games.c.result.is_(None))
        .order_by(games.c.created)
    )
    found = connection.execute(query).all()
    return next((row.id for row in found if any(seat["agent"] for seat in json.loads(row.seats))), None)


@dataclass(frozen=True)
class Profile:
    """What everybody may see of a player."""

    name: str
    role: str
    created: str
    ratings: list[tuple[str, PersonRating]]  # by game
    games: list[dict[str, Any]]


def profile(connection: sql.Connection, catalog: Catalog, name_key: str, now: str) -> Profile | None:
    """A player by the key of the name; None if there is none."""
    row = connection.execute(sql.select(people).where(people.c.name_key == name_key, people.c.banned.is_(None))).first()
    if row is None:
        return None
    query = sql.select(ratings).where(ratings.c.person_id == row.id).order_by(ratings.c.game)
    known = [(found.game, _now(tables.person_rating(found), now)) for found in connection.execute(query)]
    return Profile(
        name=row.name, role=row.role, created=row.created, ratings=known, games=_rated(connection, catalog, row.id)
    )


def _rated(connection: sql.Connection, catalog: Catalog, person: str) -> list[dict[str, Any]]:
    """The newest rated games of a person: opponents, score and change."""
    latest = sql.select(results.c.finished).where(results.c.person_id == person).distinct()
    newest = latest.order_by(results.c.finished.desc()).limit(MOST_GAMES)
    numbers = list(connection.execute(newest).scalars())
    query = (
        sql.select(results, games.c.finished_at, seats.c.name)
        .join(games, games.c.id == results.c.game_id)
        .outerjoin(seats, (seats.c.game_id == results.c.game_id) & (seats.c.seat == results.c.opponent_seat))
        .where(results.c.person_id == person, results.c.finished.in_(numbers))
        .order_by(results.c.finished.desc(), results.c.opponent_seat)
    )
    by_game: dict[str, list[Any]] = defaultdict(list)
    for row in connection.execute(query):
        by_game[row.game_id].append(row)
    return [_rated_game(catalog, pairs) for pairs in by_game.values()]


def _rated_game(catalog: Catalog, pairs: list[Any]) -> dict[str, Any]:
    first, last = pairs[0], pairs[-1]
    return {
        "id": first.game_id,
        "game": first.game,
        "finished_at": first.finished_at,
        "seat": first.seat,
        "opponents": [{"name": _name(catalog, pair), "rating": pair.opponent_rating} for pair in pairs],
        "score": _mean(pair.score for pair in pairs),
        "change": round(last.rating_after) - round(first.rating_before),
        "rating": last.rating_after,
    }


def _name(catalog: Catalog, pair: Any) -> str:
    if pair.opponent_agent is None:
        return str(pair.name or "")
    rated = rated_games.find(catalog, pair.game)
    known = {} if rated is None else {agent.id: agent.name for agent in rated.agents}
    return str(known.get(pair.opponent_agent, pair.opponent_agent))


def _now(known: PersonRating, now: str) -> PersonRating:
    if known.updated is None:
        return known
    return replace(known, rating=scoring.at(known.rating, known.updated, now))


def _mean(numbers: Iterable[float]) -> float:
    known = list(numbers)
    return sum(known) / len(known)
