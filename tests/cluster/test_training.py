"""Training with actors in this process: the plain loop's run, bit for bit, and the same run however actors die."""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np
import pytest

from tabia.networks.presets import mlp
from tabia.training import state as states
from tabia.training.config.schema import (
    CheckpointSettings,
    Config,
    EvaluationSettings,
    LearnerSettings,
    ReplaySettings,
    SearchSettings,
    SelfPlaySettings,
)
from tabia.training.loop import train
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory
from tabia.training.run.metrics import Metrics
from tabia.training.training import Training

from .fakes import in_process

TINY = Config(
    game="tictactoe",
    iterations=5,
    network=mlp(16, batch_norm=False),
    search=SearchSettings(simulations=4, considered_actions=4),
    selfplay=SelfPlaySettings(games=16, plies=8, opening_moves=4, revisit_fraction=0.25),
    replay=ReplaySettings(positions=512, min_positions=150),
    learner=LearnerSettings(steps=2, batch_size=16),
    evaluation=EvaluationSettings(every=0),
    checkpoints=CheckpointSettings(every=2),
)
ACTOR_FIELDS = {"actors", "actor_restarts", "chunks", "chunk_bytes", "chunk_seconds", "wait_seconds"}
STALENESS = {"staleness", "staleness_max"}


def arrays(training: Training) -> dict[str, np.ndarray]:
    return states.to_arrays(training.state)


def lines(training: Training, without: set[str] = ACTOR_FIELDS | STALENESS) -> list[dict[str, object]]:
    found = [json.loads(line) for line in training.run.metrics.read_text().splitlines()]
    return [{name: value for name, value in line.items() if name not in without | {"seconds"}} for line in found]


def assert_same(one: Training, other: Training) -> None:
    first, second = arrays(one), arrays(other)
    assert first.keys() == second.keys()
    for name in first:
        np.testing.assert_array_equal(first[name], second[name], err_msg=name)
    assert lines(one) == lines(other)


def trained(path, config=TINY, **options) -> Training:
    training = Training.begin(RunDirectory(path), config)
    if not options:
        train(training, [Metrics()])
        return training
    with in_process(Plan(config), **options) as (execution, _):
        train(training, [Metrics()], make_iteration=execution.make_iteration, parts=execution.parts)
    return training


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    return trained(tmp_path_factory.mktemp("plain") / "run")


def test_one_slot_and_nothing_ahead_is_the_plain_loop_bit_for_bit(plain, tmp_path):
    assert_same(plain, trained(tmp_path / "run", slots=1, ahead=0))


def test_the_run_is_the_same_however_actors_die(tmp_path):
    calm = trained(tmp_path / "calm", slots=2, ahead=1)
    stormy = trained(tmp_path / "stormy", slots=2, ahead=1, actors=3, dies=lambda call: call % 3 == 1)
    assert_same(calm, stormy)
    assert lines(stormy, set())[-1]["actor_restarts"] >= 4


def test_weights_are_as_old_as_the_rounds_ahead(tmp_path):
    for ahead in (0, 2):
        training = trained(tmp_path / str(ahead), slots=2, ahead=ahead)
        found = lines(training, set())
        assert [line["staleness_max"] for line in found] == [min(number, ahead) for number in range(5)]
        assert all(line["staleness"] == line["staleness_max"] and line["chunks"] == 2 for line in found)
        assert training.counters.positions == 5 * 16 * 8


def test_a_resumed_run_goes_on_from_the_lanes_of_its_checkpoint(plain, tmp_path):
    """What was played ahead of the checkpoint is played again, so the plain loop and a cluster can take turns."""
    training = Training.begin(RunDirectory(tmp_path / "run"), TINY)
    with in_process(Plan(TINY), slots=1, ahead=0) as (execution, _):

        class StopsAfterTwo(Metrics):
            def on_iteration(self, training, result):
                if training.counters.iteration == 2:
                    training.stopping.append(1)
                return super().on_iteration(training, result)

        made = train(training, [StopsAfterTwo()], make_iteration=execution.make_iteration, parts=execution.parts)
        assert made == "stopped"
    resumed = Training.resume(training.run)
    assert resumed.counters.iteration == 2
    with in_process(Plan(TINY), slots=1, ahead=0) as (execution, _):
        train(resumed, [Metrics()], make_iteration=execution.make_iteration, parts=execution.parts)
    assert_same(plain, resumed)


def test_a_schedule_discards_what_was_played_ahead(tmp_path):
    """Every iteration is played with the settings of its own stage."""
    config = replace(TINY, schedule=(("selfplay.teacher", ((0.0, "random"), (0.5, ""))),))
    training = Training.begin(RunDirectory(tmp_path / "run"), config)
    taught: list[bool] = []
    with in_process(Plan(config), slots=1, ahead=1) as (execution, launcher):
        take = execution.rounds.pool.take

        def noted(keys):
            found = take(keys)
            taught.extend('teacher = "random"' in _last(launcher.played, key).config for key in keys)
            return found

        execution.rounds.pool.take = noted
        train(training, [Metrics()], make_iteration=execution.make_iteration, parts=execution.parts)
    assert taught == [True, True, True, False, False]  # half of five iterations
    assert [line["staleness_max"] for line in lines(training, set())] == [0, 1, 1, 0, 1]


def _last(tasks, key):
    return [task for task in tasks if task.key == key][-1]
