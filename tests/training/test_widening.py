"""A network that is widened during a run: resumed before and after, bit for bit the same; moments; errors."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.networks import Network, NetworkError
from tabia.networks.presets import mlp, tower
from tabia.networks.weights import read_manifest
from tabia.training import pace
from tabia.training import state as states
from tabia.training.compiling import CompileAhead
from tabia.training.config import toml
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError
from tabia.training.learning.optimizer import make_optimizer
from tabia.training.learning.steps import TrainState
from tabia.training.learning.widening import widen
from tabia.training.loop import train
from tabia.training.plan import Plan
from tabia.training.report.report import write_report
from tabia.training.run import checkpoint
from tabia.training.training import Training

from .comparing import same
from .conftest import TINY

FILTERS = ("network.filters", ((0.0, 3), (0.5, 6)))
BLOCKS = ("network.blocks", ((0.0, 0), (0.5, 1)))
WIDENED = replace(
    TINY.changed(
        {
            "evaluation.games": 0,
            "checkpoints.every": 1,
            "checkpoints.resumable": 10,
            "replay.min_positions": 16,
            "gate.kind": "score",
            "gate.every": 10,
            "gate.restore_on_refusal": True,
        }
    ),
    network=tower(3, 0).changed(policy_filters=2, value_filters=2, value_units=8),
    schedule=(FILTERS, BLOCKS),
)


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Training:
    """A run of four iterations whose network is widened before the third."""
    training = Training.begin(tmp_path_factory.mktemp("runs") / "wide", WIDENED)
    train(training, [])
    return training


def test_checkpoints_hold_the_network_of_their_stage(finished: Training) -> None:
    place = finished.run.checkpoints
    held = {number: read_manifest(place / str(number) / checkpoint.WEIGHTS).network.config for number in (1, 2, 3, 4)}
    assert [(config.filters, config.blocks) for config in held.values()] == [(3, 0), (3, 0), (6, 1), (6, 1)]
    assert finished.network == held[4] and finished.config.network == WIDENED.network
    assert finished.run.config() == WIDENED  # the schedule is still there, for the report and for a resumed run


@pytest.mark.parametrize("number", [2, 3])
def test_a_run_resumed_before_or_after_widening_is_the_same_run(
    number: int, finished: Training, tmp_path: Path
) -> None:
    shutil.copytree(finished.run.path, tmp_path / "run")
    for later in range(number + 1, 5):
        shutil.rmtree(tmp_path / "run" / "checkpoints" / str(later))
    training = Training.resume(tmp_path / "run")
    assert training.counters.iteration == number and training.network.filters == (3 if number == 2 else 6)
    train(training, [])
    assert training.network == finished.network and same(training.state, finished.state)


def test_an_extended_run_keeps_its_size(finished: Training, tmp_path: Path) -> None:
    """With twelve more iterations the run is back in the first stage of its schedule, but its network is not."""
    shutil.copytree(finished.run.path, tmp_path / "run")
    training = Training.resume(tmp_path / "run")
    training.extend(iterations=12)
    assert training.config.at(training.progress).network.filters == 3
    assert training.stage.network == training.network == finished.network
    before = training.state
    training.widen()
    assert training.state is before


def test_the_wider_network_is_compiled_ahead() -> None:
    plan = Plan(WIDENED.starting)
    with CompileAhead(plan, states.begin(plan)) as ahead:
        wide = plan.stages[-1]
        assert {part.network for part in ahead._jobs} == {plan.network, wide.network}
        ahead.wait(wide)


def test_an_estimate_times_all_sizes(finished: Training) -> None:
    found = pace.estimate(WIDENED)
    assert found.iterations == 4 and found.iteration_seconds > 0
    assert found.describe()["total"].startswith("about")


def test_where_games_end_a_run_an_estimate_is_an_upper_bound() -> None:
    found = pace.estimate(WIDENED.changed({"games": 3}))
    assert found.iterations == 4 and found.describe()["total"].startswith("at most")
    assert found.describe()["run"].endswith("or fewer until 3 games")


def test_the_report_names_both_sizes(finished: Training) -> None:
    text = write_report(finished.run, rate=False).read_text()
    assert "0 residual blocks of 3 filters" in text and "widened to 1 residual blocks of 6 filters" in text


def test_champion_and_backup_are_widened_with_the_weights() -> None:
    plan = Plan(WIDENED.starting)
    now = Plan(plan.config.at(0.5))
    state = states.begin(plan)
    wide = states.widened(plan, now, state)
    assert jax.tree.map(jnp.shape, wide) == jax.tree.map(jnp.shape, states.widened_shapes(plan, now, state))
    assert same(wide.champion, wide.train_state.ema) and same(wide.backup, wide.train_state)
    assert wide.boards is state.boards and states.widened(now, now, wide) is wide


def test_moments_of_old_weights_stay_and_new_ones_start_low() -> None:
    """After one step with one gradient everywhere. Adam takes the stem with 12 filters, Muon with 20."""
    learner = Plan(WIDENED.changed({"learner.optimizer": "muon"})).learner
    old, new = (replace(learner, network=_network(filters)) for filters in (12, 20))

    @jax.jit
    def take_step() -> tuple[TrainState, TrainState]:
        start = old.init(jax.random.key(0))
        gradient = jax.tree.map(lambda leaf: jnp.full_like(leaf, 0.5), start.variables.params)
        _, moments = make_optimizer(old.settings).update(gradient, start.optimizer_state, start.variables.params)
        narrow = start._replace(optimizer_state=moments, step=jnp.int32(7))
        return narrow, widen(old, new, narrow, jax.random.key(1))

    narrow, wide = take_step()
    expected = jax.eval_shape(make_optimizer(new.settings).init, wide.variables.params)
    assert jax.tree.map(jnp.shape, wide.optimizer_state) == jax.tree.map(jnp.shape, expected) and int(wide.step) == 7
    before, after = (_by_path(state.optimizer_state) for state in (narrow, wide))
    second, taken = {path for path in after if ".nu" in path}, {path for path in after if _is_muon_stem(path)}
    assert second and taken and not any(map(_is_muon_stem, before))
    for path in second:
        np.testing.assert_allclose(after[path], np.full_like(after[path], before[path].ravel()[0]), rtol=1e-5)
    for path in taken:
        assert not after[path].any()
    (path,) = (path for path in before if "mu[" in path and "['stem']['norm']['scale']" in path)
    np.testing.assert_array_equal(after[path], [*before[path], *[0] * 8])


def _by_path(tree: Any) -> dict[str, np.ndarray]:
    return {jax.tree_util.keystr(path): np.asarray(leaf) for path, leaf in jax.tree.leaves_with_path(tree)}


def _is_muon_stem(path: str) -> bool:
    return "muon" in path and "['stem']['linear']" in path


def _network(filters: int) -> Network:
    return Network(tower(filters, 0), (3, 3, 2), 9, 2)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"schedule": (("network.filters", ((0.0, 6), (0.5, 3))),)}, r"network.filters can only rise .* has \[6, 3\]"),
        ({"schedule": (("network.filters", ((0.0, 3), (0.5, "6"))),)}, "network.filters can only rise"),
        ({"schedule": (("network.kernel", ((0.0, 3), (0.5, 5))),)}, "network.kernel cannot be scheduled"),
        ({"network": mlp(8)}, "a network of kind 'mlp' has no blocks to widen"),
    ],
)
def test_a_schedule_that_cannot_be_widened_is_refused(changes: dict[str, object], sentence: str) -> None:
    with pytest.raises(TrainingError, match=sentence):
        WIDENED.changed(changes)


def test_a_network_that_cannot_be_widened_exactly_is_refused_before_the_run(tmp_path: Path) -> None:
    config = WIDENED.changed({"network.activation": "leaky_relu"})
    with pytest.raises(NetworkError, match="leaky_relu cannot be added exactly"):
        Training.begin(tmp_path / "run", config)
    assert not (tmp_path / "run").exists()


def test_the_schedule_survives_toml() -> None:
    again = toml.from_toml(toml.to_toml(WIDENED), "a test")
    assert again == WIDENED and isinstance(again, Config)
