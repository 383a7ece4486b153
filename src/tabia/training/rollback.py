"""Stopping in the middle of an iteration: the run as it was before it, so that another thread can save that.

An iteration may be one compiled program that runs for minutes. Whoever cannot wait for it saves the run as it was
before the iteration, which a resumed run then repeats exactly. The thread that trains holds a lock except where it
computes for long and changes nothing of that; taking the lock there takes the run over.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from threading import Lock

from tabia.training.selfplay import replay
from tabia.training.selfplay.replay import Overwritten, ReplayBuffer
from tabia.training.state import Counters, State


class Unguarded:
    """An iteration that nobody interrupts."""

    def computing(self) -> AbstractContextManager[None]:
        """Around anything that takes long."""
        return nullcontext()

    def added(self, turn: int, buffer: ReplayBuffer, before: Overwritten) -> None:
        """The replay of this board became `ring`, which overwrote `before`."""


class Guard(Unguarded):
    """Keeps what is needed to restore a run as it was before the running iteration."""

    def __init__(self) -> None:
        self.lock = Lock()  # held by the thread that trains, except while it is `computing`
        self._before: tuple[State, Counters] | None = None  # None between two iterations
        self._added: tuple[int, ReplayBuffer, Overwritten] | None = None

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Let another thread take the run over meanwhile, after which this thread never leaves the block."""
        self.lock.release()
        try:
            yield
        finally:
            self.lock.acquire()

    @contextmanager
    def iteration(self, state: State, counters: Counters) -> Iterator[None]:
        """Around an iteration that begins with these."""
        self._before = state, replace(counters)
        try:
            yield
        finally:
            self._before = self._added = None

    def added(self, turn: int, buffer: ReplayBuffer, before: Overwritten) -> None:
        self._added = turn, buffer, before

    def restored(self) -> tuple[State, Counters] | None:
        """The run before the running iteration, its replay in NumPy if that had changed; None between two."""
        if self._before is None or self._added is None:
            return self._before
        (state, counters), (turn, buffer, before) = self._before, self._added
        boards = list(state.boards)
        boards[turn] = boards[turn]._replace(buffer=replay.without(buffer, before))
        return state._replace(boards=tuple(boards)), counters
