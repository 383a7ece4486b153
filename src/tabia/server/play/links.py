"""Secret links to open seats: a code is derived from the game's id and the server's key; the store has its hash only.

So a link survives a restart, and nobody can guess one or read it in the table of games.
"""

from __future__ import annotations

import base64
import hashlib
import hmac

from tabia.server.database.database import Database
from tabia.server.database.settings import secret_key


class Links:
    """The codes of a server."""

    def __init__(self, database: Database) -> None:
        self._key = secret_key(database, "links")

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
