"""Everything stored about a person: to take along, and to delete.

Deleting leaves the games, because others played them too: the seat has nobody's id and the name `deleted`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sql

from tabia.server.accounts import people as persons
from tabia.server.accounts import sessions as cookie_sessions
from tabia.server.accounts import tokens as person_tokens
from tabia.server.accounts.visitor import Role
from tabia.server.clock import Clock
from tabia.server.database.schema import games, invites, moves, people, ratings, results, seats, sessions, tokens
from tabia.server.database.store import DELETED, anonymized

_AT_ONCE = 500  # guests that are removed in one transaction


def export(connection: sql.Connection, person: str) -> dict[str, Any]:
    """All of a person's data; secrets are stored as hashes and are left out."""
    row = persons.get(connection, person)
    return {
        "account": {"name": row.name, "role": row.role, "created": row.created, "banned": row.banned},
        "sessions": [
            {"created": session["created"], "seen": session["seen"]}
            for session in cookie_sessions.listed(connection, person, None)
        ],
        "tokens": person_tokens.listed(connection, person),
        "bots": persons.bots(connection, person),
        "ratings": _rows(connection, sql.select(ratings).where(ratings.c.person_id == person), "person_id"),
        "results": _rows(
            connection,
            sql.select(results).where(results.c.person_id == person).order_by(results.c.id),
            *("id", "person_id", "opponent_person"),
        ),
        "games": _games(connection, person),
    }


def delete(connection: sql.Connection, *persons: str) -> list[str]:
    """Remove people and the bots they own; returns the ids that no longer exist."""
    owned = list(connection.execute(sql.select(people.c.id).where(people.c.owner_id.in_(persons))).scalars())
    gone = [*persons, *owned]
    _anonymize_games(connection, gone)
    connection.execute(results.update().where(results.c.person_id.in_(gone)).values(person_id=None))
    connection.execute(results.update().where(results.c.opponent_person.in_(gone)).values(opponent_person=None))
    connection.execute(invites.update().where(invites.c.used_by.in_(gone)).values(used_by=None))
    for table in (sessions, tokens, ratings):
        connection.execute(table.delete().where(table.c.person_id.in_(gone)))
    connection.execute(people.delete().where(people.c.id.in_(owned)))
    connection.execute(people.delete().where(people.c.id.in_(persons)))
    return gone


def remove_lost_guests(connection: sql.Connection, clock: Clock) -> list[str]:
    """Delete the guests whose sessions have ended, some of them if they are many: nobody can be them any more."""
    cookie_sessions.remove_expired(connection, clock)
    known = sql.select(sessions.c.person_id)
    query = sql.select(people.c.id).where(people.c.role == Role.GUEST.value, people.c.id.not_in(known))
    lost = list(connection.execute(query.limit(_AT_ONCE)).scalars())
    return delete(connection, *lost) if lost else []


def _anonymize_games(connection: sql.Connection, gone: Sequence[str]) -> None:
    """Take people's names out of their games: out of the seats, and out of the sentence about the result."""
    query = sql.select(seats.c.game_id, seats.c.name, games.c.result).join(games).where(seats.c.person_id.in_(gone))
    held: dict[str, Any] = {}
    for row in connection.execute(query.where(games.c.result.is_not(None), seats.c.name.is_not(None))):
        result = held.get(row.game_id) or json.loads(row.result)
        held[row.game_id] = anonymized(result, row.name)
    changed = [{"which": game, "text": json.dumps(result)} for game, result in held.items()]
    if changed:
        update = games.update().where(games.c.id == sql.bindparam("which")).values(result=sql.bindparam("text"))
        connection.execute(update, changed)
    connection.execute(seats.update().where(seats.c.person_id.in_(gone)).values(person_id=None, name=DELETED))


def _games(connection: sql.Connection, person: str) -> list[dict[str, Any]]:
    """The games of a person as they saw them: with the names at the other seats, without their ids."""
    own = sql.select(seats.c.game_id).where(seats.c.person_id == person)
    taken: dict[str, list[sql.Row[Any]]] = {}
    for row in connection.execute(sql.select(seats).where(seats.c.game_id.in_(own)).order_by(seats.c.seat)):
        taken.setdefault(row.game_id, []).append(row)
    actions: dict[str, list[int]] = {}
    for game, action in connection.execute(
        sql.select(moves.c.game_id, moves.c.action)
        .where(moves.c.game_id.in_(own))
        .order_by(moves.c.game_id, moves.c.ply)
    ):
        actions.setdefault(game, []).append(action)
    query = sql.select(games).where(games.c.id.in_(own)).order_by(games.c.created, games.c.id)
    return [_game(row, taken[row.id], actions.get(row.id, []), person) for row in connection.execute(query)]


def _game(row: sql.Row[Any], taken: list[sql.Row[Any]], actions: list[int], person: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "game": row.game,
        "rules": row.rules,
        "seed": row.seed,
        "created": row.created,
        "finished": row.finished_at,
        "rated": row.rated,
        "clock": None if row.clock is None else json.loads(row.clock),
        "ended_by": row.ended_by,
        "result": None if row.result is None else json.loads(row.result),
        "seats": json.loads(row.seats),
        "names": {str(seat.seat): seat.name for seat in taken},
        "yours": [seat.seat for seat in taken if seat.person_id == person],
        "actions": actions,
    }


def _rows(connection: sql.Connection, query: sql.Select[Any], *without: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if key not in without} for row in connection.execute(query).mappings()
    ]
