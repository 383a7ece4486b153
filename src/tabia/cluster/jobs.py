"""Independent jobs over a pool of actors: matches in batches, parts of studies.

    for name, value in completed(jobs, pool):
        ...

A job is a specification, never a function: what an actor needs to do it is in its task. The job of a dead actor goes to
another, and the value of each job is counted once.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from tabia.cluster.errors import ClusterError
from tabia.cluster.pool import Pool
from tabia.core.text import printable

S = TypeVar("S")
V_co = TypeVar("V_co", covariant=True)
S_contra = TypeVar("S_contra", contravariant=True)

Report = Callable[[float], None]
"""Receives the fraction of a job that is done."""


class Work(Protocol[S_contra, V_co]):
    """Does jobs on an actor; made there once, from what all jobs have in common."""

    def run(self, spec: S_contra, report: Report) -> V_co:
        """Do one job; the same specification gives the same value."""


@dataclass(frozen=True)
class Job(Generic[S]):
    """One unit of work."""

    name: str
    specify: Callable[[], S]  # called when all that it needs is finished
    needs: tuple[str, ...] = ()  # names of other jobs


class JobTask(NamedTuple):
    """A job as an actor gets it."""

    key: int  # the number of the job
    name: str
    spec: Any


class JobAnswer(NamedTuple):
    """What an actor found, or why nobody can do the job."""

    key: int
    value: Any
    refusal: str = ""


Observe = Callable[[Mapping[str, float]], None]
"""Receives the names of the jobs in progress and the fraction of each that is done."""


class Runner(Protocol):
    """Does jobs somewhere."""

    def __call__(self, jobs: Sequence[Job[Any]], observe: Observe) -> Generator[tuple[str, Any], None, None]:
        """Do all jobs and yield the name and the value of each as it is finished; closing it drops the rest."""


def completed(
    jobs: Sequence[Job[Any]],
    observe: Observe,
    *,
    pool: Pool[JobTask, JobAnswer],
    fractions: Callable[[], Mapping[int, float]] = dict,
) -> Generator[tuple[str, Any], None, None]:
    """Do jobs on the actors of a pool; with a pool it is a `Runner`.

    No more jobs are handed out at a time than the pool has seats, because their tasks are held in memory.
    """
    waiting = dict(enumerate(jobs))
    numbers = {job.name: number for number, job in waiting.items()}
    running: dict[int, Job[Any]] = {}
    arrived: list[int] = []
    pool.on_chunk = lambda answer: arrived.append(answer.key)
    try:
        while waiting or running:
            for number in _ready(waiting, running, numbers)[: len(pool.seats) - len(running)]:
                running[number] = waiting.pop(number)
                pool.submit([JobTask(number, running[number].name, running[number].specify())])
            done = fractions()
            observe({job.name: done.get(number, 0.0) for number, job in running.items()})
            pool.step()
            while arrived:
                (answer,) = pool.take([arrived.pop(0)])
                job = running.pop(answer.key)
                yield job.name, _value(job, answer)
    finally:
        pool.drop()


def _ready(waiting: Mapping[int, Job[Any]], running: Mapping[int, Job[Any]], numbers: Mapping[str, int]) -> list[int]:
    """The jobs all of whose needs are finished, in order."""
    unfinished = {*waiting, *running}
    return [number for number, job in waiting.items() if not any(numbers[need] in unfinished for need in job.needs)]


def _value(job: Job[Any], answer: JobAnswer) -> Any:
    if answer.refusal:
        raise ClusterError(f"{job.name}: {printable(answer.refusal)}")
    return answer.value
