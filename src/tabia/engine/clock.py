"""Clocks: how much of the time left a move may take."""

from __future__ import annotations

MOVES_LEFT = 30
"""The moves that the time left should last for, if the time control does not say."""
LAG = 0.1
"""Seconds that a program may lose between its clock and ours."""
_LEAST = 0.01
_INCREMENT = 0.8  # the part of the increment that is spent


def allot(left: float, *, increment: float = 0.0, moves: int | None = None) -> float:
    """Seconds for the next move, if `left` seconds remain for `moves` moves and each move adds an increment.

    >>> allot(60.0), allot(60.0, moves=1), allot(0.05)
    (2.0, 59.9, 0.01)
    """
    share = left / max(moves or MOVES_LEFT, 1) + _INCREMENT * increment
    return max(min(share, left - LAG), _LEAST)


class GtpClocks:
    """The clocks of both seats by GTP's time control: a main time, then a time for every few stones."""

    def __init__(self) -> None:
        self._start: tuple[float, int] | None = None
        self._left: dict[int, tuple[float, int]] = {}  # seconds by seat, and for how many stones; 0: for all

    def settings(self, main: float, extra: float, stones: int) -> None:
        """Set the time control; an extra time for no stones means no limit."""
        is_limited = main > 0 or (extra > 0 and stones > 0)
        self._start = ((main, 0) if main > 0 else (extra, stones)) if is_limited else None
        self.restart()

    def restart(self) -> None:
        """Begin a new game."""
        self._left = {} if self._start is None else dict.fromkeys((0, 1), self._start)

    def set_left(self, seat: int, seconds: float, stones: int) -> None:
        """Set the clock of a seat."""
        self._left[seat] = (seconds, stones)

    def seconds(self, seat: int) -> float | None:
        """What the next move of a seat may take; None without a limit."""
        if seat not in self._left:
            return None
        left, stones = self._left[seat]
        return allot(left, moves=stones or None)

    def spend(self, seat: int, seconds: float) -> None:
        """Let a seat's clock run for a move."""
        if seat in self._left:
            left, stones = self._left[seat]
            self._left[seat] = (max(left - seconds, 0.0), max(stones - 1, 1) if stones else 0)
