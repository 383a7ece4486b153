"""Stopping in the middle of an iteration: another thread can save the run as it was before that iteration.

An iteration may be one compiled program that runs for minutes. A caller that cannot wait saves the run as it was before
the iteration, and a resumed run repeats it exactly. The training thread holds a lock, except while it computes for long
without changing what a rollback needs; a thread that acquires the lock then has taken over the run.
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
    """An iteration that cannot be interrupted."""

    def computing(self) -> AbstractContextManager[None]:
        """Wrap anything that takes long."""
        return nullcontext()

    def added(self, turn: int, buffer: ReplayBuffer, before: Overwritten) -> None:
        """Note that the replay buffer of this board is now `buffer`, which overwrote `before`."""


class Guard(Unguarded):
    """Keeps what is needed to restore a run to the start of the current iteration."""

    def __init__(self) -> None:
        self.lock = Lock()  # held by the training thread, except while it is `computing`
        self._before: tuple[State, Counters] | None = None  # None between two iterations
        self._added: tuple[int, ReplayBuffer, Overwritten] | None = None

    @contextmanager
    def computing(self) -> Iterator[None]:
        """Let another thread take over the run meanwhile; then this thread never leaves the block."""
        self.lock.release()
        try:
            yield
        finally:
            self.lock.acquire()

    @contextmanager
    def iteration(self, state: State, counters: Counters) -> Iterator[None]:
        """Wrap an iteration that starts from these."""
        self._before = state, replace(counters)
        try:
            yield
        finally:
            self._before = self._added = None

    def added(self, turn: int, buffer: ReplayBuffer, before: Overwritten) -> None:
        self._added = turn, buffer, before

    def restored(self) -> tuple[State, Counters] | None:
        """The run before the current iteration, None between two; a changed replay buffer is restored in NumPy."""
        if self._before is None or self._added is None:
            return self._before
        (state, counters), (turn, buffer, before) = self._before, self._added
        boards = list(state.boards)
        boards[turn] = boards[turn]._replace(buffer=replay.without(buffer, before))
        return state._replace(boards=tuple(boards)), counters
