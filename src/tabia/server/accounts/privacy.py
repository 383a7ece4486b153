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
        "games": [_game(connection, number, person) for number in _games(connection, person)],
    }


def delete(connection: sql.Connection, person: str) -> list[str]:
    """Remove a person and the bots they own; returns the ids that no longer exist."""
    owned = list(connection.execute(sql.select(people.c.id).where(people.c.owner_id == person)).scalars())
    gone = [person, *owned]
    _anonymize_games(connection, gone)
    connection.execute(results.update().where(results.c.person_id.in_(gone)).values(person_id=None))
    connection.execute(results.update().where(results.c.opponent_person.in_(gone)).values(opponent_person=None))
    connection.execute(invites.update().where(invites.c.used_by.in_(gone)).values(used_by=None))
    for table in (sessions, tokens, ratings):
        connection.execute(table.delete().where(table.c.person_id.in_(gone)))
    connection.execute(people.delete().where(people.c.id.in_(owned)))
    connection.execute(people.delete().where(people.c.id == person))
    return gone


def remove_lost_guests(connection: sql.Connection, clock: Clock) -> list[str]:
    """Delete the guests whose sessions have ended: nobody can be them any more."""
    cookie_sessions.remove_expired(connection, clock)
    known = sql.select(sessions.c.person_id)
    query = sql.select(people.c.id).where(people.c.role == Role.GUEST.value, people.c.id.not_in(known))
    lost = list(connection.execute(query).scalars())
    for person in lost:
        delete(connection, person)
    return lost


def _anonymize_games(connection: sql.Connection, gone: Sequence[str]) -> None:
    """Take people's names out of their games: out of the seats, and out of the sentence about the result."""
    query = sql.select(seats.c.game_id, seats.c.seat, seats.c.name, games.c.result).join(games)
    for row in connection.execute(query.where(seats.c.person_id.in_(gone))).all():
        if row.result is not None and row.name:
            held = connection.execute(sql.select(games.c.result).where(games.c.id == row.game_id)).scalar_one()
            text = json.dumps(anonymized(json.loads(held), row.name))
            connection.execute(games.update().where(games.c.id == row.game_id).values(result=text))
    connection.execute(seats.update().where(seats.c.person_id.in_(gone)).values(person_id=None, name=DELETED))


def _games(connection: sql.Connection, person: str) -> list[str]:
    query = sql.select(games.c.id).join(seats).where(seats.c.person_id == person).order_by(games.c.created, games.c.id)
    return list(dict.fromkeys(connection.execute(query).scalars()))


def _game(connection: sql.Connection, id: str, person: str) -> dict[str, Any]:
    """A game as the person saw it: with the names at the other seats, without their ids."""
    row = connection.execute(sql.select(games).where(games.c.id == id)).one()
    taken = connection.execute(sql.select(seats).where(seats.c.game_id == id).order_by(seats.c.seat)).all()
    actions = sql.select(moves.c.action).where(moves.c.game_id == id).order_by(moves.c.ply)
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
        "actions": list(connection.execute(actions).scalars()),
    }


def _rows(connection: sql.Connection, query: sql.Select[Any], *without: str) -> list[dict[str, Any]]:
    return [
        {key: value for key, value in row.items() if key not in without} for row in connection.execute(query).mappings()
    ]
