"""Actors in this process, which die on request: a launcher for pools without Ray."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from tabia.cluster.actors import identify
from tabia.cluster.connection import Node
from tabia.cluster.jobs import JobAnswer, JobTask, Runner, completed
from tabia.cluster.placement import Need, Placement
from tabia.cluster.pool import Event, Failure, Pool, Seat
from tabia.cluster.workers import JobActor, MakeWork

NODES = [Node("a" * 8, "10.0.0.1", 2.0, 0.0, 0), Node("b" * 8, "10.0.0.2", 2.0, 0.0, 0)]


class InProcess:
    """Does the jobs of its actors in this process, the newest first; `dies(number)` says which calls kill the actor."""

    def __init__(self, make: MakeWork, common: Any, dies: Callable[[int], bool] = lambda number: False) -> None:
        self._make, self._common, self._dies = make, common, dies
        self._calls: list[tuple[Any, JobTask | None]] = []
        self.played: list[int] = []  # the keys of all jobs that were started

    def nodes(self) -> list[Node]:
        return NODES

    def start(self, node: Node) -> object:
        actor = JobActor(self._make)
        self._calls.append((actor, None))
        return actor

    def play(self, actor: Any, task: JobTask) -> None:
        self._calls.append((actor, copy.deepcopy(task)))  # as if it had been sent

    def stop(self, actor: object) -> None:
        self._calls = [call for call in self._calls if call[0] is not actor]

    def events(self, seconds: float) -> list[Event]:
        if not self._calls:
            return []
        actor, task = self._calls.pop()
        if task is None:
            return [Event(actor, actor.hello(()))]
        self.played.append(task.key)
        if self._dies(len(self.played)):
            return [Event(actor, Failure("its actor died"))]
        return [Event(actor, actor.play(task, self._common))]


@contextmanager
def in_process(
    make: MakeWork, common: Any, *, actors: int = 3, dies: Callable[[int], bool] = lambda number: False
) -> Iterator[tuple[Runner, InProcess, list[str]]]:
    """A runner, its launcher and the notes that it makes; there is no pause after a failure."""
    launcher, notes = InProcess(make, common, dies), list[str]()
    ticks = iter(range(10**9))
    pool: Pool[JobTask, JobAnswer] = Pool(
        launcher=launcher,
        seats=[Seat() for _ in range(actors)],
        placement=Placement(Need()),
        expected=identify(()),
        notify=notes.append,
        clock=lambda: 100.0 * next(ticks),
    )
    try:
        yield partial(completed, pool=pool), launcher, notes
    finally:
        pool.close()
