"""Secrets of a server, made at its first start and kept in its database."""

from __future__ import annotations

import secrets

import sqlalchemy as sql

from tabia.server.database.database import AdvisoryLock, Database
from tabia.server.database.schema import settings


def secret_key(database: Database, name: str) -> bytes:
    """The key with a name: 256 random bits."""
    query = sql.select(settings.c.value).where(settings.c.key == f"secret {name}")
    with database.transaction() as connection:
        database.acquire(connection, AdvisoryLock.NAMES)
        held = connection.execute(query).scalar()
        if held is None:
            held = secrets.token_hex(32)
            connection.execute(settings.insert().values(key=f"secret {name}", value=held))
    return bytes.fromhex(str(held))
