"""Learning: a scan equals its steps, EMA and learning rates follow their formulas, and losses fall."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.networks.presets import tower
from tabia.training.config.schema import LearnerSettings
from tabia.training.errors import TrainingError
from tabia.training.iteration import Iteration
from tabia.training.learning import Learner, Losses, TrainState, learning_rate_at
from tabia.training.learning import steps as compiled
from tabia.training.learning.epochs import draw_epochs
from tabia.training.learning.optimizer import make_optimizer
from tabia.training.plan import Plan
from tabia.training.selfplay.play import Plies
from tabia.training.selfplay.replay import ReplayBuffer

from .conftest import TINY

LEARNING = TINY.changed(
    {
        "learner.steps": 4,
        "learner.batch_size": 32,
        "learner.warmup_steps": 3,
        "learner.ema_decay": 0.6,
        "network": tower(4, 1).changed(final_position=True),
    }
)
LEARNING_RATE = 0.01


@cache
def plan() -> Plan:
    return Plan(LEARNING)


@pytest.fixture(scope="module")
def buffer() -> ReplayBuffer:
    """Games after random openings with random policies and outcomes, all ready to learn from."""
    parts, shape = plan().selfplay, (plan().rows, LEARNING.selfplay.games)
    lanes = replace(parts, settings=replace(parts.settings, games=shape[0] * shape[1])).begin(jax.random.key(3))
    positions = jax.tree.map(lambda leaf: leaf.reshape(*shape, *leaf.shape[1:]), lanes.states)
    legal = jax.jit(jax.vmap(jax.vmap(plan().game.legal)))(positions)
    policy = (jax.random.uniform(jax.random.key(4), legal.shape) * legal).astype(jnp.float16)
    outcome = 2 * jax.random.uniform(jax.random.key(5), (*shape, 2)) - 1
    number, yes = jnp.zeros(shape, jnp.int32), jnp.ones(shape, bool)
    plies = Plies(
        positions,
        number,
        policy,
        jnp.zeros_like(outcome),
        yes,
        jnp.zeros(shape),
        yes,
        outcome,
        ~yes,
        ~yes,
        ~yes,
        yes,
        number,
        number,
    )
    return ReplayBuffer(plies, outcome, yes, jnp.zeros(shape, jnp.int16), jnp.int32(shape[0]))


@pytest.fixture(scope="module")
def train_state() -> TrainState:
    return plan().learner.init(jax.random.key(0))


def _copied(tree):
    return jax.tree.map(jnp.copy, tree)


@pytest.fixture(scope="module")
def steps(train_state, buffer) -> list[tuple[TrainState, Losses]]:
    """The reference: one training step after the other."""
    one = jax.jit(compiled.learn_step, static_argnums=0)
    key, made = jax.random.key(9), [(train_state, None)]
    for index in range(4):
        made.append(one(plan().learner, made[-1][0], buffer, key, jnp.int32(index), jnp.float32(LEARNING_RATE)))
    return made


@pytest.mark.parametrize("scanned", [True, False])  # as on GPUs and as on CPUs
def test_a_call_equals_its_steps_one_by_one(train_state, buffer, steps, scanned: bool) -> None:
    learn = compiled.learn_all if scanned else Learner.learn
    train_state, losses = learn(
        plan().learner, _copied(train_state), buffer, jax.random.key(9), jnp.float32(LEARNING_RATE)
    )
    for mine, theirs in zip(jax.tree.leaves(train_state), jax.tree.leaves(steps[-1][0]), strict=True):
        assert np.asarray(mine) == pytest.approx(np.asarray(theirs), rel=1e-4, abs=1e-6)
    for name, mean in losses.to_dict().items():
        assert mean == pytest.approx(np.mean([found.to_dict()[name] for _, found in steps[1:]]), rel=1e-4)
    assert {"loss_total", "loss_policy", "loss_value", "loss_final_position"} < set(losses.to_dict())
    assert int(train_state.step) == 4


def test_samples_drawn_in_advance_are_those_of_the_steps(train_state, buffer, steps) -> None:
    """As with a replay buffer on the host, where the samples of all steps are drawn at once."""
    drawn = compiled.sample_all(plan().learner, buffer, jax.random.key(9))
    after, _ = compiled.learn_all(
        plan().learner, _copied(train_state), drawn, jax.random.key(9), jnp.float32(LEARNING_RATE)
    )
    for mine, theirs in zip(jax.tree.leaves(after), jax.tree.leaves(steps[-1][0]), strict=True):
        assert np.asarray(mine) == pytest.approx(np.asarray(theirs), rel=1e-4, abs=1e-6)


def test_every_epoch_visits_every_position_of_the_sample_once(buffer) -> None:
    """Of 40 positions drawn from those that are ready, in mini-batches of 16; none is drawn twice."""
    number = jnp.arange(buffer.ready.size, dtype=jnp.float32).reshape(buffer.ready.shape)
    numbered = buffer._replace(outcome=jnp.stack([number, number], axis=-1), ready=number % 3 == 0)
    settings = replace(LEARNING.learner, epochs=2, sample_positions=40)
    epochs = draw_epochs(numbered, jax.random.key(2), settings, plan().window)
    assert epochs.steps(16) == 6 and int(epochs.positions) == 40
    visits = [epochs.at(jnp.int32(index), 16) for index in range(6)]
    orders = [
        np.concatenate([part.outcome[:, 0][part.weight > 0] for part in half]) for half in (visits[:3], visits[3:])
    ]
    for order in orders:
        assert len(set(order.tolist())) == len(order) == 40 and (order % 3 == 0).all()
    assert sorted(orders[0]) == sorted(orders[1]) and orders[0].tolist() != orders[1].tolist()
    assert [float(part.weight.sum()) for part in visits] == [16, 16, 8] * 2


def test_without_a_size_the_sample_is_all_that_is_ready(buffer) -> None:
    ready = jnp.arange(buffer.ready.size).reshape(buffer.ready.shape) % 7 == 0
    settings = replace(LEARNING.learner, epochs=1)
    epochs = draw_epochs(buffer._replace(ready=ready), jax.random.key(2), settings, plan().rows)
    assert int(epochs.positions) == int(ready.sum()) and epochs.steps(32) == math.ceil(int(ready.sum()) / 32)


def test_as_many_steps_as_an_argument_says(train_state, buffer, steps) -> None:
    """In one program, as on GPUs, and one by one, as on CPUs."""
    rate, key, made = jnp.float32(LEARNING_RATE), jax.random.key(9), plan().learner
    one, losses = compiled.learn_counted(made, _copied(train_state), buffer, key, rate, jnp.int32(0), jnp.int32(3))
    other, means = made.learn(_copied(train_state), buffer, key, LEARNING_RATE, 3)
    for mine, theirs, expected in zip(*map(jax.tree.leaves, (one, other, steps[3][0])), strict=True):
        assert np.asarray(mine) == pytest.approx(np.asarray(expected), rel=1e-4, abs=1e-6)
        assert np.asarray(theirs) == pytest.approx(np.asarray(expected), rel=1e-4, abs=1e-6)
    for name, mean in losses.to_dict().items():
        expected = np.mean([found.to_dict()[name] for _, found in steps[1:4]])
        assert mean == pytest.approx(expected, rel=1e-4) and means.to_dict()[name] == pytest.approx(expected, rel=1e-4)


def test_without_a_moving_average_the_new_variables_play(train_state, buffer) -> None:
    made = replace(plan().learner, settings=replace(plan().learner.settings, ema_decay=0.0))
    key, rate = jax.random.key(2), jnp.float32(LEARNING_RATE)
    one, _ = compiled.learn_counted(made, _copied(train_state), buffer, key, rate, jnp.int32(0), jnp.int32(2))
    other = _copied(train_state)
    for index in range(2):
        other, _ = compiled.learn_one(made, other, buffer, key, jnp.int32(index), rate)
    jax.tree.map(partial(np.testing.assert_allclose, rtol=1e-4, atol=1e-6), one, other)
    jax.tree.map(np.testing.assert_array_equal, one.ema, one.variables)


def test_epochs_learn_the_sample(train_state, buffer) -> None:
    made = replace(plan().learner, settings=replace(LEARNING.learner, epochs=3, sample_positions=80))
    key, rate = jax.random.key(4), jnp.float32(LEARNING_RATE)
    after, losses = made.learn(_copied(train_state), buffer, key, LEARNING_RATE)
    assert int(after.step) == 3 * math.ceil(80 / 32)
    epochs, found = made._draw_epochs(buffer, key), []
    for index in range(9):
        train_state, one = compiled.learn_one(made, _copied(train_state), epochs, key, jnp.int32(index), rate)
        found.append(one.to_dict())
    for name, mean in losses.to_dict().items():  # those of the last epoch
        assert mean == pytest.approx(np.mean([one[name] for one in found[6:]]), rel=1e-5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"learner.steps_per_game": 1.0, "learner.epochs": 5}, "learner.steps_per_game counts"),
        ({"learner.sample_positions": 100}, "learner.sample_positions is the sample of"),
    ],
)
def test_settings_that_do_not_fit_together_are_refused(changes, words) -> None:
    with pytest.raises(TrainingError, match=words):
        TINY.changed(changes)


def test_a_sample_larger_than_the_window_is_refused() -> None:
    with pytest.raises(TrainingError, match=r"learner\.sample_positions=600 is more than the 512 positions"):
        Plan(TINY.changed({"learner.epochs": 1, "learner.sample_positions": 600})).check()


def test_finished_games_decide_how_many_steps_are_taken() -> None:
    """One step per game, half a step, and none until the games pass a multiple of 20."""
    for changes, expected in (
        ({"learner.steps_per_game": 1.0}, [7, 6]),
        ({"learner.steps_per_game": 0.5}, [3, 3]),
        ({"learner.train_every_games": 20}, [0, None]),
    ):
        due, games = [], 10
        for ended in (7, 6):
            iteration = Iteration(Plan(TINY.changed(changes)), _Boards(((),)), 0, 0.0, games=games)
            iteration._summary = _Ended(ended)
            due.append(iteration._steps_due())
            games += ended
        assert due == expected


class _Boards(NamedTuple):
    boards: tuple


class _Ended(NamedTuple):
    games: int


def test_muon_updates_matrices_and_adam_the_rest() -> None:
    """The update of a matrix is nearly orthogonal, whatever the size of the gradient: equal singular values."""
    shapes = {
        "convolution": {"kernel": (3, 3, 4, 16), "bias": (16,)},
        "thin": {"kernel": (64, 3)},
        "cells": {"kernel": (2, 18, 18)},
        "depthwise": {"kernel": (5, 5, 1, 16)},
        "positions": {"bias": (2, 18, 18)},
    }
    drawn = {
        layer: {name: jax.random.normal(jax.random.key(7), shape) for name, shape in leaves.items()}
        for layer, leaves in shapes.items()
    }
    params = jax.tree.map(jnp.zeros_like, drawn)
    # None near 0, where Adam's steps are shorter.
    gradient = jax.tree.map(lambda leaf: leaf**3 + jnp.sign(leaf), drawn)
    made = make_optimizer(LearnerSettings(optimizer="muon", gradient_clip=0.0, weight_decay=0.0))
    step, _ = made.update(gradient, made.init(params), params)
    matrices = [np.asarray(step["convolution"]["kernel"]).reshape(36, 16), *np.asarray(step["cells"]["kernel"])]
    for matrix in matrices:
        sizes = np.linalg.svd(matrix, compute_uv=False)
        assert sizes.max() / np.median(sizes) < 2  # Muon's five iterations bring them close, not to 1
    for layer in ("convolution", "cells"):  # downhill, because updates are subtracted
        assert float((step[layer]["kernel"] * gradient[layer]["kernel"]).sum()) > 0
    adam = [("convolution", "bias"), ("thin", "kernel"), ("depthwise", "kernel"), ("positions", "bias")]
    for layer, name in adam:  # the first step of Adam with Nesterov's momentum: (0.9 * 0.1 / 0.19 + 1) everywhere
        expected = 1.4737 * np.sign(np.asarray(gradient[layer][name]))
        assert np.asarray(step[layer][name]) == pytest.approx(expected, abs=1e-3)


def test_the_ema_decay_is_smaller_in_the_first_steps(steps) -> None:
    for count, ((before, _), (after, _)) in enumerate(pairwise(steps)):
        keep = min(0.6, (1 + count) / (10 + count))
        for old, new, mixed in zip(*map(jax.tree.leaves, (before.ema, after.variables, after.ema)), strict=True):
            expected = keep * np.asarray(old) + (1 - keep) * np.asarray(new)
            assert np.asarray(mixed) == pytest.approx(expected, abs=1e-6)


def test_the_learning_rate_rises_in_warmup(steps) -> None:
    """Adam's first step has the length of the learning rate in every coordinate, here a third of it."""
    before, after = (jax.tree.leaves(train_state.variables.params) for train_state, _ in steps[:2])
    moved = [np.abs(np.asarray(new) - np.asarray(old)).max() for old, new in zip(before, after, strict=True)]
    assert max(moved) == pytest.approx(LEARNING_RATE / 3, rel=0.1)


