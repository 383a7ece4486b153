"""What live games need from the ratings of people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import sqlalchemy as sql

from tabia.server.database.store import Saved


class Change(Protocol):
    """What a rated game did to the rating of one seat."""

    @property
    def before(self) -> float:
        """The rating before."""

    @property
    def after(self) -> float:
        """The rating after."""

    @property
    def deviation(self) -> float:
        """The deviation after."""


class RatingBook(Protocol):
    """The ratings of a server."""

    def finish(self, connection: sql.Connection, saved: Saved) -> Sequence[Change | None]:
        """Rate a finished game within the transaction that ends it; a second time nothing changes."""

    def changes(self, game_id: str) -> Sequence[Change | None] | None:
        """What a finished game did, from the database."""

    def of(self, person: str, game: str) -> tuple[float, float] | None:
        """A person's rating and deviation in a game."""


def change_dicts(changes: Sequence[Change | None]) -> list[dict[str, Any] | None]:
    """Changes for JSON, per seat, in whole points."""
    return [
        None
        if change is None
        else {
            "before": round(change.before),
            "after": round(change.after),
            "deviation": round(change.deviation),
            "change": round(change.after) - round(change.before),
        }
        for change in changes
    ]
