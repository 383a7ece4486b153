"""A replay buffer on the host: the run and its resumption are the same, bit for bit, as on the device."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import jax
import pytest

from tabia.networks.presets import tower
from tabia.search import memory
from tabia.training import state as states
from tabia.training.config.toml import to_toml
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.selfplay.replay import ReplayBuffer
from tests.training.conftest import TINY

# Two CPU devices: the first is the device, the last is the host.
SCRIPT = """
import sys
from pathlib import Path
import jax
from tabia.training import iteration
from tabia.training import state as states
from tabia.training.run.directory import RunDirectory
from tabia.training.loop import train
from tabia.training.training import Training
from tabia.training.plan import Plan
from tabia.training.selfplay.replay import host_of
from tabia.training.config.toml import from_toml

assert len(jax.devices()) == 2
found = {}
for place in ("device", "host"):
    config = from_toml(sys.argv[2], "argument").changed({"replay.place": place, "evaluation.every": 0})
    run = RunDirectory(Path(sys.argv[1]) / place)
    train(Training.begin(run, config))
    resumed = Training.resume(run)
    state, _ = iteration.run(Plan(config), resumed.state, resumed.counters.iteration, 1.0)
    assert (host_of(state.boards[0].buffer) is None) == (place == "device")
    assert ("machine" in states.replay_size(state)) == (place == "host")
    found[place] = states.to_arrays(state)
for name, array in found["device"].items():
    assert (array == found["host"][name]).all(), name
"""


@pytest.mark.long
def test_the_run_is_the_same_on_host_and_device(tmp_path: Path) -> None:
    env = os.environ | {"XLA_FLAGS": "--xla_force_host_platform_device_count=2"}
    config = TINY.changed({"selfplay.revisit_fraction": 0.5, "network": tower(4, 1).changed(final_position=True)})
    words = [sys.executable, "-c", SCRIPT, str(tmp_path), to_toml(config)]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def buffer() -> ReplayBuffer:
    """The shapes of a replay buffer of about 50 kB."""
    return jax.eval_shape(lambda: states.begin(Plan(TINY)).boards[0].buffer)


@pytest.mark.parametrize(
    ("place", "device", "machine", "goes"),
    [
        ("auto", 1e9, 1e9, "device"),
        ("auto", 1e5, 1e9, "host"),
        ("auto", 1e5, 1e5, "nowhere"),
        ("device", 1e5, 1e9, "nowhere"),
        ("host", 1e9, 1e9, "host"),
        ("host", 1e9, 1e5, "nowhere"),
    ],
)
def test_it_is_placed_where_it_fits(monkeypatch, buffer, place: str, device: float, machine: float, goes: str) -> None:
    monkeypatch.setattr(memory, "device_memory", lambda: int(device))
    monkeypatch.setattr(memory, "machine_memory", lambda: int(machine))
    plan = Plan(TINY.changed({"replay.place": place}))
    if goes == "nowhere":
        with pytest.raises(TrainingError, match=r"lower replay\.positions"):
            states._host(plan, [buffer])
    else:
        assert (states._host(plan, [buffer]) is not None) == (goes == "host")
