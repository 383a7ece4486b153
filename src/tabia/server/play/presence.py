"""Who is at a game: a person is there with a screen or a stream, and otherwise was last seen with a request.

Pure: the time comes in as `now`, in seconds.
"""

from __future__ import annotations

from collections import Counter

ABANDONED_SECONDS = 60.0
"""How long a person may be away before the game is lost."""


class Presence:
    """The people of one game; those who were never seen count as seen at `since`."""

    def __init__(self, since: float) -> None:
        self._since = since
        self._screens: Counter[str] = Counter()
        self._seen: dict[str, float] = {}

    def arrive(self, person: str) -> bool:
        """A person opens a screen or a stream; whether it is the first."""
        self._screens[person] += 1
        return self._screens[person] == 1

    def leave(self, person: str, now: float) -> bool:
        """A person closes one; whether it was the last."""
        self._screens[person] -= 1
        self.see(person, now)
        return not self.is_there(person)

    def see(self, person: str, now: float) -> None:
        """A person sent a request."""
        self._seen[person] = max(now, self._seen.get(person, self._since))

    def is_there(self, person: str) -> bool:
        """Whether a person has a screen or a stream."""
        return self._screens[person] > 0

    def due(self, person: str | None) -> float | None:
        """When an absent person loses; None for one who is there."""
        if person is None:  # the account was deleted
            return self._since + ABANDONED_SECONDS
        return None if self.is_there(person) else self._seen.get(person, self._since) + ABANDONED_SECONDS
