"""Policies in the replay buffer: few actions are all kept, of many actions only the smallest are lost."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tabia.training import Training, iteration
from tabia.training import state as states
from tabia.training.loop import train
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory
from tabia.training.selfplay import replay

from .conftest import TINY


def test_few_actions_are_all_kept() -> None:
    policy = jax.nn.softmax(jax.random.normal(jax.random.key(0), (5, replay.MANY_ACTIONS)))
    kept, actions = replay.compress_policy(policy)
    assert actions is None and (kept == policy.astype("float16")).all()
    assert (replay.expand_policy(kept, actions, replay.MANY_ACTIONS) == kept).all()


@pytest.mark.parametrize("count", [513, 4672, 40_000])
def test_of_many_actions_the_largest_probabilities_are_kept(count: int) -> None:
    dice = np.random.default_rng(count)
    policy = np.zeros((20, count), np.float32)
    for row in policy:
        row[dice.choice(count, 100, replace=False)] = dice.dirichlet(np.ones(100))
    found = replay.expand_policy(*replay.compress_policy(policy), count)
    assert (np.asarray(found) == policy.astype(np.float16)).all(), "there are fewer legal moves than are kept"
    crowded = dice.dirichlet(np.ones(count), 20).astype(np.float32)
    found = np.asarray(replay.expand_policy(*replay.compress_policy(crowded), count))
    assert ((found > 0).sum(1) == replay.KEPT_ACTIONS).all()
    for row, kept in zip(crowded, found, strict=True):
        assert row[kept > 0].min() >= row[kept == 0].max()


@pytest.mark.long
def test_a_run_with_many_actions_stores_and_restores_them(tmp_path, monkeypatch) -> None:
    """Chinese checkers has 320 actions, enough for this test; its policies are distributions over legal moves."""
    monkeypatch.setattr(replay, "MANY_ACTIONS", 319)
    config = TINY.changed(
        {
            "game": "chinese-checkers",
            "selfplay.opening_moves": 4,
            "selfplay.teacher": "initialize",
            "replay.min_positions": 1,
            "iterations": 2,
            "evaluation.every": 0,
        }
    )
    training = Training.begin(RunDirectory(tmp_path / "run"), config)
    train(training)
    plan, state = Plan(config), Training.resume(RunDirectory(tmp_path / "run")).state
    plies = state.boards[0].buffer.plies
    assert plies.policy.shape[-1] == replay.KEPT_ACTIONS and plies.policy_actions.dtype == np.int16
    rows = jax.tree.map(lambda leaf: leaf[:16].reshape(-1, *leaf.shape[2:]), plies)
    policy = np.asarray(replay.expand_policy(rows.policy, rows.policy_actions, plan.game.num_actions))
    legal = np.asarray(jax.vmap(plan.game.legal)(rows.states))
    assert policy.sum(1) == pytest.approx(1.0, abs=1e-2) and (policy[~legal] == 0).all()
    for one, other in zip(jax.tree.leaves(training.state), jax.tree.leaves(state), strict=True):
        assert (np.asarray(one) == np.asarray(other)).all()
    assert iteration.run(plan, states.begin(plan), 0, 0.0)[1].selfplay.first_moves.shape == (320,)
