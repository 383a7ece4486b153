"""The loop: play, learn, save, until the budget is spent.

    training = Training.begin("runs/connect4", config)
    train(training, default_observers())

Stopping by Ctrl-C or SIGTERM finishes the iteration and saves; `take_over` saves without waiting for the end of the iteration.
Observers look on; nothing they do changes the run.
"""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from types import FrameType
from typing import Any, Protocol

from tabia.training import budget, gate, health, iteration, memory
from tabia.training import state as states
from tabia.training.compiling import Ahead
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError
from tabia.training.iteration import Report
from tabia.training.plan import Plan
from tabia.training.rollback import Guard
from tabia.training.run import checkpoint
from tabia.training.run.directory import RunDirectory, as_run
from tabia.training.state import Counters, State

_DONE = "done"


@dataclass
class Training:
    """A run being trained."""

    run: RunDirectory
    config: Config
    state: State
    counters: Counters
    notes: list[str] = field(default_factory=list)  # what went wrong on the way here
    saved: int = -1  # the iteration of the newest checkpoint
    doing: str = "preparing"  # in one word, for displays; docs/training.md lists them
    stopping: list[int] = field(default_factory=list)  # not empty once somebody asked to stop
    guard: Guard = field(default_factory=Guard, repr=False, compare=False)

    @classmethod
    def begin(cls, run: RunDirectory | Path | str, config: Config) -> Training:
        """A new run in an empty directory."""
        run, plan = as_run(run), Plan(config)
        plan.check()
        budget.check(plan)
        memory.check(plan)
        run.check_free()
        state = states.begin(plan)  # refuses a replay without room, so the directory comes after it
        run.create(config)
        return cls(run, config, state, Counters())

    @classmethod
    def resume(
        cls, run: RunDirectory | Path | str, *, game: str | None = None, players: tuple[str, ...] = ()
    ) -> Training:
        """A run from its newest sound checkpoint, or from its start where it has saved none.

        `game` and `players` are Python files the caller names (see `RunDirectory.config`). To keep other processes
        away from reading until training ends, hold `run.locked()` around both.
        """
        run = as_run(run)
        config = run.config(game=game, players=players)
        plan = Plan(config)
        plan.check()
        memory.check(plan)
        with run.locked():
            found, troubles = checkpoint.newest(run, plan)
        if found is None:
            return cls(run, config, states.begin(plan), Counters())
        return cls(run, config, found.state, found.counters, troubles, found.counters.iteration)

    def extend(self, *, minutes: float = 0.0, iterations: int = 0) -> None:
        """Let the run go on for so many minutes, or iterations, from where it stands, finished or not.

        The new length is written to config.toml. Progress is what is done of the new length, so the learning rate and
        scheduled settings step back to the values for that share of a run and end as planned. A length in minutes
        replaces one in iterations, and the other way round.
        """
        if (minutes > 0) == (iterations > 0):
            raise TrainingError("A run is extended by minutes or by iterations, either of them more than 0.")
        if minutes > 0:
            longer = self.config.changed({"minutes": self.counters.seconds / 60 + minutes})
        else:
            longer = self.config.changed({"minutes": 0.0, "iterations": self.counters.iteration + iterations})
        with self.run.locked():
            self.run.rewrite(longer)
        self.config = longer

    @property
    def plan(self) -> Plan:
        return Plan(self.config.at(self.progress))

    @property
    def progress(self) -> float:
        """How much of the budget is spent, from 0 to 1."""
        if self.config.minutes:
            # Compiling is part of the time but not of the schedule: where it takes long, every stage is shorter.
            counters, whole = self.counters, 60 * self.config.minutes
            return min(1.0, (counters.seconds - counters.compiling) / max(whole - counters.compiling, 1e-3))
        return min(1.0, self.counters.iteration / self.config.iterations)

    def now(self, doing: str) -> None:
        """Say what is being done."""
        self.doing = doing


class Observer(Protocol):
    """Whoever looks on: metrics, progress, evaluations, stored games."""

    def begun(self, training: Training) -> None: ...

    def on_iteration(self, training: Training, report: Report) -> dict[str, Any]:
        """After every iteration; what is returned is kept with the iteration's metrics and shown to later observers."""
        ...

    def saved(self, training: Training) -> None: ...

    def ended(self, training: Training, why: str) -> None: ...


class BaseObserver:
    """An observer that does nothing yet."""

    def begun(self, training: Training) -> None:
        pass

    def on_iteration(self, training: Training, report: Report) -> dict[str, Any]:
        return {}

    def saved(self, training: Training) -> None:
        pass

    def ended(self, training: Training, why: str) -> None:
        pass


