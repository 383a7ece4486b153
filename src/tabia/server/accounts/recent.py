"""Visitors of the last seconds: a request of somebody who was just here asks no database.

A lookup would wait for the commit under way, and so take longer than the rest of a move. Whatever changes accounts
forgets all of them; what another process changes (an operator's ban) counts after `SECONDS`.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from tabia.server.accounts.visitor import Visitor
from tabia.server.clock import Clock

SECONDS = 60.0
MOST = 4096


class Recent:
    """Visitors by the hash of their cookie or token."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: dict[str, tuple[float, Visitor]] = {}
        self.changes = 0  # how often accounts have changed

    def find(self, secret: str, address: str) -> Visitor | None:
        """The visitor with this secret, at the address of this request."""
        until, visitor = self._known.get(_digest(secret), (0.0, None))
        return replace(visitor, address=address) if visitor is not None and self._clock.monotonic() < until else None

    def keep(self, secret: str, visitor: Visitor, changes: int) -> None:
        """Remember a visitor who was looked up, unless accounts have changed since the lookup began."""
        if changes != self.changes:
            return
        if len(self._known) >= MOST:
            self._known.clear()
        self._known[_digest(secret)] = (self._clock.monotonic() + SECONDS, visitor)

    def clear(self) -> None:
        """Something about accounts has changed."""
        self.changes += 1
        self._known.clear()


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
