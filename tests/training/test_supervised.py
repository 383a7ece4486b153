"""Supervised learning: labels are the solver's, the tree has its published size, and the run is like any other."""

from __future__ import annotations

from pathlib import Path

import jax
import numpy as np
import pytest

from tabia import players
from tabia.games import make
from tabia.games.session import Session
from tabia.networks import Network, NetworkError
from tabia.networks.presets import goldberg_ishay, tower
from tabia.solvers.exact import solve
from tabia.training import supervised
from tabia.training.config.schema import (
    CheckpointSettings,
    Config,
    EvaluationSettings,
    LearnerSettings,
    ReplaySettings,
    SelfPlaySettings,
    SupervisedSettings,
)
from tabia.training.errors import TrainingError
from tabia.training.loop import train
from tabia.training.plan import Plan
from tabia.training.run import metrics
from tabia.training.run.metrics import Metrics
from tabia.training.training import Training
from tests.training.stopping import Until

from .comparing import same, timeless

CONNECT3 = Config(
    game="connect3",
    iterations=30,
    network=goldberg_ishay().changed(convolutions=(8, 8), units=(64,)),
    supervised=SupervisedSettings(positions="tree", accuracy=0.8),
    selfplay=SelfPlaySettings(games=1, plies=1, opening_moves=0),
    replay=ReplaySettings(positions=1),
    learner=LearnerSettings(
        epochs=1, sample_positions=3200, batch_size=64, optimizer="adam", value_weight=0.0, ema_decay=0.0
    ),
    evaluation=EvaluationSettings(games=0),
    checkpoints=CheckpointSettings(every=100),
)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Training:
    training = Training.begin(tmp_path_factory.mktemp("runs") / "straight", CONNECT3)
    assert train(training, [Metrics()]) == "finished"
    return training


def test_the_tree_has_the_nodes_that_goldberg_and_ishay_counted() -> None:
    """Over 2.7e5 states: 277,167 nodes, which are 7,157 distinct positions."""
    found = supervised.solved(make("connect3"), "first")
    assert found.nodes.sum() == 277_167 and len(found.nodes) == 7_157


def test_labels_are_best_moves_and_none_where_the_game_is_over() -> None:
    game = make("connect3")
    first, every = (supervised.solved(game, labels) for labels in ("first", "all"))
    over = np.asarray(jax.jit(jax.vmap(game.over))(first.states))
    assert (first.policy[over] == 0).all() and (first.policy[~over].sum(axis=1) == 1).all()
    legal, mover = (np.asarray(jax.jit(jax.vmap(rule))(first.states)) for rule in (game.legal, game.mover))
    solution, rows = solve(game), np.arange(len(mover))
    for action in range(game.num_actions):  # a best move keeps the mover's value
        after = jax.jit(jax.vmap(game.step, (0, None)))(first.states, action)
        keeps = legal[:, action] & (solution.values(after)[rows, mover] == first.values[rows, mover])
        assert ((every.policy[:, action] > 0) == keeps).all()
    assert (np.argmax(first.policy, axis=1) == np.argmax(every.policy > 0, axis=1)).all()


def test_it_ends_at_its_accuracy(trained: Training) -> None:
    lines = metrics.read(trained.run)
    assert lines[-2]["accuracy"] < 0.8 <= lines[-1]["accuracy"] and len(lines) < 30
    assert trained.counters.accuracy == lines[-1]["accuracy"] and trained.progress == 1.0
    assert trained.counters.games == trained.counters.positions == 0


def test_the_accuracy_is_that_of_the_network_as_a_player(trained: Training) -> None:
    """By nodes, counting finished positions as right: play masks illegal moves, so it is right at least as often."""
    game, found = make("connect3"), supervised.solved(make("connect3"), "first")
    player = players.make(f"network:{trained.run.path}", game)
    going = found.policy.sum(axis=1) > 0
    chosen = np.asarray(player.choose(found.states, jax.random.key(0)).actions)
    named = found.policy[np.arange(len(chosen)), chosen] > 0
    assert np.average(named | ~going, weights=found.nodes) >= trained.counters.accuracy - 1e-6
    assert np.average(named[going], weights=found.nodes[going]) > 0.6  # one of four columns would be right in 0.25


def test_stopped_and_resumed_is_the_run_that_never_stopped(trained: Training, tmp_path: Path) -> None:
    stopped = Training.begin(tmp_path / "run", CONNECT3)
    assert train(stopped, [Metrics(), Until(1)]) == "stopped"
    resumed = Training.resume(tmp_path / "run")
    assert train(resumed, [Metrics()]) == "finished"
    assert same(resumed.state, trained.state) and timeless(resumed.run) == timeless(trained.run)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learner.epochs": 0, "learner.sample_positions": 0}, "learns in epochs"),
        ({"gate.kind": "score"}, "has no gate"),
    ],
)
def test_settings_that_a_supervised_run_cannot_have(changes, words) -> None:
    with pytest.raises(TrainingError, match=words):
        CONNECT3.changed(changes)


def test_without_a_sample_size_an_epoch_is_the_whole_tree() -> None:
    iteration = supervised.SupervisedIteration(Plan(CONNECT3.changed({"learner.sample_positions": 0})), None, 0, 0.0)
    assert len(iteration._draw()) == 277_167
    distinct = CONNECT3.changed({"learner.sample_positions": 0, "supervised.positions": "distinct"})
    assert sorted(supervised.SupervisedIteration(Plan(distinct), None, 0, 0.0)._draw()) == list(range(7_157))


def test_a_network_that_cannot_name_the_end_learns_unfinished_positions_alone() -> None:
    """Then every position counted has a labeled move, so that a network can be right everywhere."""
    other = {"network": tower(4, 1), "learner.sample_positions": 0, "supervised.positions": "distinct"}
    drawn = supervised.SupervisedIteration(Plan(CONNECT3.changed(other)), None, 0, 0.0)._draw()
    labels = supervised.solved(make("connect3"), "first").policy
    assert sorted(drawn) == list(np.flatnonzero(labels.any(axis=1)))


def test_the_network_reads_one_signed_plane() -> None:
    """On the bottom row, the mover's stone is 1 and the other's -1, whoever moves."""
    game = make("connect3")
    network = Network.of(CONNECT3.network, game)
    assert network.observation_shape == (3, 4, 1)
    for moves, signs in (("1", {0: -1.0}), ("1 2", {0: 1.0, 1: -1.0})):
        plane = np.asarray(network.observe(game, Session.from_moves(game, moves).state))[..., 0]
        assert plane.sum() == sum(signs.values()) and {i: plane[-1, i] for i in signs} == signs
    with pytest.raises(NetworkError, match="is for two seats"):
        Network.of(CONNECT3.network, make("chinese-checkers"))
