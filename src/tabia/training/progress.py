"""The bookkeeping around the loop: clock, counters, compilation, rollback, observers, signals, saving."""

from __future__ import annotations

import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache
from types import FrameType
from typing import Protocol, TypeVar

from tabia.training import arena
from tabia.training import state as states
from tabia.training.compiling import CompileAhead, Parts, all_parts
from tabia.training.config.schema import Config
from tabia.training.iteration import IterationResult
from tabia.training.observers import Observer
from tabia.training.pace import Clock
from tabia.training.plan import Plan
from tabia.training.run import checkpoint
from tabia.training.training import DONE, PREPARING, Training


class AnyIteration(Protocol):
    """What is counted of an iteration."""

    @property
    def state(self) -> states.State:
        """The run's state after it."""

    @property
    def positions(self) -> int:
        """The positions played."""

    @property
    def result(self) -> IterationResult:
        """Its numbers."""


IterationType = TypeVar("IterationType", bound=AnyIteration)


class Progress:
    """What the loop needs besides the algorithm."""

    def __init__(
        self,
        training: Training,
        observers: Sequence[Observer],
        clock: Clock,
        ahead: CompileAhead | None,
        *,
        at_least: int,
    ) -> None:
        self._training, self._observers, self._clock, self._ahead = training, observers, clock, ahead
        self._at_least = at_least  # iterations of the run, even if compiling has taken all of its time
        self._plan = _plan(training.current)
        self._games = training.counters.games  # at the start of the iteration
        self._accepted = False  # whether the network of this iteration became the champion
        self.why = ""  # set when the run ends

    @property
    def unfinished(self) -> bool:
        """Whether budget is left and the run was not asked to stop."""
        training = self._training
        budget_left = training.progress < 1.0 or training.counters.iteration < self._at_least
        return budget_left and not training.stopping

    @contextmanager
    def start(self, make: Callable[..., IterationType]) -> Iterator[IterationType]:
        """The next iteration, made by `make`, its programs compiled; a run taken over in the block is restored."""
        training, counters, guard = self._training, self._training.counters, self._training.guard
        training.widen()  # before the guard: a run that is taken over keeps its new size
        with guard.iteration(training.state, counters):
            self._plan = _plan(training.stage)
            self._games, self._accepted = counters.games, False
            began = self._clock.seconds
            if self._ahead is not None:
                with guard.computing():
                    self._ahead.wait(self._plan, training.enter)
            self._clock.count_compiling(counters, since=began)
            yield make(
                plan=self._plan,
                state=training.state,
                number=counters.iteration,
                progress=training.progress,
                enter=training.enter,
                guard=guard,
                games=counters.games,
            )

    def count(self, iteration: AnyIteration) -> IterationResult:
        """Count an iteration and adopt its state; stop a run that has diverged."""
        training, counters = self._training, self._training.counters
        training.state, result = iteration.state, iteration.result
        result.check(counters.iteration + 1, int(training.state.train_state.step))
        counters.iteration += 1
        counters.games += int(result.selfplay.games)
        counters.positions += iteration.positions
        if result.losses is not None:
            counters.loss = max(0.0, float(result.losses.total))
        return result

    def gate(self, result: IterationResult) -> None:
        """Let the new network play the champion, in iterations where that is due."""
        training, counters = self._training, self._training.counters
        if self._plan.config.selfplay.teacher_games:
            self._promote_taught()
        elif arena.gate_due(self._plan, counters.iteration):
            training.enter("gating")
            with training.guard.computing():
                state, verdict = arena.run_gate(self._plan, training.state, counters)
            training.state, self._accepted = state, verdict.passed
            counters.champion = counters.iteration if verdict.passed else counters.champion
            result.extra.update(verdict.fields())

    def _promote_taught(self) -> None:
        """Let the network play once the teacher has played its games, without a match."""
        training, counters = self._training, self._training.counters
        if self._teacher_done and training.state.champion is not None:
            training.state, self._accepted = arena.promoted(training.state), True
            counters.champion = counters.iteration

    @property
    def _teacher_done(self) -> bool:
        """Whether the teacher has played the last of its games in this iteration."""
        return 0 < self._plan.config.selfplay.teacher_games <= self._training.counters.games

    def report(self, result: IterationResult) -> None:
        """Pass the result to the observers."""
        self._training.counters.seconds = self._clock.seconds
        with self._training.guard.computing():
            for observer in self._observers:
                result.extra.update(observer.on_iteration(self._training, result))
        self._training.counters.seconds = self._clock.seconds

    def save_if_due(self) -> None:
        """Save a checkpoint if one is due, by iterations, games, time or the gate; discard a teacher's games before."""
        training, settings, counters = self._training, self._training.config.checkpoints, self._training.counters
        if self._teacher_done:
            training.state = states.without_games(_plan(training.stage), training.state)
        due = counters.iteration % settings.every == 0 or (settings.accepted and self._accepted)
        if settings.every_games:
            due |= counters.games // settings.every_games > self._games // settings.every_games
        if due or self._clock.since_save() > 60 * settings.minutes:
            save(training, self._observers)
            self._clock.saved()


