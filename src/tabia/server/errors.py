"""What the server refuses: each error has a status and one sentence that says what to do."""

from __future__ import annotations

from typing import Any

from tabia.core.errors import TabiaError


class ServerError(TabiaError):
    """A request that cannot be served."""

    status = 400


class NotFound(ServerError):
    """No such game, agent, run or page."""

    status = 404


class Stale(ServerError):
    """A request for a position that has passed; carries the state as it is now."""

    status = 409

    def __init__(self, message: str, state: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.state = state


class Refused(ServerError):
    """A request that the rules or the state of a game do not allow."""

    status = 422


class Forbidden(ServerError):
    """A request from a foreign website, or to a foreign name."""

    status = 403


class Busy(ServerError):
    """More work is waiting than the server accepts."""

    status = 429
