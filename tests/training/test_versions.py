"""A run as the theses train: a teacher, epochs, a gate that restores, a checkpoint per version, a length in games."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import jax
import numpy as np
import pytest

from tabia.networks import weights
from tabia.training import state as states
from tabia.training.errors import TrainingError
from tabia.training.loop import train
from tabia.training.plan import Plan
from tabia.training.run import checkpoint, metrics
from tabia.training.run.metrics import Metrics
from tabia.training.run.stored_games import StoredGames, stored
from tabia.training.selfplay import replay
from tabia.training.training import Training
from tests.training.stopping import Until

from .comparing import games, same, timeless
from .conftest import TINY

THESIS = TINY.changed(
    {
        "iterations": 100,
        "games": 140,
        "search.rule": "puct",
        "selfplay.opening_fraction": 0.0,
        "selfplay.opening_moves": 0,
        "selfplay.teacher": "random",
        "selfplay.teacher_games": 40,
        "replay.min_positions": 1,
        "learner.epochs": 2,
        "learner.sample_positions": 64,
        "gate.kind": "score",
        "gate.every": 1,
        "gate.games": 4,
        "gate.search": "run",
        "gate.restore_on_refusal": True,
        "checkpoints.every": 1_000,
        "checkpoints.every_games": 60,
        "checkpoints.initial": True,
        "checkpoints.accepted": True,
        "checkpoints.all_games": True,
    }
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Training:
    training = Training.begin(tmp_path_factory.mktemp("runs") / "straight", THESIS)
    assert train(training, [Metrics(), StoredGames()]) == "finished"
    return training


@pytest.fixture(scope="module")
def lines(trained: Training) -> list[dict]:
    return metrics.read(trained.run)


def test_it_ends_with_the_last_game(trained: Training, lines) -> None:
    assert lines[-2]["total_games"] < 140 <= trained.counters.games == lines[-1]["total_games"]
    assert trained.progress == 1.0 and trained.counters.iteration < 100
    assert [line["progress"] for line in lines[:-1]] == [round(line["total_games"] / 140, 5) for line in lines[:-1]]


def test_the_network_learns_once_from_the_games_of_its_teacher(lines) -> None:
    last = next(number for number, line in enumerate(lines) if line["total_games"] >= 40)
    assert last > 0 and all("loss_total" not in line and "gate_passed" not in line for line in lines[:last])
    assert "loss_total" in lines[last] and "gate_passed" not in lines[last]
    assert all("loss_total" in line and "gate_passed" in line for line in lines[last + 1 :])


def test_the_games_of_the_teacher_are_discarded(lines) -> None:
    """Afterwards the buffer holds at most what has been played since."""
    last = next(number for number, line in enumerate(lines) if line["total_games"] >= 40)
    assert lines[last]["buffer_positions"] > 16 * 8 >= lines[last + 1]["buffer_positions"]


def test_there_is_a_checkpoint_of_the_start_and_one_for_every_version(trained: Training, lines) -> None:
    taught = next(line["iteration"] for line in lines if line["total_games"] >= 40)
    accepted = [line["iteration"] for line in lines if line.get("gate_passed")]
    sixties = [line["total_games"] // 60 for line in lines]
    passed = [lines[i + 1]["iteration"] for i, (old, new) in enumerate(pairwise(sixties)) if new > old]
    assert set(checkpoint.iterations(trained.run)) == {0, taught, *accepted, *passed, lines[-1]["iteration"]}
    first = weights.load(trained.run.checkpoints / "0" / checkpoint.WEIGHTS)
    expected = states.begin(Plan(THESIS)).train_state.variables
    for mine, theirs in zip(*map(jax.tree.leaves, (first.variables, expected)), strict=True):
        assert np.array_equal(mine, theirs)


def test_all_games_are_stored(trained: Training) -> None:
    found = stored(trained.run)
    assert sum(map(len, found.values())) == trained.counters.games
    assert {iteration: len(these) for iteration, these in found.items()} == {
        line["iteration"]: line["games"] for line in metrics.read(trained.run) if line["games"]
    }


@pytest.mark.parametrize("iteration", [1, 4])  # in the games of the teacher, and after them
def test_stopped_and_resumed_is_the_run_that_never_stopped(trained: Training, tmp_path: Path, iteration: int) -> None:
    stopped = Training.begin(tmp_path / "run", THESIS)
    assert train(stopped, [Metrics(), StoredGames(), Until(iteration)]) == "stopped"
    resumed = Training.resume(tmp_path / "run")
    assert resumed.counters.iteration == iteration and train(resumed, [Metrics(), StoredGames()]) == "finished"
    assert same(resumed.state, trained.state) and replace(resumed.counters, seconds=0, compile_seconds=0) == replace(
        trained.counters, seconds=0, compile_seconds=0
    )
    assert timeless(resumed.run) == timeless(trained.run) and games(resumed.run) == games(trained.run)


def test_a_run_ends_once_its_loss_is_low_enough(tmp_path: Path) -> None:
    """A target above any loss is reached by the first iteration that learns; the run stays finished."""
    config = TINY.changed({"iterations": 50, "loss_target": 1e6, "checkpoints.every": 100})
    training = Training.begin(tmp_path / "run", config)
    assert train(training, [Metrics()]) == "finished"
    losses = [line.get("loss_total") for line in metrics.read(training.run)]
    assert losses[:-1] == [None] * (len(losses) - 1) and training.counters.loss == pytest.approx(losses[-1])
    resumed = Training.resume(tmp_path / "run")
    assert resumed.progress == 1.0
    resumed.extend(iterations=1)
    assert resumed.config.loss_target == 0 and resumed.progress < 1.0


def test_an_emptied_buffer_has_nothing_to_learn_from(trained: Training) -> None:
    buffer = replay.emptied(trained.state.boards[0].buffer)
    assert int(replay.ready_positions(buffer, 1_000)) == 0 and int(buffer.rows) == 0


def test_a_number_of_games_needs_a_teacher() -> None:
    with pytest.raises(TrainingError, match=r"selfplay\.teacher_games needs a teacher"):
        TINY.changed({"selfplay.teacher_games": 10})
