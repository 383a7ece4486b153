"""All ratings again, from the games: a fold over the finished games in order, which must equal the stored rows.

What was true when a game ended is taken from its stored result: the rating of an agent, whose ladder may have been
measured again since, the advantage of the seat, a newcomer's start, and the rating of an opponent whose account is
gone. Everything else is computed.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from functools import partial
from typing import Any

import sqlalchemy as sql

from tabia.evaluation.glicko import Rating
from tabia.server.catalog.catalog import Catalog
from tabia.server.database.database import AdvisoryLock, Database
from tabia.server.database.schema import ratings, results
from tabia.server.ratings import rated_games, scoring, tables
from tabia.server.ratings.book import find_opponent
from tabia.server.ratings.scoring import Pairing
from tabia.server.ratings.settling import PairOpponent, PersonRating, settle
from tabia.server.ratings.tables import FinishedRow

Row = dict[str, Any]
Key = tuple[Any, ...]
_PROVISIONAL = "?"  # in no id of a person


@dataclass(frozen=True)
class Recount:
    """Ratings and results by their keys, as computed and as stored."""

    games: int
    computed: dict[Key, Row]
    stored: dict[Key, Row]

    @property
    def differences(self) -> list[Key]:
        """The keys of rows that differ, or that only one side has."""
        keys = {**self.stored, **self.computed}
        return [key for key in keys if self.stored.get(key) != self.computed.get(key)]


def recount(catalog: Catalog, database: Database, *, write: bool = False) -> Recount:
    """Compute all ratings from the games; with `write`, store what differs."""
    with database.transaction() as connection:
        database.acquire(connection, AdvisoryLock.FINISHING)
        found = _Fold(catalog, connection).run()
        if write and found.differences:
            _write(connection, found)
        return found


class _Fold:
    """The ratings after each game."""

    def __init__(self, catalog: Catalog, connection: sql.Connection) -> None:
        self._catalog, self._connection = catalog, connection
        rows = [dict(row) for row in connection.execute(sql.select(results).order_by(results.c.id)).mappings()]
        self._pairs = {(row["game_id"], row["seat"], row["opponent_seat"]): row for row in rows}
        self._ratings: dict[tuple[str, str], PersonRating] = {}  # by person and game
        self._gained: dict[Key, list[float]] = defaultdict(list)  # by game, day, person and opponents
        self._results: dict[Key, Row] = {}

    def run(self) -> Recount:
        found = tables.finished_games(self._connection)
        for row in found:
            self._add(row)
        computed = {
            ("rating", person, game): tables.rating_fields(person, game, known)
            for (person, game), known in self._ratings.items()
        }
        return Recount(games=len(found), computed=computed | self._results, stored=self._stored())

    def _add(self, row: FinishedRow) -> None:
        before = {person: self._rating(person, row) for person in filter(None, row.outcome.people)}
        if None in before.values():
            return  # a game that is not rated here and has no results either
        day = row.outcome.time[:10]
        pairs, after = settle(
            row.outcome,
            {person: known for person, known in before.items() if known is not None},
            partial(self._find_opponent, row),
            lambda person, other, rating: math.fsum(self._gained[row.game, day, person, _group(other, rating)]),
        )
        for pair in pairs:
            key = ("result", row.id, pair.pairing.seat, pair.pairing.opponent)
            self._results[key] = tables.result_fields(row, pair)
            if pair.opponent.agent is None:
                points = pair.after.rating - pair.before.rating
                for group in {pair.opponent_person, _group(pair.opponent_person, pair.opponent_rating)}:
                    self._gained[row.game, day, pair.person, group].append(points)
        self._ratings |= {(person, row.game): new for person, new in after.items()}

    def _rating(self, person: str, row: FinishedRow) -> PersonRating | None:
        """A person's rating before a game; a newcomer's from the result, or by the ladder of today."""
        if (person, row.game) in self._ratings:
            return self._ratings[person, row.game]
        seat = row.outcome.people.index(person)
        pairs = (self._pairs.get((row.id, seat, other)) for other in range(len(row.agents)))
        first = next(filter(None, pairs), None)
        if first is not None:
            return PersonRating(Rating(first["rating_before"], first["deviation_before"]))
        rated = rated_games.find(self._catalog, row.game)
        return None if rated is None else PersonRating(rated.start)

    def _find_opponent(self, row: FinishedRow, pairing: Pairing) -> PairOpponent | None:
        pair = self._pairs.get((row.id, pairing.seat, pairing.opponent))
        if pair is None:
            rated = rated_games.find(self._catalog, row.game)
            return None if rated is None else find_opponent(rated, row, pairing)
        agent, person = row.agents[pairing.opponent], row.outcome.people[pairing.opponent]
        known = Rating(pair["opponent_rating"], pair["opponent_deviation"])
        return PairOpponent(
            rating=known if person is None else None,
            agent=agent,
            advantage=pair["advantage"],
            weight=pair["weight"] if person is None and agent is None else None,
        )

    def _stored(self) -> dict[Key, Row]:
        """The rows of people who have an account."""
        rows = self._connection.execute(sql.select(ratings).order_by(ratings.c.person_id)).mappings()
        stored: dict[Key, Row] = {("rating", row["person_id"], row["game"]): dict(row) for row in rows}
        for key, row in self._pairs.items():
            if row["person_id"] is not None:
                stored["result", *key] = {name: value for name, value in row.items() if name != "id"}
        return stored


def _group(opponent: str | None, rating: Rating) -> str | None:
    """Who shares a daily cap with an opponent: all people with a provisional rating, otherwise nobody."""
    return _PROVISIONAL if scoring.is_provisional(rating) else opponent


def _write(connection: sql.Connection, found: Recount) -> None:
    """Replace the rows that differ."""
    tables_of = {"rating": ratings, "result": results}
    for key in found.differences:
        table = tables_of[key[0]]
        names = ("person_id", "game") if key[0] == "rating" else ("game_id", "seat", "opponent_seat")
        here = [table.c[name] == value for name, value in zip(names, key[1:], strict=True)]
        connection.execute(table.delete().where(*here))
        if key in found.computed:
            connection.execute(table.insert().values(**found.computed[key]))
