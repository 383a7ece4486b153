"""Secret links to open seats: a code is derived from the game's id and the server's key; the store has its hash only.

So a link survives a restart, and nobody can guess one or read it in the table of games.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

import sqlalchemy as sql

from tabia.server.database.database import Database
from tabia.server.database.schema import settings

_KEY = "links"  # the name of the key among the settings


class Links:
    """The codes of a server."""

    def __init__(self, database: Database) -> None:
        self._key = _stored_key(database)

    def code(self, id: str) -> str:
        """The code that lets somebody take an open seat of a game: 22 characters, 132 bits."""
        found = hmac.new(self._key, id.encode(), hashlib.sha256).digest()
        return base64.urlsafe_b64encode(found)[:22].decode()


def digest(code: str) -> str:
    """The hash of a code, as it is stored."""
    return hashlib.sha256(code.encode()).hexdigest()


def path(code: str) -> str:
    """Where the page takes a seat; the code is behind `#`, so it is in no log and no Referer."""
    return f"/#/play?join={code}"


def _stored_key(database: Database) -> bytes:
    """The key of the server, made at the first start."""
    query = sql.select(settings.c.value).where(settings.c.key == _KEY)
    with database.transaction() as connection:
        held = connection.execute(query).scalar()
        if held is None:
            held = secrets.token_hex(32)
            connection.execute(settings.insert().values(key=_KEY, value=held))
    return bytes.fromhex(str(held))
