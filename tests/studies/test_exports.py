"""Exported weights: every version of a run once, in half precision."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from tabia import games
from tabia.networks import Network, presets, weights
from tabia.players import runs
from tabia.studies.matches import until
from tabia.studies.part import NoControl, Place
from tabia.studies.trainings import export

GAME = games.make("tictactoe")


@pytest.fixture
def gated(tmp_path: Path) -> Path:
    """A run whose gate accepted the networks of iterations 0, 2 and 5, with further checkpoints in between."""
    network = Network(presets.mlp(8), GAME.observation_shape, GAME.num_actions, GAME.num_players)
    for step, seed in ((0, 0), (1, 0), (2, 2), (3, 2), (4, 2), (5, 5), (7, 5)):
        folder = tmp_path / "run" / "checkpoints" / f"{step:06d}"
        folder.mkdir(parents=True)
        noted = {"game": GAME.id, "game_version": GAME.version, "iteration": step}
        weights.save(folder / runs.WEIGHTS, network, network.init(jax.random.key(seed)), noted)
    (tmp_path / "run" / "best").write_text("7\n")
    return tmp_path / "run"


def test_equal_networks_are_exported_once(gated: Path, tmp_path: Path) -> None:
    export(gated, tmp_path / "weights")
    assert list(runs.steps(tmp_path / "weights")) == [0, 2, 5]
    assert (tmp_path / "weights" / "best").read_text() == "5\n"  # the same network as in iteration 7
    export(gated, tmp_path / "weights")
    assert list(runs.steps(tmp_path / "weights")) == [0, 2, 5]


def test_without_a_gate_every_checkpoint_is_exported(gated: Path, tmp_path: Path) -> None:
    (gated / "best").unlink()
    export(gated, tmp_path / "weights")
    assert list(runs.steps(tmp_path / "weights")) == [0, 1, 2, 3, 4, 5, 7]


def test_exported_weights_are_those_of_the_run(gated: Path, tmp_path: Path) -> None:
    export(gated, tmp_path / "weights")
    was = weights.load(gated / "checkpoints" / "000002" / runs.WEIGHTS).weights
    now = weights.load(tmp_path / "weights" / "checkpoints" / "2" / runs.WEIGHTS).weights
    for left, right in zip(jax.tree.leaves(was), jax.tree.leaves(now), strict=True):
        np.testing.assert_allclose(left, right, rtol=2**-10, atol=1e-7)  # half precision


def test_a_player_of_the_first_iterations_has_the_last_version_before_their_end(gated: Path, tmp_path: Path) -> None:
    export(gated, tmp_path / "train-0" / "weights")
    place = Place(tmp_path, NoControl(), folder_of=lambda part: tmp_path / part)
    names = [until("train-0", count, player="network")(GAME, place).spec for count in (1, 4, 5, 9)]
    assert names == [f"network:train-0@{step}" for step in (0, 2, 5, 5)]
