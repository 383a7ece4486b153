"""Time from one place, so that tests move it by hand: UTC for what is stored, a monotonic clock for durations."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta


class Clock:
    """The clock of this computer."""

    def now(self) -> datetime:
        """The time in UTC."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds since some moment; never goes back."""
        return time.monotonic()

    def stamp(self) -> str:
        """The time as it is stored."""
        return stamp(self.now())


class ManualClock(Clock):
    """A clock that stands still until `advance` is called.

    >>> clock = ManualClock()
    >>> clock.advance(90.5)
    >>> clock.stamp(), clock.monotonic()
    ('2026-01-01T00:01:30.500+00:00', 90.5)
    """

    def __init__(self, start: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self._start, self._passed = start, 0.0

    def now(self) -> datetime:
        """The start and what has passed since."""
        return self._start + timedelta(seconds=self._passed)

    def monotonic(self) -> float:
        """Seconds since the start."""
        return self._passed

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._passed += seconds


def stamp(time: datetime) -> str:
    """A time as ISO 8601 in UTC with milliseconds; the order of such texts is the order of the times."""
    return time.astimezone(UTC).isoformat(timespec="milliseconds")


def later(time: datetime, seconds: float) -> str:
    """The stamp of a moment some seconds later; earlier if negative."""
    return stamp(time + timedelta(seconds=seconds))


def parse(text: str) -> datetime:
    """The time of a stamp."""
    return datetime.fromisoformat(text)
