"""The rows of ratings and results: read and written within a transaction of the caller."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sql

from tabia.evaluation.glicko import Rating
from tabia.server.database.schema import games, people, ratings, results, seats
from tabia.server.ratings import scoring
from tabia.server.ratings.settling import FinishedGame, PersonRating, RatedPair


@dataclass(frozen=True)
class FinishedRow:
    """A finished game as the tables have it; `agents` are those at the seats, None for people."""

    id: str
    game: str
    number: int  # in the order of finishing
    agents: tuple[str | None, ...]
    outcome: FinishedGame


def finished_games(connection: sql.Connection, *, id: str | None = None) -> list[FinishedRow]:
    """The rated games that are over, or the one with an id, in the order in which they ended."""
    query = sql.select(games).where(games.c.rated, games.c.finished.is_not(None)).order_by(games.c.finished)
    taken = sql.select(seats.c.game_id, seats.c.seat, seats.c.person_id)
    if id is not None:
        query, taken = query.where(games.c.id == id), taken.where(seats.c.game_id == id)
    people_of = {(row.game_id, row.seat): row.person_id for row in connection.execute(taken)}
    return [_finished_row(row, people_of) for row in connection.execute(query)]


def _finished_row(row: sql.Row[Any], people_of: Mapping[tuple[str, int], str | None]) -> FinishedRow:
    placed = json.loads(row.seats)
    return FinishedRow(
        id=row.id,
        game=row.game,
        number=row.finished,
        agents=tuple(seat["agent"] for seat in placed),
        outcome=FinishedGame(
            people=tuple(people_of.get((row.id, number)) for number in range(len(placed))),
            scores=tuple(map(float, json.loads(row.result)["scores"])),
            time=row.finished_at or row.created,
        ),
    )


def keep_people(connection: sql.Connection, ids: Iterable[str | None]) -> None:
    """Let no account of these be deleted before the transaction ends; SQLite does that by itself."""
    query = sql.select(people.c.id).where(people.c.id.in_(list(filter(None, ids))))
    connection.execute(query.with_for_update(read=True, key_share=True))


def person_ratings(connection: sql.Connection, ids: Iterable[str | None], game: str) -> dict[str, PersonRating]:
    """The ratings of people in a game."""
    query = sql.select(ratings).where(ratings.c.person_id.in_(list(filter(None, ids))), ratings.c.game == game)
    return {row.person_id: person_rating(row) for row in connection.execute(query)}


def person_rating(row: sql.Row[Any]) -> PersonRating:
    """A rating as it is stored."""
    return PersonRating(Rating(row.rating, row.deviation, row.volatility), row.games, row.updated)


def rating_fields(person: str, game: str, known: PersonRating) -> dict[str, Any]:
    """The row of a rating."""
    return {
        "person_id": person,
        "game": game,
        "rating": known.rating.rating,
        "deviation": known.rating.deviation,
        "volatility": known.rating.volatility,
        "games": known.games,
        "updated": known.updated,
    }


def result_fields(row: FinishedRow, pair: RatedPair) -> dict[str, Any]:
    """The row of a result."""
    return {
        "game_id": row.id,
        "game": row.game,
        "finished": row.number,
        "seat": pair.pairing.seat,
        "person_id": pair.person,
        "opponent_seat": pair.pairing.opponent,
        "opponent_person": pair.opponent_person,
        "opponent_agent": pair.opponent.agent,
        "opponent_rating": pair.opponent_rating.rating,
        "opponent_deviation": pair.opponent_rating.deviation,
        "score": pair.pairing.score,
        "weight": pair.pairing.weight,
        "moved_first": pair.pairing.seat < pair.pairing.opponent,
        "advantage": pair.opponent.advantage,
        "rating_before": pair.before.rating,
        "deviation_before": pair.before.deviation,
        "rating_after": pair.after.rating,
        "deviation_after": pair.after.deviation,
    }


def write_ratings(connection: sql.Connection, game: str, after: Mapping[str, PersonRating]) -> None:
    """Insert or replace ratings."""
    for person, new in after.items():
        here = (ratings.c.person_id == person, ratings.c.game == game)
        fields = rating_fields(person, game, new)
        if connection.execute(sql.select(ratings.c.games).where(*here)).first() is None:
            connection.execute(ratings.insert().values(**fields))
        else:
            connection.execute(ratings.update().where(*here).values(**fields))


def points_gained(
    connection: sql.Connection, game: str, day: str, person: str, opponent: str, opponent_rating: Rating
) -> float:
    """The points that a person has gained from another on a day, such as 2026-11-16; or from all provisional ones."""
    provisional = results.c.opponent_agent.is_(None) & (results.c.opponent_deviation > scoring.PROVISIONAL)
    same = provisional if scoring.is_provisional(opponent_rating) else results.c.opponent_person == opponent
    query = (
        sql.select(results.c.rating_after, results.c.rating_before)
        .join(games, games.c.id == results.c.game_id)
        .where(
            results.c.person_id == person,
            same,
            results.c.game == game,
            sql.func.substr(games.c.finished_at, 1, 10) == day,
        )
    )
    return math.fsum(row.rating_after - row.rating_before for row in connection.execute(query))
