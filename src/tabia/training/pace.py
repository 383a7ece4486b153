"""How fast a run goes and how long it still takes."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import dataclass, field

from tabia.training.config.schema import Config
from tabia.training.state import Counters

_RECENT = 30.0  # seconds that "recent" means, or one iteration where that takes longer


@dataclass(frozen=True)
class Mark:
    """The counters after an iteration."""

    iteration: int
    seconds: float
    games: int
    positions: int


@dataclass
class Pace:
    """Rates over the last half minute, from the counters after each iteration."""

    marks: deque[Mark] = field(default_factory=deque)
    met: float = field(default_factory=time.monotonic)  # when the newest mark was made

    def note(self, counters: Counters, *, afresh: bool = False) -> None:
        """Before the first iteration and after each; `afresh` after one that compiled, whose time tells nothing."""
        if afresh:
            self.marks.clear()
        self.marks.append(Mark(counters.iteration, counters.seconds, counters.games, counters.positions))
        self.met = time.monotonic()
        while len(self.marks) > 2 and self.marks[1].seconds < self.marks[-1].seconds - _RECENT:
            self.marks.popleft()

    def rate(self, what: str) -> float | None:
        """Of `games`, `positions` or `iteration`, a second; None before two marks."""
        if len(self.marks) < 2:
            return None
        first, last = self.marks[0], self.marks[-1]
        return (getattr(last, what) - getattr(first, what)) / max(last.seconds - first.seconds, 1e-9)

    @property
    def elapsed(self) -> float:
        """Seconds the run has taken by now, between iterations too."""
        return self.marks[-1].seconds + time.monotonic() - self.met if self.marks else 0.0

    def left(self, config: Config) -> float | None:
        """Seconds to the end: by the clock where minutes are given, otherwise at the recent pace."""
        if config.minutes:
            return max(0.0, 60 * config.minutes - self.elapsed)
        pace = self.rate("iteration")
        if not pace:
            return None
        return max(0.0, (config.iterations - self.marks[-1].iteration) / pace - (time.monotonic() - self.met))
