"""Tokens for programs: shown once, stored as hashes, limited to scopes; bots are people that only tokens can be."""

from __future__ import annotations

import json
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sql

from tabia.server.accounts.sessions import digest
from tabia.server.clock import Clock, parse
from tabia.server.database.schema import people, tokens
from tabia.server.errors import NotFound, Refused

PREFIX = "tabia_"  # so that a token is recognized where it was published by accident
MOST = 20
"""Tokens of one person."""
_USED = timedelta(hours=1)  # how exactly the last use is known


@dataclass(frozen=True)
class Grant:
    """What a valid token stands for."""

    person: str
    name: str
    role: str
    scopes: frozenset[str]


def create(connection: sql.Connection, person: str, label: str, scopes: list[str], clock: Clock) -> dict[str, Any]:
    """A new token; `token` in the answer is its only copy."""
    count = sql.select(sql.func.count()).select_from(tokens).where(tokens.c.person_id == person)
    if (connection.execute(count).scalar() or 0) >= MOST:
        raise Refused(f"You have {MOST} tokens; remove one that you do not use.")
    token = PREFIX + secrets.token_urlsafe(32)
    row = {"id": secrets.token_urlsafe(9), "label": label, "created": clock.stamp(), "used": None}
    scopes = sorted(set(scopes))
    connection.execute(tokens.insert().values(**row, hash=digest(token), person_id=person, scopes=json.dumps(scopes)))
    return {**row, "scopes": scopes, "token": token}


def find(connection: sql.Connection, token: str, clock: Clock) -> Grant | None:
    """What a token stands for, if it is valid."""
    query = sql.select(tokens, people.c.name, people.c.role).join(people, tokens.c.person_id == people.c.id)
    query = query.where(tokens.c.hash == digest(token), people.c.banned.is_(None))
    row = connection.execute(query).first()
    if row is None:
        return None
    if row.used is None or parse(row.used) + _USED <= clock.now():
        connection.execute(tokens.update().where(tokens.c.id == row.id).values(used=clock.stamp()))
    return Grant(person=row.person_id, name=row.name, role=row.role, scopes=frozenset(json.loads(row.scopes)))


def listed(connection: sql.Connection, person: str) -> list[dict[str, Any]]:
    """The tokens of a person, without the secrets."""
    query = sql.select(tokens).where(tokens.c.person_id == person).order_by(tokens.c.created, tokens.c.id)
    return [
        {"id": row.id, "label": row.label, "scopes": json.loads(row.scopes), "created": row.created, "used": row.used}
        for row in connection.execute(query)
    ]


def remove(connection: sql.Connection, person: str, id: str) -> None:
    """End one token of a person."""
    found = connection.execute(tokens.delete().where(tokens.c.person_id == person, tokens.c.id == id))
    if found.rowcount == 0:
        raise NotFound("You have no such token.")
