"""A run being trained: where it is stored, how it is configured, and how far it has come."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from tabia.networks import NetworkConfig
from tabia.training import limits
from tabia.training import state as states
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.rollback import Guard
from tabia.training.run import checkpoint
from tabia.training.run.directory import RunDirectory, as_run
from tabia.training.state import Counters, State

PREPARING, DONE = "preparing", "done"


@dataclass
class Training:
    """A run being trained."""

    run: RunDirectory
    config: Config
    state: State
    counters: Counters
    network: NetworkConfig  # of the weights in `state`
    notes: list[str] = field(default_factory=list)  # checkpoints that were skipped, and why
    saved: int = -1  # the iteration of the newest checkpoint
    phase: str = PREPARING  # in one word, for displays
    stopping: list[int] = field(default_factory=list)  # not empty once the run was asked to stop
    guard: Guard = field(default_factory=Guard, repr=False, compare=False)

    @classmethod
    def begin(cls, run: RunDirectory | Path | str, config: Config) -> Training:
        """A new run in an empty directory."""
        run, plan = as_run(run), Plan(config.starting)
        plan.check()
        limits.check_time(plan)
        limits.check_devices(plan)
        limits.check_memory(plan)
        limits.check_numerics(plan)
        run.check_free()
        state = states.begin(plan)  # before the directory exists: this refuses a replay buffer that does not fit
        run.create(config)
        return cls(run, config, state, Counters(), plan.config.network)

    @classmethod
    def resume(
        cls, run: RunDirectory | Path | str, *, game: str | None = None, players: tuple[str, ...] = ()
    ) -> Training:
        """A run from its newest sound checkpoint, or from its start if it has none yet.

        `game` and `players` are Python files that the caller names (see `RunDirectory.config`). Hold `run.locked()`
        around this call and `train` to keep other processes out in between.
        """
        run = as_run(run)
        config = run.config(game=game, players=players)
        plan = Plan(config.starting)
        plan.check()
        limits.check_devices(plan)
        limits.check_memory(plan)
        limits.check_numerics(plan)
        with run.locked():
            found, notes = checkpoint.newest(run, plan)
        if found is None:
            return cls(run, config, states.begin(plan), Counters(), plan.config.network)
        return cls(
            run=run,
            config=config,
            state=found.state,
            counters=found.counters,
            network=found.network,
            notes=notes,
            saved=found.counters.iteration,
        )

    def extend(self, *, minutes: float = 0.0, iterations: int = 0) -> None:
        """Train for this many more minutes or iterations, whether the run is finished or not.

        The new length is written to config.toml. Progress is measured against it, so the learning rate and other
        scheduled settings step back to their values for that progress. Minutes replace a length in iterations, and
        iterations one in minutes; either replaces a length in games and targets for loss and accuracy.
        """
        if (minutes > 0) == (iterations > 0):
            raise TrainingError("Extend a run by minutes or by iterations: give one of them, greater than 0.")
        if minutes > 0:
            length: dict[str, float] = {"minutes": self.counters.seconds / 60 + minutes}
        else:
            length = {"minutes": 0.0, "iterations": self.counters.iteration + iterations}
        longer = self.config.changed({**length, "games": 0, "loss_target": 0.0, "supervised.accuracy": 0.0})
        with self.run.locked():
            self.run.rewrite(longer)
        self.config = longer

    @property
    def progress(self) -> float:
        """The fraction of the budget that is spent, from 0 to 1."""
        return spent(self.config, self.counters)

    @property
    def current(self) -> Config:
        """The configuration with the network of the weights; a run that was extended keeps the size it has."""
        return self.config.with_network(self.network)

    @property
    def stage(self) -> Config:
        """The configuration as scheduled for now, without a teacher that has played all its games."""
        now = self.current.at(self.progress)
        teaching = now.selfplay.teacher_games
        return now.without_teacher if teaching and self.counters.games >= teaching else now

    def widen(self) -> None:
        """Widen the network if a larger one is scheduled for now."""
        before, now = Plan(self.current), Plan(self.stage)
        if before.network != now.network:
            self.state, self.network = states.widened(before, now, self.state), now.config.network

    def enter(self, phase: str) -> None:
        """Set the phase that displays show."""
        self.phase = phase


def spent(config: Config, counters: Counters) -> float:
    """The fraction of a run's budget that is spent, from 0 to 1; 1 once loss or accuracy has reached its target."""
    if config.loss_target and 0 < counters.loss <= config.loss_target:
        return 1.0
    if config.supervised.accuracy and counters.accuracy >= config.supervised.accuracy:
        return 1.0
    played = counters.games / config.games if config.games else 0.0
    if not config.minutes:
        return min(1.0, max(played, counters.iteration / config.iterations))
    # Compile time counts toward the budget but not toward the schedule: long compiles shorten every stage.
    budget, seconds = 60 * config.minutes, counters.seconds - counters.compile_seconds
    return min(1.0, max(played, seconds / max(budget - counters.compile_seconds, 1e-3)))
