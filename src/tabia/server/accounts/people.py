"""The rows of people: found, made, changed and listed, inside a transaction of the caller."""

from __future__ import annotations

import secrets
from typing import Any

import sqlalchemy as sql

from tabia.server.accounts import names
from tabia.server.accounts.visitor import Role
from tabia.server.clock import Clock
from tabia.server.database.schema import people, ratings, seats
from tabia.server.errors import NotFound, Refused

MOST_BOTS = 5
"""Bots of one member."""


def find(connection: sql.Connection, name: str) -> sql.Row[Any] | None:
    """The person with a name; guests have none."""
    return connection.execute(sql.select(people).where(people.c.name_key == names.key(name))).first()


def get(connection: sql.Connection, person: str) -> sql.Row[Any]:
    """The person with an id."""
    found = connection.execute(sql.select(people).where(people.c.id == person)).first()
    if found is None:
        raise NotFound("This account has been deleted.")
    return found


def locked(connection: sql.Connection, person: str) -> sql.Row[Any] | None:
    """The person with an id, whom nobody else changes before the transaction ends; SQLite does that by itself."""
    query = sql.select(people).where(people.c.id == person).with_for_update(key_share=True)
    return connection.execute(query).first()


def add(
    connection: sql.Connection, *, name: str, role: Role, clock: Clock, password: str | None = None, **more: Any
) -> str:
    """A new person; returns the id."""
    person = secrets.token_urlsafe(12)
    key = None if role == Role.GUEST else names.key(name)
    fields = {"id": person, "name": name, "name_key": key, "role": role.value, "password": password, **more}
    connection.execute(people.insert().values(**fields, created=clock.stamp()))
    return person


def claim(connection: sql.Connection, guest: str, name: str, password: str) -> None:
    """A guest becomes a member; games and ratings stay, under the new name."""
    fields = {"name": name, "name_key": names.key(name), "password": password, "role": Role.MEMBER.value}
    connection.execute(people.update().where(people.c.id == guest).values(**fields))
    connection.execute(seats.update().where(seats.c.person_id == guest).values(name=name))


def change(connection: sql.Connection, person: str, **fields: Any) -> None:
    """Write some fields of a person."""
    connection.execute(people.update().where(people.c.id == person).values(**fields))


def check_free(connection: sql.Connection, name: str) -> None:
    """Refuse a name that somebody has; names are public, so this says nothing that a visitor could not see."""
    if find(connection, name) is not None:
        raise Refused("Somebody has this name already; choose another.", field="name")


def bots(connection: sql.Connection, owner: str) -> list[dict[str, Any]]:
    """The bots of a member."""
    query = sql.select(people).where(people.c.owner_id == owner).order_by(people.c.created, people.c.id)
    return [{"id": row.id, "name": row.name, "created": row.created} for row in connection.execute(query)]


def rating_summary(connection: sql.Connection, person: str) -> list[dict[str, Any]]:
    """The ratings of a person, by game."""
    query = sql.select(ratings).where(ratings.c.person_id == person).order_by(ratings.c.game)
    return [
        {"game": row.game, "rating": row.rating, "deviation": row.deviation, "games": row.games}
        for row in connection.execute(query)
    ]
