"""One game in memory: its newest version, those who follow it, and what is under way for it."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from tabia.server.play import state
from tabia.server.play.live import LiveGame, Search
from tabia.server.play.presence import Presence
from tabia.server.play.seats import Card
from tabia.server.play.watching import Follower


class OpenGame:
    """A game in memory; only the hub changes it."""

    def __init__(self, live: LiveGame, cards: Mapping[str, Card], shown: dict[str, Any], since: float) -> None:
        self.live, self.cards, self.shown = live, cards, shown
        self.lock = asyncio.Lock()
        self.followers: set[Follower] = set()
        self.presence = Presence(since)
        self.wanted: Search | None = None  # what is being searched
        self.searching: asyncio.Task[None] | None = None
        self.timer: asyncio.TimerHandle | None = None  # for the next end of a clock or of somebody's patience
        self.problem: str | None = None  # why an agent does not move
        self.rematch: str | None = None  # the id of the game that somebody offers
        self.rating_change: list[dict[str, Any] | None] | None = None
        self.doubtful = False  # a save failed, so the store may have a newer version

    @property
    def is_serious(self) -> bool:
        """Whether leaving loses: in games that count or have an opponent, once they have started."""
        return self.live.status in ("your move", "thinking") and (self.live.rated or self.live.opponents)

    @property
    def is_idle(self) -> bool:
        """Whether it can be dropped and read again from the store."""
        searches = self.searching is not None and not self.searching.done()
        return not (self.followers or self.lock.locked() or searches or self.timer is not None)

    def due(self) -> float | None:
        """When a clock ends or somebody has been away for too long, whichever is first."""
        clocks = self.live.clocks
        times = [None if clocks is None or self.live.over else clocks.deadline, *self._away()]
        return min((time for time in times if time is not None), default=None)

    def gone(self, now: float) -> int | None:
        """The seat of the person who has been away for too long, and the longest."""
        away = [(time, seat) for seat, time in zip(self.live.people, self._away(), strict=False) if time is not None]
        return min(away)[1] if away and min(away)[0] <= now else None

    def _away(self) -> list[float | None]:
        """When each person loses by being away, in the order of `people`."""
        if not self.is_serious:
            return []
        return [self.presence.due(self.live.seats[seat].person) for seat in self.live.people]

    def presence_dict(self, now: float) -> dict[str, Any]:
        """Who is there, and how many ms those who are not have left, per seat."""
        dues = dict(zip(self.live.people, self._away(), strict=False))
        there: list[bool | None] = []
        for seat, taken in enumerate(self.live.seats):
            known = seat in self.live.people and taken.person is not None
            there.append(self.presence.is_there(taken.person or "") if known else None)
        away = [
            None if (due := dues.get(seat)) is None else max(0, round(1000 * (due - now))) for seat in range(len(there))
        ]
        return {"presence": there, "away_ms": away}

    def state(self, *, now: float, person: str | None, limit_ms: int) -> dict[str, Any]:
        """The game as a person's screen shows it, without what the hub knows."""
        shown = self.shown | state.personal(self.live, now=now, person=person, limit_ms=limit_ms)
        rematch = self.rematch if shown["you"] else None
        return (
            shown
            | self.presence_dict(now)
            | {
                "problem": self.problem,
                "rematch": rematch,
                "rating_change": self.rating_change,
            }
        )
