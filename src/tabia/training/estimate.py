"""How long a run will take here: a few iterations in a small copy of it, timed."""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, replace
from itertools import pairwise
from typing import Any

import jax

from tabia.training import iteration, memory
from tabia.training import state as states
from tabia.training.compiling import Ahead
from tabia.training.config.schema import Config
from tabia.training.plan import Plan
from tabia.training.state import State

_PROBES = 2  # iterations timed of each stage and board, after two that are not


@dataclass(frozen=True)
class Estimate:
    """What a probe found."""

    device: str
    replay: str  # its size and place
    compile_seconds: float
    iteration_seconds: float
    iterations: int  # of the whole run
    positions: int  # of the whole run
    minutes: float

    def fields(self) -> dict[str, Any]:
        return asdict(self)

    def words(self) -> dict[str, str]:
        """For people."""
        return {
            "device": self.device,
            "replay": self.replay,
            "compiling": f"{self.compile_seconds:.0f} s (less where the programs are cached)",
            "an iteration": f"{self.iteration_seconds:.2f} s",
            "the run": f"about {self.iterations:,} iterations, {self.positions:,} positions of self-play",
            "all in all": f"about {self.minutes:.1f} minutes, without evaluations",
        }


def estimate(config: Config) -> Estimate:
    """Run a few iterations and scale them up; nothing is written."""
    # Learning from the first iteration on, so that it is in the timing.
    plan = Plan(replace(config, replay=replace(config.replay, min_positions=1)))
    plan.check()
    memory.check(plan)
    state = states.begin(plan)
    started = time.monotonic()
    with Ahead(plan, state) as ahead:
        for stage in plan.stages:
            ahead.wait(stage)
    compile_seconds, spent = time.monotonic() - started, []
    for share, stage in zip(_shares(config), plan.stages, strict=True):
        seconds, state = _iteration_seconds(stage, state)
        spent.append((share, seconds))
    each = sum(share * seconds for share, seconds in spent)
    if config.minutes:  # then a stage's share is one of the time, otherwise one of the iterations
        left, minutes = 60 * config.minutes - compile_seconds, config.minutes
        iterations = max(1, int(sum(share * left / seconds for share, seconds in spent)))
    else:
        iterations = config.iterations
        minutes = (compile_seconds + iterations * each) / 60
    per_iteration = config.selfplay.games * config.selfplay.plies
    kind = jax.devices()[0].device_kind
    return Estimate(
        kind, states.whereabouts(state), compile_seconds, each, iterations, iterations * per_iteration, minutes
    )


def _shares(config: Config) -> list[float]:
    """How much of a run each of its stages is."""
    return [end - start for start, end in pairwise((*config.changes, 1.0))]


def _iteration_seconds(plan: Plan, state: State) -> tuple[float, State]:
    """What an iteration takes, on the average of the boards."""
    turns = len(plan.boards)
    for number in range(2 * turns):  # the first may end no game, and then learns nothing
        state, _ = iteration.run(plan, state, number, 0.0)
    jax.block_until_ready(state)
    begun = time.monotonic()
    for number in range(_PROBES * turns):
        state, _ = iteration.run(plan, state, number, 0.0)
    jax.block_until_ready(state)
    return (time.monotonic() - begun) / (_PROBES * turns), state
