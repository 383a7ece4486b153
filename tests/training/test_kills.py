"""Runs in processes that are killed: every announced checkpoint is there, and resuming loses nothing."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tabia.training.config.schema import Config
from tabia.training.loop import train
from tabia.training.observers import BaseObserver
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.run.metrics import Metrics
from tabia.training.run.stored_games import StoredGames
from tabia.training.training import Training

from .comparing import games, same, timeless
from .conftest import TINY

ENDLESS = TINY.changed({"iterations": 1_000_000, "evaluation.every": 0, "checkpoints.every": 1})


@pytest.fixture(scope="session")
def cache(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with a compilation cache, so that only the first process compiles."""
    return os.environ | {
        "JAX_COMPILATION_CACHE_DIR": str(tmp_path_factory.mktemp("programs")),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES": "-1",
    }


class Process:
    """`tabia resume DIR --json`, whose lines are read while it runs."""

    def __init__(self, run: RunDirectory, env: dict[str, str]) -> None:
        words = [sys.executable, "-m", "tabia", "resume", str(run.path), "--json"]
        self.process = subprocess.Popen(words, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines: list[dict] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.endswith("\n"):
                self.lines.append(json.loads(line))

    def wait_for(self, wanted, seconds: float = 240.0) -> None:
        """Wait until a line matches or the process ends."""
        until = time.monotonic() + seconds
        while not any(wanted(line) for line in tuple(self.lines)) and self.process.poll() is None:
            assert time.monotonic() < until, self.lines
            time.sleep(0.002)

    def end(self, number: int) -> str:
        """Send a signal, wait for the end, and return stderr."""
        self.process.send_signal(number)
        assert self.process.stderr is not None
        said = self.process.stderr.read()
        self.process.wait(240)
        self._reader.join()
        self.process.stderr.close()
        self.process.stdout.close()
        return said

    @property
    def announced(self) -> int:
        """The newest checkpoint announced."""
        return max((line["iteration"] for line in self.lines if line.get("event") == "saved"), default=0)


def created(path: Path, config: Config = ENDLESS) -> RunDirectory:
    """A run that has only its configuration, so that `tabia resume` starts it."""
    run = RunDirectory(path)
    run.create(config)
    return run


def straight(path: Path, config: Config, iteration: int) -> Training:
    """The same run in this process, without interruption, up to an iteration."""
    training = Training.begin(RunDirectory(path), config)
    train(training, [Metrics(), StoredGames(), _Until(iteration)])
    return training


def equal(one: Training, other: Training) -> bool:
    """Weights, optimizer, replay buffer, games in progress, metrics and stored games are equal."""
    return (
        one.counters.iteration == other.counters.iteration
        and same(one.state, other.state)
        and timeless(one.run) == timeless(other.run)
        and games(one.run) == games(other.run)
    )


class _Until(BaseObserver):
    """Stops a run after an iteration."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration

    def on_iteration(self, training: Training, result) -> dict:
        if training.counters.iteration == self.iteration:
            training.stopping.append(signal.SIGINT)
        return {}


def test_stopped_killed_and_resumed_is_the_run_that_never_stopped(tmp_path: Path, cache) -> None:
    """Ctrl-C in one process, a kill in another, the rest in this one."""
    run = created(tmp_path / "run")
    stopped = Process(run, cache)
    stopped.wait_for(lambda line: line.get("loss_policy"))
    said = stopped.end(signal.SIGINT)
    assert stopped.process.returncode == 130 and f"Continue with: tabia resume {run.path}" in said
    assert stopped.lines[-1]["event"] == "ended" and stopped.lines[-1]["why"] == "stopped"
    assert stopped.announced == metrics.read(run)[-1]["iteration"] >= 2  # the iteration was finished, and saved

    killed = Process(run, cache)
    killed.wait_for(lambda line: line.get("event") == "saved")
    killed.end(signal.SIGKILL)
    assert killed.process.returncode == -signal.SIGKILL and killed.announced > stopped.announced

    training = Training.resume(run)
    assert training.counters.iteration >= killed.announced and not training.notes
    train(training, [Metrics(), StoredGames(), _Until(training.counters.iteration + 2)])
    assert equal(training, straight(tmp_path / "straight", ENDLESS, training.counters.iteration))


def moments(count: int) -> Iterator[tuple[str, float]]:
    """When to kill: two thirds while the run trains and saves, the others anywhere after the start."""
    dice = random.Random(7)
    for number in range(count):
        yield ("start", dice.uniform(0.0, 8.0)) if number % 3 == 2 else ("saved", dice.uniform(0.0, 0.5))


@pytest.mark.long
def test_killed_at_thirty_random_moments(tmp_path: Path, cache) -> None:
    """Every kill leaves the announced checkpoints; in the end the run equals one that was never killed."""
    run, announced, survived = created(tmp_path / "killed"), 0, 0
    for since, delay in moments(30):
        process = Process(run, cache)
        if since == "saved":
            process.wait_for(lambda line: line.get("event") == "saved")
        time.sleep(delay)
        process.end(signal.SIGKILL)
        assert process.process.returncode == -signal.SIGKILL
        announced = max(announced, process.announced)
        found = Training.resume(run)
        assert found.counters.iteration >= announced and not found.notes
        survived += 1
    last = Training.resume(run)
    for observer in (Metrics(), StoredGames()):
        observer.on_start(last)
    assert survived == 30 and last.counters.iteration >= 20
    assert equal(last, straight(tmp_path / "straight", ENDLESS, last.counters.iteration))
    print(
        f"{survived} kills survived, {last.counters.iteration} iterations equal to those of a run that was never killed"
    )


@pytest.mark.long
def test_memory_does_not_grow_with_the_length_of_a_run(tmp_path: Path, cache) -> None:
    """The most memory a run of 2,000 iterations ever had, beside one of 200 with as many evaluations and checkpoints a
    iteration.
    """
    peaks, held = [], []
    for iterations in (200, 200, 2000):  # the first compiles, which takes memory of its own
        config = TINY.changed({"iterations": iterations, "evaluation.every": 50, "checkpoints.every": 50})
        run = created(tmp_path / f"{len(peaks)}", config)
        process = Process(run, cache)
        for iteration in (iteration for iteration in (200, 1900) if iteration < iterations):
            process.wait_for(lambda line, iteration=iteration: line.get("iteration", 0) >= iteration)
            held.append(resident(process.process.pid))
        process._reader.join()
        _, status, used = os.wait4(process.process.pid, 0)
        assert status == 0 and process.lines[-1]["why"] == "finished"
        peaks.append(used.ru_maxrss)
        process.process.returncode = 0
        process.process.stdout.close()
        process.process.stderr.close()
    print(f"peaks: {', '.join(f'{peak / 1024:.0f} MiB' for peak in peaks)}")
    print(f"held after 200 and after 1,900 iterations: {held[-2]} and {held[-1]} MiB")
    assert peaks[2] <= 1.1 * peaks[1] and 0 < held[-1] <= 1.1 * held[-2]


def resident(process: int) -> int:
    """MiB of memory a process has now; 0 if it has ended, or where the system does not tell."""
    try:
        pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    except (OSError, IndexError):
        return 0
    return pages * os.sysconf("SC_PAGE_SIZE") >> 20
