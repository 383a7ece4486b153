"""What the server refuses: each error has a status and one sentence that says what to do."""

from __future__ import annotations

from typing import Any

from tabia.core.errors import TabiaError
from tabia.core.text import printable


class ServerError(TabiaError):
    """A request that cannot be served."""

    status = 400
    retry_after: float | None = None  # seconds

    @property
    def extra(self) -> dict[str, Any]:
        """Further members of the problem that clients get."""
        return {}


class NotFound(ServerError):
    """No such game, agent, run or page."""

    status = 404


class Stale(ServerError):
    """A request for a position that has passed; carries the state as it is now."""

    status = 409

    def __init__(self, message: str, state: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.state = state

    @property
    def extra(self) -> dict[str, Any]:
        """The state, if it is known."""
        return {} if self.state is None else {"state": self.state}


class Refused(ServerError):
    """A request that the rules or the state of a game do not allow; `field` is what was wrong in a form."""

    status = 422

    def __init__(self, message: str, field: str | None = None) -> None:
        super().__init__(message)
        self.field = field

    @property
    def extra(self) -> dict[str, Any]:
        """The field, if it is known."""
        return {} if self.field is None else {"field": self.field}


class Forbidden(ServerError):
    """A request from a foreign website, to a foreign name, or by somebody who may not do this."""

    status = 403


class Unauthorized(ServerError):
    """A request that needs to know who asks."""

    status = 401


class Busy(ServerError):
    """More work is waiting than the server accepts."""

    status = 429
    retry_after = 5.0

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        if retry_after is not None:
            self.retry_after = retry_after


class StoreError(ServerError):
    """A database that cannot be used, or not any more."""

    status = 507


class Unavailable(StoreError):
    """The database does not answer at this moment; nothing is known to be saved."""

    status = 503
    retry_after = 2.0


_MOST_MOVES = 200  # characters of the legal moves that a sentence lists


def sentence(error: Exception) -> str:
    r"""An error for a screen: without the drawing of the board, the legal moves cut short.

    >>> sentence(Refused("Move 1: 'x' is not legal here:\n. . .\nLegal moves: 1 2 3"))
    "Move 1: 'x' is not legal here. Legal moves: 1 2 3."
    """
    first, *rest = str(error).splitlines() or [""]
    legal = next((line for line in rest if line.startswith("Legal moves: ")), "")
    if len(legal) > _MOST_MOVES:
        legal = f"{legal[:_MOST_MOVES].rpartition(' ')[0]} and more"
    text = " ".join(f"{part.rstrip('.:')}." for part in (first, legal) if part)
    return printable(text)[:1000]
