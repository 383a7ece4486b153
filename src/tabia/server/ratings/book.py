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
from tabia.server.ratings.settling import Held, Met, settle
from tabia.server.ratings.tables import FinishedRow


@dataclass(frozen=True)
class Change:
    """What a game did to the rating of a seat."""

    before: float
    after: float
    deviation: float  # after


def meet(rated: RatedGame, row: FinishedRow, pairing: Pairing) -> Met | None:
    """The opponent of a pair by the ladder: an agent with its fixed rating, or a person."""
    agent, person = row.agents[pairing.opponent], row.finished.people[pairing.opponent]
    rating = None if agent is None else rated.agent_rating(agent)
    if rating is None and person is None:
        return None
    advantage = rated.ladder.seat_advantage(pairing.seat, pairing.opponent)
    return Met(rating, agent=agent, advantage=advantage)


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
        tables.keep_people(connection, row.finished.people)
        held = dict.fromkeys(filter(None, row.finished.people), Held(rated.start))
        held |= tables.held(connection, held, row.game)
        day = row.finished.time[:10]
        gained = partial(tables.gained, connection, row.game, day)
        settled, after = settle(row.finished, held, partial(meet, rated, row), gained)
        if settled:
            connection.execute(results.insert(), [tables.result_fields(row, one) for one in settled])
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
            found = tables.held(connection, [person], game).get(person)
        return None if found is None else (found.rating.rating, found.rating.deviation)


def _changes(connection: sql.Connection, row: FinishedRow) -> list[Change | None]:
    query = sql.select(results).where(results.c.game_id == row.id).order_by(results.c.seat, results.c.opponent_seat)
    pairs = connection.execute(query).all()
    return [_change([pair for pair in pairs if pair.seat == seat]) for seat in range(len(row.agents))]


def _change(pairs: Sequence[sql.Row[tuple[object, ...]]]) -> Change | None:
    if not pairs:
        return None
    return Change(pairs[0].rating_before, pairs[-1].rating_after, pairs[-1].deviation_after)
