"""Cookie sessions: random ids of 256 bits, of which only hashes are stored; idle and absolute expiry.

Fourteen days without a visit or ninety days after signing in end a session. This is longer than the half hour that
OWASP suggests for sensitive applications: an account here holds games and ratings, and no e-mail address.
"""

from __future__ import annotations

import hashlib
import secrets
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

import sqlalchemy as sql

from tabia.server.clock import Clock, later, parse
from tabia.server.database.schema import people, sessions
from tabia.server.errors import NotFound

IDLE, ABSOLUTE = timedelta(days=14), timedelta(days=90)
_SEEN = timedelta(hours=1)  # how exactly the last visit is known; more often would be a write per request


@dataclass(frozen=True)
class Session:
    """A session that is valid, and whose it is."""

    id_hash: str
    person: str
    name: str
    role: str


def digest(secret: str) -> str:
    """What is stored of a secret of 256 random bits; such secrets need no salt and no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def start(connection: sql.Connection, person: str, clock: Clock) -> str:
    """A new session; returns its id, which is nowhere else."""
    secret, now = secrets.token_urlsafe(32), clock.stamp()
    connection.execute(sessions.insert().values(id_hash=digest(secret), person_id=person, created=now, seen=now))
    return secret


def find(connection: sql.Connection, secret: str, clock: Clock) -> Session | None:
    """The session with an id, if it is valid; one that has expired is removed."""
    query = sql.select(sessions, people.c.name, people.c.role, people.c.banned).join(people)
    row = connection.execute(query.where(sessions.c.id_hash == digest(secret))).first()
    if row is None:
        return None
    now = clock.now()
    if parse(row.seen) + IDLE <= now or parse(row.created) + ABSOLUTE <= now or row.banned is not None:
        end(connection, row.id_hash)
        return None
    if parse(row.seen) + _SEEN <= now:
        connection.execute(sessions.update().where(sessions.c.id_hash == row.id_hash).values(seen=clock.stamp()))
    return Session(id_hash=row.id_hash, person=row.person_id, name=row.name, role=row.role)


def exists(connection: sql.Connection, id_hash: str) -> bool:
    """Whether a session has not ended."""
    return connection.execute(sql.select(sessions.c.id_hash).where(sessions.c.id_hash == id_hash)).first() is not None


def listed(connection: sql.Connection, person: str, current: str | None) -> list[dict[str, Any]]:
    """The sessions of a person; their ids are the beginnings of the hashes."""
    query = sql.select(sessions).where(sessions.c.person_id == person).order_by(sessions.c.created.desc())
    return [
        {"id": row.id_hash[:16], "created": row.created, "seen": row.seen, "current": row.id_hash == current}
        for row in connection.execute(query)
    ]


def end_one(connection: sql.Connection, person: str, id: str) -> None:
    """End a session of a person by its id in the list."""
    own = sql.select(sessions.c.id_hash).where(sessions.c.person_id == person)
    found = [held for held in connection.execute(own).scalars() if held[:16] == id]
    if not found:
        raise NotFound("There is no such session; it may have ended.")
    end(connection, found[0])


def end(connection: sql.Connection, id_hash: str) -> None:
    """End one session."""
    connection.execute(sessions.delete().where(sessions.c.id_hash == id_hash))


def end_all(connection: sql.Connection, person: str, *, but: str | None = None) -> None:
    """End the sessions of a person, except one by its hash."""
    query = sessions.delete().where(sessions.c.person_id == person)
    connection.execute(query if but is None else query.where(sessions.c.id_hash != but))


def remove_expired(connection: sql.Connection, clock: Clock) -> None:
    """Remove the sessions that nobody can use any more."""
    now = clock.now()
    idle, old = later(now, -IDLE.total_seconds()), later(now, -ABSOLUTE.total_seconds())
    connection.execute(sessions.delete().where((sessions.c.seen <= idle) | (sessions.c.created <= old)))
