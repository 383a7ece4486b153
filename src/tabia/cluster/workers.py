"""Actors on Ray that do jobs, and how to start them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from tabia.cluster.actors import Identity, identify, use_platform
from tabia.cluster.connection import Cluster, Node
from tabia.cluster.errors import ClusterError
from tabia.cluster.jobs import JobAnswer, JobTask, Runner, Work, completed
from tabia.cluster.launcher import ActorLauncher
from tabia.cluster.placement import HOPELESS, ONE_CPU, Need
from tabia.cluster.pool import Event, Failure
from tabia.core.errors import TabiaError

MakeWork = Callable[[Any], Work[Any, Any]]
"""Makes the object that does jobs from what they have in common: a class of a module, so that Ray sends its name."""
MOST_TRIES = 10
"""A job is given up if so many actors die at it."""
_ASK_EVERY = 1.0  # seconds between two questions for progress


class JobActor:
    """Does jobs, one at a time, on a platform of JAX; the arguments are those of `SelfPlayActor`."""

    def __init__(self, make: MakeWork, platform: str = "", sharing: int = 1) -> None:
        use_platform(platform, sharing)
        self._make = make
        self._work: Work[Any, Any] | None = None
        self._fraction = 0.0

    def hello(self, games: tuple[str, ...]) -> Identity:
        """Who this actor is; the first call."""
        return identify(games)

    def play(self, task: JobTask, common: Any) -> JobAnswer | Failure:
        """Do a job. What only this node lacks is a failure of the node; the job then goes to another."""
        self._fraction = 0.0
        try:
            self._work = self._work or self._make(common)
        except TabiaError as error:
            return Failure(str(error), HOPELESS)
        try:
            return JobAnswer(task.key, self._work.run(task.spec, self._report))
        except TabiaError as error:
            return JobAnswer(task.key, None, refusal=str(error))

    def progress(self) -> float:
        """The fraction of the job in progress that is done; answered while it runs."""
        return self._fraction

    def _report(self, fraction: float) -> None:
        self._fraction = fraction


@dataclass
class JobLauncher(ActorLauncher):
    """Starts actors that do jobs; `common` is a reference into the object store."""

    make: MakeWork | None = None
    common: Any = None
    _tries: Counter[int] = field(default_factory=Counter)  # of each job
    _busy: dict[Any, int] = field(default_factory=dict)  # the number of each actor's job
    _fractions: dict[int, float] = field(default_factory=dict)
    _asked: float = 0.0

    def start(self, node: Node) -> object:
        kind = self.remote(node, JobActor, max_concurrency=2)
        actor = kind.remote(self.make, self.need.platform, self.sharing(node))
        self.expect(actor, actor.hello.remote(self.games))
        return actor

    def play(self, actor: Any, task: JobTask) -> None:
        self._tries[task.key] += 1
        if self._tries[task.key] > MOST_TRIES:
            raise ClusterError(
                f"{task.name}: {MOST_TRIES} actors died at it, one after another. It may need more memory than a node "
                "has: use nodes with more memory, or fewer actors per node."
            )
        self._busy[actor] = task.key
        self.expect(actor, actor.play.remote(task, self.common))

    def stop(self, actor: Any) -> None:
        self._busy.pop(actor, None)
        super().stop(actor)

    def events(self, seconds: float) -> list[Event]:
        self._ask()
        found = super().events(seconds)
        for event in found:
            self._fractions.pop(self._busy.pop(event.actor, -1), None)
        return found

    def fractions(self) -> Mapping[int, float]:
        """The fraction of each job in progress that is done."""
        return dict(self._fractions)

    def _ask(self) -> None:
        """Ask all busy actors for their progress, once in a while; answers arrive later, or never."""
        now = time.monotonic()
        if now < self._asked + _ASK_EVERY:
            return
        self._asked = now
        for actor, job in self._busy.items():
            actor.progress.remote().future().add_done_callback(partial(self._answered, actor, job))

    def _answered(self, actor: Any, job: int, answer: Future[float]) -> None:
        if answer.exception() is None and self._busy.get(actor) == job:
            self._fractions[job] = answer.result()


@contextmanager
def job_runner(
    cluster: Cluster,
    make: MakeWork,
    common: Any,
    *,
    actors: int,
    need: Need = ONE_CPU,
    games: tuple[str, ...] = (),
    notify: Callable[[str], None] = lambda text: None,
) -> Iterator[Runner]:
    """A runner of jobs on a cluster; its actors end after the block.

    Each actor takes `need` of its node. `games` are the ids of the games that all nodes must have in
    the same version. `notify` gets one line whenever something goes wrong on a node.
    """
    launcher = JobLauncher(
        cluster=cluster,
        need=need,
        games=games,
        notify=notify,
        actors=actors,
        make=make,
        common=cluster.ray.put(common),
    )
    with closing(launcher.pool()) as pool:
        yield partial(completed, pool=pool, fractions=launcher.fractions)