@contextmanager
def running(
    training: Training, observers: Sequence[Observer], *, started: float | None, signals: bool, parts: Parts = all_parts
) -> Iterator[Progress]:
    """Lock the run, start the observers, compile the first stage; save and end the run after the block.

    A run that has budget left makes at least one iteration, however long it compiles.
    """
    clock = Clock(training.counters.seconds, time.monotonic() if started is None else started)
    guard, training.phase = training.guard, PREPARING
    with training.run.locked(), guard.lock, _stop_on_signals(training.stopping) if signals else nullcontext():
        with guard.computing():
            for observer in observers:
                observer.on_start(training)
        ahead = None
        at_least = training.counters.iteration + (training.progress < 1.0)
        if training.progress < 1.0 and not training.config.is_supervised:
            with guard.computing():
                ahead = compile_ahead(training, clock, parts)
        progress = Progress(training, observers, clock, ahead, at_least=at_least)
        if training.config.checkpoints.initial and training.saved < 0:
            save(training, observers)
        with ahead or nullcontext():
            yield progress
        progress.why = finish(training, observers)
        training.stopping.clear()


def compile_ahead(training: Training, clock: Clock, parts: Parts = all_parts) -> CompileAhead:
    """Compile the first stage and start on the others."""
    training.enter("compiling")
    ahead = CompileAhead(
        _plan(training.current),
        training.state,
        training.progress,
        stopped=lambda: bool(training.stopping),
        parts=parts,
    )
    clock.count_compiling(training.counters, since=training.counters.seconds)
    return ahead


def save(training: Training, observers: Sequence[Observer]) -> None:
    """Save a checkpoint, unless its weights are not finite."""
    training.enter("saving")
    states.check_finite(training.state.train_state, training.counters.iteration)
    checkpoint.save(training.run, _plan(training.current), training.state, training.counters)
    training.saved = training.counters.iteration
    for observer in observers:
        observer.on_save(training)


def finish(training: Training, observers: Sequence[Observer]) -> str:
    """Save what is not saved yet and end the run; why it ended."""
    if training.saved != training.counters.iteration:
        save(training, observers)
    why, training.phase = "stopped" if training.stopping else "finished", DONE
    for observer in observers:
        observer.on_end(training, why)
    return why


@lru_cache(maxsize=8)
def _plan(config: Config) -> Plan:
    return Plan(config)


@contextmanager
def _stop_on_signals(received: list[int]) -> Iterator[None]:
    """Append SIGINT or SIGTERM to a list; a second one raises KeyboardInterrupt."""

    def handle(number: int, frame: FrameType | None) -> None:
        if received:
            raise KeyboardInterrupt
        received.append(number)

    try:
        before = {number: signal.signal(number, handle) for number in (signal.SIGINT, signal.SIGTERM)}
    except ValueError:  # not the main thread: the caller stops the run by `Training.stopping`
        yield
        return
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