@pytest.mark.parametrize(
    "changes",
    [
        {"optimizer": "muon"},
        {"optimizer": "sgd", "momentum": 0.5, "learning_rate_end": 0.0},
        {"optimizer": "adam", "policy_loss": "squared", "mask_illegal": False, "gradient_clip": 0.0},
    ],
)
def test_losses_fall(buffer, changes) -> None:
    settings = replace(LEARNING.learner, steps=50, warmup_steps=0, ema_decay=0.0, **changes)
    made = replace(plan().learner, settings=settings)
    train_state = made.init(jax.random.key(0))
    train_state, first = made.learn(train_state, buffer, jax.random.key(1), 0.03)
    train_state, second = made.learn(train_state, buffer, jax.random.key(2), 0.03)
    assert float(second.total) < float(first.total)
    for ema, latest in zip(jax.tree.leaves(train_state.ema), jax.tree.leaves(train_state.variables), strict=True):
        assert (np.asarray(ema) == np.asarray(latest)).all()  # without EMA the latest weights play


def test_learning_rate_schedules() -> None:
    cosine = LearnerSettings(learning_rate=1.0, learning_rate_end=0.2, learning_rate_schedule="cosine")
    assert [learning_rate_at(cosine, at) for at in (0, 0.5, 1)] == pytest.approx([1.0, 0.6, 0.2])
    assert learning_rate_at(cosine, 1 / 3) == pytest.approx(0.2 + 0.8 * (1 + math.cos(math.pi / 3)) / 2)
    assert learning_rate_at(LearnerSettings(learning_rate=0.5, learning_rate_schedule="constant"), 0.9) == 0.5
    stepped = LearnerSettings(
        learning_rate=2.0, learning_rate_schedule="stepped", learning_rate_drops=((0.5, 0.1), (0.8, 0.01))
    )
    rates = [learning_rate_at(stepped, at) for at in (0, 0.49, 0.5, 0.79, 0.8, 1)]
    assert rates == pytest.approx([2, 2, 0.2, 0.2, 0.02, 0.02])


