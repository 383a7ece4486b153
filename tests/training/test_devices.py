"""Four devices play the same games as one and learn the same from them, and each resumes the other's checkpoints."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from tabia.networks.presets import mlp
from tabia.training.config.schema import Config
from tabia.training.config.toml import to_toml

from .conftest import TINY

# Each device computes the losses and gradients of its part of a batch, and these are added up, so sums of 16 numbers
# are rounded in another order: by at most 16 * 2^-24, about 1e-6, of their terms. Adam divides gradients by their size
# and so keeps relative errors; four iterations of two steps of 1e-5 and less (warmup) leave them below 1e-5.
TOLERANCE = 1e-5
QUICK = TINY.changed({"network": mlp(16), "replay.min_positions": 1, "selfplay.plies": 6})
MORE = QUICK.changed(
    {
        "selfplay.revisit_fraction": 0.5,
        "selfplay.temperature_by": "seat",
        "selfplay.epsilon": 0.1,
        "search.rule": "puct",
        "search.reuse_tree": True,
    }
)
SCRIPT = Path(__file__).with_name("devices_script.py")
FLAG = "--xla_force_host_platform_device_count=4"
COLLECTIVES = "all-gather|all-reduce|all-to-all|collective-permute|collective-broadcast|reduce-scatter"


class Runs:
    """What `devices_script` wrote."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.facts = folder, json.loads((folder / "facts.json").read_text())

    def arrays(self, name: str) -> dict[str, np.ndarray]:
        return dict(np.load(self.folder / f"{name}.npz"))

    def collectives(self, program: str) -> list[str]:
        """The lines of a compiled program that exchange something between devices."""
        lines = (self.folder / f"{program}.txt").read_text().splitlines()
        return [line for line in lines if re.search(rf" ({COLLECTIVES})(-start)?\(", line)]


def run(folder: Path, config: Config, player: str) -> Runs:
    env = os.environ | {"XLA_FLAGS": f"{os.environ.get('XLA_FLAGS', '')} {FLAG}"}
    words = [sys.executable, str(SCRIPT), str(folder), to_toml(config), player]
    done = subprocess.run(words, env=env, capture_output=True, text=True, timeout=400, check=False)
    assert done.returncode == 0, done.stderr
    return Runs(folder)


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    return run(tmp_path_factory.mktemp("devices"), QUICK, "minimax:depth=1")


def compare(runs: Runs, one: str, other: str) -> None:
    """Everything that counts games, moves and steps is the same; numbers of the network are, up to rounding."""
    mine, theirs = runs.arrays(one), runs.arrays(other)
    assert mine.keys() == theirs.keys()
    for name, array in mine.items():
        if array.dtype.kind == "f" and "outcome" not in name and "scores" not in name:
            np.testing.assert_allclose(array, theirs[name], rtol=TOLERANCE, atol=TOLERANCE, err_msg=name)
        else:
            np.testing.assert_array_equal(array, theirs[name], err_msg=name)
    for line, other_line in zip(runs.facts[one], runs.facts[other], strict=True):
        assert {"scores", "first_moves", "games", "loss_total"} <= line.keys() == other_line.keys()
        for name, value in line.items():
            if isinstance(value, float):
                assert value == pytest.approx(other_line[name], rel=TOLERANCE, abs=TOLERANCE), name
            else:
                assert value == other_line[name]


def test_four_devices_play_the_games_of_one_and_learn_the_same(runs: Runs) -> None:
    compare(runs, "1-first", "4-first")


@pytest.mark.parametrize("name", ["1-then-4", "4-then-1", "4-then-4"])
def test_each_resumes_the_checkpoint_of_the_other(runs: Runs, name: str) -> None:
    compare(runs, "1-then-1", name)


def test_self_play_exchanges_nothing_between_devices(runs: Runs) -> None:
    inside = [line for line in runs.collectives("play") if "while/body" in line]
    assert not inside
    assert "while/body" in (runs.folder / "play.txt").read_text()  # the names of operations are in the text


def test_the_gradient_is_added_up_over_all_devices(runs: Runs) -> None:
    sums = "".join(line for line in runs.collectives("learn") if "all-reduce" in line and "transpose(jvp" in line)
    kernels = [array.shape for name, array in runs.arrays("4-first").items() if re.search(r"\.variables.*kernel", name)]
    assert len(kernels) == 3
    for rows, columns in kernels:
        assert f"f32[{rows},{columns}]" in sums or f"f32[{columns},{rows}]" in sums


def test_lanes_and_the_replay_buffer_are_split_and_everything_is_on_all_devices(runs: Runs) -> None:
    assert set(runs.facts["shards"]) == {4} and set(runs.facts["parts"]) == {4.0}


def test_programs_are_compiled_ahead(runs: Runs) -> None:
    assert runs.facts["compiled late"] == []


def test_an_interrupted_iteration_is_undone(runs: Runs) -> None:
    assert runs.facts["restored"] is True


def test_matches_have_the_same_games(runs: Runs) -> None:
    assert len(runs.facts["1 games"]) == 16 and runs.facts["1 games"] == runs.facts["4 games"]


@pytest.mark.long
def test_random_draws_of_search_and_self_play_do_not_depend_on_the_devices(tmp_path: Path) -> None:
    """Revisits, Dirichlet noise, reused trees and random moves in self-play; rollouts with several leaves in a match."""
    runs = run(tmp_path, MORE, "mcts:simulations=8,leaves=2")
    for name in ("1-then-4", "4-then-1", "4-then-4"):
        compare(runs, "1-then-1", name)
    assert runs.facts["1 games"] == runs.facts["4 games"] and runs.facts["restored"] is True
    searching = [line for line in runs.collectives("play") if "jit(continue_unchecked)/while" in line]
    assert not searching
