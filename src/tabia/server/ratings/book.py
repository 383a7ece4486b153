"""The ratings of a server: written in the transaction of the move that ended a game, and read for the page.

A game is rated once. If its transaction is tried again, the results are there already and nothing changes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import sqlalchemy as sql

from tabia.server.catalog.catalog import Catalog
from tabia.server.database.database import Database
from tabia.server.database.schema import results
from tabia.server.database.store import Saved
from tabia.server.ratings import rated_games, tables
from tabia.server.ratings.rated_games import RatedGame
from tabia.server.ratings.scoring import Pairing
from tabia.server.ratings.settling import PairOpponent, PersonRating, settle
from tabia.server.ratings.tables import FinishedRow


@dataclass(frozen=True)
class Change:
    """What a game did to the rating of a seat."""

    before: float
    after: float
    deviation: float  # after


def find_opponent(rated: RatedGame, row: FinishedRow, pairing: Pairing) -> PairOpponent | None:
    """The opponent of a pair by the ladder: an agent with its fixed rating, or a person."""
    agent, person = row.agents[pairing.opponent], row.outcome.people[pairing.opponent]
    rating = None if agent is None else rated.agent_rating(agent)
    if rating is None and person is None:
        return None
    advantage = rated.ladder.seat_advantage(pairing.seat, pairing.opponent)
    return PairOpponent(rating, agent=agent, advantage=advantage)


class Ratings:
    """The ratings of people in all games."""

    def __init__(self, catalog: Catalog, database: Database) -> None:
        self.catalog, self.database = catalog, database

    def finish(self, connection: sql.Connection, saved: Saved) -> list[Change | None]:
        """Rate a finished game, within the transaction that stored it; what it did to each seat."""
        rated = rated_games.find(self.catalog, saved.game)
        found = tables.finished_games(connection, id=saved.id)
        if rated is None or not found:
            return []
        row = found[0]
        done = _changes(connection, row)
        if any(done):
            return done
        tables.keep_people(connection, row.outcome.people)
        before = dict.fromkeys(filter(None, row.outcome.people), PersonRating(rated.start))
        before |= tables.person_ratings(connection, before, row.game)
        points_gained = partial(tables.points_gained, connection, row.game, row.outcome.time[:10])
        pairs, after = settle(row.outcome, before, partial(find_opponent, rated, row), points_gained)
        if pairs:
            connection.execute(results.insert(), [tables.result_fields(row, pair) for pair in pairs])
            tables.write_ratings(connection, row.game, after)
        return _changes(connection, row)

    def changes(self, game_id: str) -> list[Change | None] | None:
        """What a finished game did to each seat; None if it is not rated or not over."""
        with self.database.transaction() as connection:
            found = tables.finished_games(connection, id=game_id)
            return _changes(connection, found[0]) if found else None

    def of(self, person: str, game: str) -> tuple[float, float] | None:
        """A person's rating and deviation in a game."""
        with self.database.transaction() as connection:
            found = tables.person_ratings(connection, [person], game).get(person)
        return None if found is None else (found.rating.rating, found.rating.deviation)


def _changes(connection: sql.Connection, row: FinishedRow) -> list[Change | None]:
    query = sql.select(results).where(results.c.game_id == row.id).order_by(results.c.seat, results.c.opponent_seat)
    pairs = connection.execute(query).all()
    return [_change([pair for pair in pairs if pair.seat == seat]) for seat in range(len(row.agents))]


def _change(pairs: Sequence[sql.Row[tuple[object, ...]]]) -> Change | None:
    if not pairs:
        return None
    return Change(pairs[0].rating_before, pairs[-1].rating_after, pairs[-1].deviation_after)
