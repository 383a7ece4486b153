"""Invitations: one account each, for some days."""

from __future__ import annotations

import secrets

import sqlalchemy as sql

from tabia.server.accounts.sessions import digest
from tabia.server.clock import Clock, later
from tabia.server.database.schema import invites

DAYS = 14
"""How long an invitation is valid."""


def create(connection: sql.Connection, clock: Clock, days: float = DAYS) -> str:
    """A new invitation; the code in the answer is its only copy."""
    code, now = secrets.token_urlsafe(16), clock.now()
    row = {"hash": digest(code), "created": clock.stamp(), "expires": later(now, 86400 * days)}
    connection.execute(invites.insert().values(**row))
    return code


def is_valid(connection: sql.Connection, code: str, clock: Clock) -> bool:
    """Whether an invitation can be used."""
    query = sql.select(invites.c.expires).where(invites.c.hash == digest(code), invites.c.used.is_(None))
    expires = connection.execute(query).scalar()
    return expires is not None and clock.stamp() < expires


def use(connection: sql.Connection, code: str, person: str, clock: Clock) -> None:
    """Remember whose account came of an invitation."""
    fields = {"used_by": person, "used": clock.stamp()}
    connection.execute(invites.update().where(invites.c.hash == digest(code)).values(**fields))
