"""A whole run on a real Ray cluster in which everything dies, and the memory of one that goes on for long."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from statistics import median

import pytest

from tabia.cluster.connection import connect
from tabia.cluster.loop import AHEAD, self_play, store_bytes
from tabia.networks.presets import mlp
from tabia.training.loop import train
from tabia.training.observers import BaseObserver
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training

from .conftest import NODE
from .processes import actors
from .test_training import TINY

pytest.importorskip("ray")
# Ray starts its programs by fork and exec, of which JAX warns in every process that has used it.
pytestmark = pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")
EVERY = 20.0  # seconds between two kills
STORE = "object_store_memory"


def tabia(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "tabia", *arguments]


class Killer(threading.Thread):
    """Ends an actor's process without warning every 20 seconds; an actor that is starting may be hit too."""

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.kills, self.ended = 0, threading.Event()

    def run(self) -> None:
        while not self.ended.wait(EVERY):
            found = actors(os.getpid())
            if found:
                os.kill(found[self.kills % len(found)], signal.SIGKILL)
                self.kills += 1


@pytest.mark.long
def test_tictactoe_never_loses_after_a_run_in_which_everything_dies(ray_cluster, tmp_path):
    """Actors are killed every 20 seconds, a node leaves, another joins, the learner is killed and resumed."""
    path, out = tmp_path / "run", (tmp_path / "output.txt").open("wb")
    on_cluster = ("--ray", ray_cluster.address, "--actors", "2")

    def start(*command: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(tabia(*command, *on_cluster), stdout=out, stderr=out)

    learner = start("train", "tictactoe", "--minutes", "120", "--out", str(path), "--set", "checkpoints.every=10")
    killer = Killer()
    try:
        _wait(lambda: _iterations(path) >= 5, learner)
        killer.start()
        _wait(lambda: killer.kills >= 3, learner)
        ray_cluster.remove_node(next(iter(ray_cluster.worker_nodes)), allow_graceful=False)
        _wait(lambda: killer.kills >= 5, learner)
        ray_cluster.add_node(num_cpus=1, **NODE)
        _wait(lambda: killer.kills >= 6 and _checkpoints(path), learner)
        learner.kill()
        learner.wait(timeout=60)
        learner = start("resume", str(path))
        _wait(lambda: killer.kills >= 10 and _iterations(path) >= 80, learner)
        learner.terminate()
        assert learner.wait(timeout=120) == 128 + signal.SIGTERM
        learner = start("resume", str(path), "--iterations", "60")  # with the learning rate of the end of a run
        assert learner.wait(timeout=3600) == 0
    except BaseException:
        print((tmp_path / "output.txt").read_text())
        raise
    finally:
        killer.ended.set()
        learner.kill()
        learner.wait()
        out.close()
    assert killer.kills >= 10
    _check_counts(path)
    _wait(lambda: not actors(os.getpid()), None)
    proof = subprocess.run(tabia("prove", "tictactoe", f"network:{path}"), capture_output=True, text=True, check=False)
    assert proof.returncode == 0, proof.stdout + proof.stderr


def _check_counts(path: Path) -> None:
    """Every iteration is there once with all its chunks, and the replay buffer has all its rows and no others."""
    found = [json.loads(line) for line in (path / "metrics.jsonl").read_text().splitlines()]
    training = Training.resume(path)
    settings, count = training.config.selfplay, training.counters.iteration
    assert [line["iteration"] for line in found] == list(range(1, count + 1))
    assert all(line["chunks"] == 2 and line["staleness_max"] <= 1 for line in found)
    assert sum(line["games"] for line in found) == training.counters.games == found[-1]["total_games"]
    assert training.counters.positions == count * settings.games * settings.plies
    assert int(training.state.boards[0].buffer.rows) == count * settings.plies
    assert max(line["actor_restarts"] for line in found) >= 3


def _iterations(path: Path) -> int:
    metrics = path / "metrics.jsonl"
    return len(metrics.read_text().splitlines()) if metrics.exists() else 0


def _checkpoints(path: Path) -> bool:
    return any(folder.name.isdecimal() and int(folder.name) for folder in (path / "checkpoints").glob("*"))


def _wait(condition, learner: subprocess.Popen[bytes] | None, seconds: float = 1800.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "it took too long"
        assert learner is None or learner.poll() is None, "the learner has ended"
        time.sleep(0.5)


class StoreUse(BaseObserver):
    """The bytes in the object stores of all nodes after every iteration."""

    def __init__(self, cluster) -> None:
        self._cluster, self.bytes = cluster, []

    def on_iteration(self, training, result):
        ray = self._cluster.ray
        time.sleep(0.2)  # nodes report what they use ten times a second
        self.bytes.append(ray.cluster_resources()[STORE] - ray.available_resources()[STORE])
        return {}


@pytest.mark.long
def test_the_object_store_holds_no_more_after_ten_times_as_many_iterations(ray_cluster, tmp_path):
    """Chunks and weights are large enough to go through the object store: Ray keeps objects under 100 kB elsewhere."""
    config = replace(
        TINY,
        network=mlp(256, 256, batch_norm=False),
        search=replace(TINY.search, simulations=2),
        selfplay=replace(TINY.selfplay, games=8192),
        replay=replace(TINY.replay, positions=2**17),
        checkpoints=replace(TINY.checkpoints, every=1000),
    )
    usual, most = [], []
    with connect(ray_cluster.address) as cluster:
        for iterations in (8, 80):
            training = Training.begin(RunDirectory(tmp_path / str(iterations)), replace(config, iterations=iterations))
            use = StoreUse(cluster)
            with self_play(training, cluster, actors=2) as execution:
                train(training, [use], make_iteration=execution.make_iteration, parts=execution.parts)
            usual.append(median(use.bytes[1:]))
            most.append(max(use.bytes))
    assert usual[0] > 2**19, "nothing went through the object store"
    assert usual[1] == usual[0]
    assert max(most) <= 3 * store_bytes(training.state, Plan(training.config), AHEAD)  # of three nodes
