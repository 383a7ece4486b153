"""How long a run takes: the clock, the recent pace, and an estimate before it starts."""

from __future__ import annotations

import time
from collections import deque
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from typing import Any

import jax

from tabia.core import devices
from tabia.training import iteration, limits
from tabia.training import state as states
from tabia.training.compiling import CompileAhead
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.state import Counters, State

_RECENT = 30.0  # seconds that "recent" means, or one iteration if that takes longer
_PROBES = 2  # iterations timed per stage and board, after two that are not


class Clock:
    """Seconds that a run has taken, including those before it was resumed."""

    def __init__(self, before: float, started: float) -> None:
        self._before, self._started, self._saved = before, started, time.monotonic()

    @property
    def seconds(self) -> float:
        return self._before + time.monotonic() - self._started

    def count_compiling(self, counters: Counters, since: float) -> None:
        """Count the time since then as compile time, which is not part of the schedule."""
        counters.seconds = self.seconds
        counters.compile_seconds += counters.seconds - since

    def saved(self) -> None:
        """Note that a checkpoint was saved."""
        self._saved = time.monotonic()

    def since_save(self) -> float:
        """Seconds since the last checkpoint of this process."""
        return time.monotonic() - self._saved


@dataclass(frozen=True)
class Mark:
    """The counters after an iteration."""

    iteration: int
    seconds: float
    games: int
    positions: int


@dataclass
class Pace:
    """Speeds over the last half minute, from the counters after each iteration."""

    marks: deque[Mark] = field(default_factory=deque)
    marked: float = field(default_factory=time.monotonic)  # when the newest mark was made

    def note(self, counters: Counters, *, reset: bool = False) -> None:
        """Call before the first iteration and after each; `reset` after one that included compiling."""
        if reset:
            self.marks.clear()
        self.marks.append(Mark(counters.iteration, counters.seconds, counters.games, counters.positions))
        self.marked = time.monotonic()
        while len(self.marks) > 2 and self.marks[1].seconds < self.marks[-1].seconds - _RECENT:
            self.marks.popleft()

    def per_second(self, what: str) -> float | None:
        """How many `games`, `positions` or `iteration` per second; None before two marks."""
        if len(self.marks) < 2:
            return None
        first, last = self.marks[0], self.marks[-1]
        return (getattr(last, what) - getattr(first, what)) / max(last.seconds - first.seconds, 1e-9)

    @property
    def elapsed(self) -> float:
        """Seconds that the run has taken by now, between iterations too."""
        return self.marks[-1].seconds + time.monotonic() - self.marked if self.marks else 0.0

    def left(self, config: Config) -> float | None:
        """Seconds to the end: by the clock if the run has a length in minutes, otherwise at the recent pace."""
        ends = [60 * config.minutes - self.elapsed] if config.minutes else self._ends("iteration", config.iterations)
        if config.games:
            ends += self._ends("games", config.games)
        return max(0.0, min(ends)) if ends else None

    def _ends(self, what: str, count: int) -> list[float]:
        """Seconds until there are this many, at the recent pace; empty if that is unknown."""
        pace = self.per_second(what)
        if not pace:
            return []
        return [(count - getattr(self.marks[-1], what)) / pace - (time.monotonic() - self.marked)]


@dataclass(frozen=True)
class Estimate:
    """What a run would take on this machine."""

    device: str
    replay: str  # size and place of the replay buffer
    compile_seconds: float
    iteration_seconds: float
    iterations: int  # of the whole run
    positions: int  # of the whole run
    minutes: float
    games: int  # that end the run, if they do before its iterations; 0: no number of games does

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)

    def describe(self) -> dict[str, str]:
        """For people."""
        most, ends = ("at most", f", or fewer until {self.games:,} games") if self.games else ("about", "")
        return {
            "device": self.device,
            "replay buffer": self.replay,
            "compile time": f"{self.compile_seconds:.0f} s (less if the programs are cached)",
            "iteration": f"{self.iteration_seconds:.2f} s",
            "run": f"{most} {self.iterations:,} iterations, {self.positions:,} positions of self-play{ends}",
            "total": f"{most} {self.minutes:.1f} minutes, without evaluations",
        }


def estimate(config: Config) -> Estimate:
    """Time a few iterations of every stage and scale them up; nothing is written."""
    if config.is_supervised:
        raise TrainingError("--estimate times self-play; a supervised run has none.")
    # Learn from the first iteration on, so that learning is part of the timing.
    plan = Plan(replace(config.starting, replay=replace(config.replay, min_positions=1)))
    plan.check()
    limits.check_devices(plan)
    limits.check_memory(plan)
    state = states.begin(plan)
    started = time.monotonic()
    with CompileAhead(plan, state) as ahead:
        for stage in plan.stages:
            ahead.wait(stage)
    compile_seconds, timed = time.monotonic() - started, []
    for fraction, before, stage in zip(_fractions(config), (plan, *plan.stages), plan.stages, strict=False):
        seconds, state = _iteration_seconds(stage, states.widened(before, stage, state))
        timed.append((fraction, seconds))
    mean = sum(fraction * seconds for fraction, seconds in timed)
    if config.minutes:  # then a stage is a fraction of the time, otherwise of the iterations
        left, minutes = 60 * config.minutes - compile_seconds, config.minutes
        iterations = max(1, int(sum(fraction * left / seconds for fraction, seconds in timed)))
    else:
        iterations = config.iterations
        minutes = (compile_seconds + iterations * mean) / 60
    return Estimate(
        device=devices.describe(),
        replay=states.replay_size(state),
        compile_seconds=compile_seconds,
        iteration_seconds=mean,
        iterations=iterations,
        positions=iterations * config.selfplay.games * config.selfplay.plies,
        minutes=minutes,
        games=config.games,
    )


def _fractions(config: Config) -> list[float]:
    """The fraction of a run that each of its stages takes."""
    return [end - start for start, end in pairwise((*config.changes, 1.0))]


def _iteration_seconds(plan: Plan, state: State) -> tuple[float, State]:
    """Seconds per iteration, as a mean over the boards."""
    turns = len(plan.boards)
    for number in range(2 * turns):  # the first may end no game, and then there is nothing to learn
        state, _ = iteration.run(plan, state, number, 0.0)
    jax.block_until_ready(state)
    started = time.monotonic()
    for number in range(_PROBES * turns):
        state, _ = iteration.run(plan, state, number, 0.0)
    jax.block_until_ready(state)
    return (time.monotonic() - started) / (_PROBES * turns), state