def test_schedules_change_settings() -> None:
    config = replace(
        TINY, schedule=(("search.simulations", ((0.0, 2), (0.5, 8))), ("replay.iterations", ((0.0, 1), (0.25, 9))))
    )
    assert [config.at(progress).search.simulations for progress in (0, 0.49, 0.5, 1)] == [2, 2, 8, 8]
    assert config.at(0.3).replay.iterations == 9 and config.at(0.3).learner == TINY.learner
    assert Plan(config.at(0.0)).window == 8 and Plan(config).rows == Plan(config.at(1.0)).rows == 72
    assert TINY.at(0.7) is TINY


@pytest.mark.parametrize(
    ("name", "steps", "words"),
    [
        ("search.simulations", ((0.1, 2),), "must start at 0 and rise"),
        ("search.simulations", ((0.0, 2), (0.6, 3), (0.5, 4)), "must start at 0 and rise"),
        ("search.simulations", ((0.0, 2), (0.5, 0)), "from 1 to 1e+06; got 0"),
        ("selfplay.games", ((0.0, 2), (0.5, 4)), "cannot be scheduled"),
        ("network.kernel", ((0.0, 2), (0.5, 4)), "cannot be scheduled"),
    ],
)
def test_invalid_schedules_are_refused(name, steps, words) -> None:
    with pytest.raises(TrainingError) as refused:
        replace(TINY, schedule=((name, steps),))
    assert words in str(refused.value)


def test_later_steps_of_a_schedule_are_checked_before_any_work() -> None:
    late = replace(TINY, schedule=(("selfplay.opening_moves", ((0.0, 4), (0.5, 9))),))
    with pytest.raises(TrainingError, match=r"selfplay\.opening_moves=9"):
        Plan(late).check()