def train(
    training: Training, observers: Sequence[Observer] = (), *, started: float | None = None, signals: bool = True
) -> str:
    """Train until the budget is spent or somebody stops it; says which. The clock runs from `started`.

    With `signals`, SIGINT and SIGTERM stop it where this is the main thread; otherwise whoever handles them appends to
    `training.stopping`.
    """
    clock = _Clock(training.counters.seconds, time.monotonic() if started is None else started)
    stop, guard, training.doing = training.stopping, training.guard, "preparing"
    with training.run.locked(), guard.lock, _stopping(stop) if signals else nullcontext():
        with guard.computing():
            for observer in observers:
                observer.begun(training)
        if training.progress < 1.0:
            with guard.computing():
                compiling = _compile(training, clock)
            with compiling as ahead:
                while training.progress < 1.0 and not stop:
                    with guard.iteration(training.state, training.counters):
                        _iteration(training, observers, clock, ahead)
        why = _end(training, observers)
        stop.clear()
    return why


def take_over(training: Training, observers: Sequence[Observer] = ()) -> bool:
    """Save a run as it was before the running iteration and end it, in another thread than the one that trains.

    That thread never continues, so the process should exit now. False if it ended by itself meanwhile.
    """
    training.guard.lock.acquire()
    if training.doing == _DONE:
        training.guard.lock.release()
        return False
    before = training.guard.restored()
    if before is not None:
        training.state, training.counters = before
    _end(training, observers)
    return True


def _end(training: Training, observers: Sequence[Observer]) -> str:
    """Save what is not saved yet; why the run ended."""
    if training.saved != training.counters.iteration:
        _save(training, observers)
    why, training.doing = "stopped" if training.stopping else "finished", _DONE
    for observer in observers:
        observer.ended(training, why)
    return why


def _compile(training: Training, clock: _Clock) -> Ahead:
    training.now("compiling")
    plan, stopped = _plan(training.config), lambda: bool(training.stopping)
    ahead = Ahead(plan, training.state, training.progress, stopped=stopped)
    _waited(training.counters, clock, since=training.counters.seconds)
    return ahead


def _waited(counters: Counters, clock: _Clock, since: float) -> None:
    """Note what was waited for compilers, which is no part of the schedule."""
    counters.seconds = clock.seconds
    counters.compiling += counters.seconds - since


def _iteration(training: Training, observers: Sequence[Observer], clock: _Clock, ahead: Ahead) -> None:
    counters, plan = training.counters, _plan(training.config.at(training.progress))
    begun, guard = clock.seconds, training.guard
    with guard.computing():
        ahead.wait(plan, training.now)
    _waited(counters, clock, since=begun)
    training.state, report = iteration.run(
        plan, training.state, counters.iteration, training.progress, training.now, guard
    )
    health.check(report, counters.iteration + 1, int(training.state.train_state.step))
    counters.iteration += 1
    counters.games += int(report.seen.games)
    counters.positions += plan.config.selfplay.games * plan.config.selfplay.plies
    if gate.due(plan, counters.iteration):
        training.now("judging")
        with guard.computing():
            judged, verdict = gate.attempt(plan, training.state, counters)
        training.state = judged
        counters.champion = counters.iteration if verdict.passed else counters.champion
        report.extra.update(verdict.fields())
    counters.seconds = clock.seconds
    with guard.computing():
        for observer in observers:
            report.extra.update(observer.on_iteration(training, report))
    counters.seconds = clock.seconds
    settings = training.config.checkpoints
    if counters.iteration % settings.every == 0 or clock.since_save() > 60 * settings.minutes:
        _save(training, observers)
        clock.saved()


def _save(training: Training, observers: Sequence[Observer]) -> None:
    training.now("saving")
    health.check_weights(training.state.train_state, training.counters.iteration)
    checkpoint.save(training.run, _plan(training.config), training.state, training.counters)
    training.saved = training.counters.iteration
    for observer in observers:
        observer.saved(training)


@lru_cache(maxsize=8)
def _plan(config: Config) -> Plan:
    return Plan(config)


class _Clock:
    """Seconds a run has taken, those before it was resumed included."""

    def __init__(self, before: float, started: float) -> None:
        self._before, self._started, self._saved = before, started, time.monotonic()

    @property
    def seconds(self) -> float:
        return self._before + time.monotonic() - self._started

    def saved(self) -> None:
        self._saved = time.monotonic()

    def since_save(self) -> float:
        return time.monotonic() - self._saved


@contextmanager
def _stopping(came: list[int]) -> Iterator[None]:
    """Append SIGINT or SIGTERM to a list when it comes; a second one stops at once."""

    def heed(number: int, frame: FrameType | None) -> None:
        if came:
            raise KeyboardInterrupt
        came.append(number)

    try:
        before = {number: signal.signal(number, heed) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: whoever runs it stops it by its own means
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
