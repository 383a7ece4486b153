"""The clocks of a game: pure arithmetic on times that come from the server, never from a client.

Only people have clocks: how long an agent waits for a search depends on how many others play.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

GRACE_SECONDS = 30.0
"""What people get to come back after the server was down, before their clocks run and they count as gone."""
Remaining = tuple[int | None, ...]  # ms per seat; None for an agent


@dataclass(frozen=True)
class TimeControl:
    """How much time people have."""

    initial_s: int
    increment_s: int = 0  # added after every turn

    def to_dict(self) -> dict[str, int]:
        """For JSON."""
        return {"initial_s": self.initial_s, "increment_s": self.increment_s}


@dataclass(frozen=True)
class Clocks:
    """The times of all seats; `running` is the seat whose clock runs since `since` (seconds)."""

    control: TimeControl
    remaining: Remaining
    running: int | None = None
    since: float = 0.0

    @classmethod
    def new(cls, control: TimeControl, people: tuple[bool, ...]) -> Clocks:
        """Full clocks for the seats of people, stopped."""
        return cls(control, tuple(1000 * control.initial_s if person else None for person in people))

    def at(self, now: float) -> Remaining:
        """What everyone has left; a clock that starts in the future has not lost anything."""
        used = max(0, round(1000 * (now - self.since)))
        return tuple(
            max(0, left - used) if seat == self.running and left is not None else left
            for seat, left in enumerate(self.remaining)
        )

    def stop(self, now: float) -> Clocks:
        """All clocks as they stand."""
        return replace(self, remaining=self.at(now), running=None)

    def start(self, seat: int, now: float) -> Clocks:
        """Let one seat's clock run, where it has one; a seat that moves again continues without an increment."""
        if seat == self.running:
            return replace(self, remaining=self.at(now), since=now)
        left = list(self.stop(now).remaining)
        if self.running is not None and (before := left[self.running]) is not None:
            left[self.running] = before + 1000 * self.control.increment_s
        return replace(self, remaining=tuple(left), running=None if left[seat] is None else seat, since=now)

    @property
    def deadline(self) -> float | None:
        """When the running clock reaches zero."""
        if self.running is None:
            return None
        left = self.remaining[self.running]
        assert left is not None
        return self.since + left / 1000

    def flagged(self, now: float) -> int | None:
        """The seat whose time is over."""
        return self.running if self.running is not None and self.at(now)[self.running] == 0 else None
