"""Comparison with mctx: equal visit counts for the same network and settings, on 1,000 positions of Connect 4.

Differences by design are removed here:

- Unvisited actions: ours take a value of the rule's choice (0 by default), mctx's PUCT a rescaled mean of the
  siblings. mctx gets a q-transform that returns 0, without rescaling.
- Illegal actions: ours are never visited; mctx masks them only at the root and relies on the prior below, so where all
  legal actions lose, a value of 0 would attract it. Its q-transform returns -1e9 for actions without a prior. Gumbel's
  rule does not need this: some legal action is always behind its share of visits.
- Exploration: mctx's c grows with log((N + base + 1) / base); ours does if a base is given.
- Ties: ours take the first action; mctx adds noise of 1e-7, much less than the differences of a random network.
- Gumbel's values: mctx rescales them to [0, 1] by default (`rescale_values`, value_scale 0.1); ours does not
  (value_scale 1). Both are compared.
- Finished games: mctx adds nodes for them and continues with reward and discount 0; ours scores them by the rules each
  time. The values are equal.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import State
from tabia.search import Evaluation, Gumbel, Puct, Search
from tabia.search.rules import Rule

from .positions import random_positions

mctx = pytest.importorskip("mctx")

GAME = games.make("connect4")
POSITIONS, SIMULATIONS = 1000, 32


def network(weights: tuple[Array, Array], states: State) -> tuple[Array, Array]:
    """Logits [B, A] and the mover's value [B]."""
    planes = jax.vmap(GAME.observe)(states).reshape(-1, 84)
    return planes @ weights[0], jnp.tanh(planes @ weights[1])[:, 0]


def evaluate(weights: tuple[Array, Array], states: State, key: Array) -> Evaluation:
    logits, value = network(weights, states)
    mine = jnp.arange(2)[None] == jax.vmap(GAME.mover)(states)[:, None]
    return Evaluation(logits, jnp.where(mine, value[:, None], -value[:, None]))


def masked(logits: Array, states: State) -> Array:
    return jnp.where(jax.vmap(GAME.legal)(states), logits, jnp.finfo(jnp.float32).min)


def recurrent(weights: tuple[Array, Array], key: Array, action: Array, states: State) -> tuple[Any, State]:
    after = jax.vmap(GAME.step)(states, action)
    over, scores = jax.vmap(GAME.over)(after), jax.vmap(GAME.scores)(after)
    mover = jax.vmap(GAME.mover)(states)
    ended = over & ~jax.vmap(GAME.over)(states)
    reward = jnp.where(ended, jnp.take_along_axis(scores, mover[:, None], axis=1)[:, 0], 0.0)
    logits, value = network(weights, after)
    return mctx.RecurrentFnOutput(
        reward=reward,
        discount=jnp.where(over, 0.0, -1.0),
        prior_logits=masked(logits, after),
        value=jnp.where(over, 0.0, value),
    ), after


def plain_values(tree: Any, node: Array) -> Array:
    """Mean values, 0 for unvisited actions, -1e9 for illegal ones."""
    tried = tree.children_visits[node] > 0
    return jnp.where(tree.children_prior_logits[node] < -1e30, -1e9, jnp.where(tried, tree.qvalues(node), 0.0))


PUCT = partial(mctx.muzero_policy, dirichlet_fraction=0.0, pb_c_init=1.25, pb_c_base=19652.0, qtransform=plain_values)
RESCALED = partial(mctx.gumbel_muzero_policy, gumbel_scale=0.0)
PLAIN = partial(
    mctx.gumbel_muzero_policy,
    gumbel_scale=0.0,
    qtransform=partial(mctx.qtransform_completed_by_mix_value, value_scale=1.0, rescale_values=False),
)


@partial(jax.jit, static_argnums=0)
def by_mctx(policy: Any, weights: tuple[Array, Array], states: State) -> tuple[Array, Array, Array]:
    """Visits, the chosen action and the recommended policy."""
    logits, value = network(weights, states)
    root = mctx.RootFnOutput(prior_logits=masked(logits, states), value=value, embedding=states)
    output = policy(
        weights, jax.random.key(0), root, recurrent, SIMULATIONS, invalid_actions=~jax.vmap(GAME.legal)(states)
    )
    return output.search_tree.summary().visit_counts, output.action, output.action_weights


@pytest.fixture(scope="module")
def weights() -> tuple[Array, Array]:
    rng = np.random.default_rng(0)
    return jnp.asarray(rng.normal(size=(84, 7)) * 0.3, jnp.float32), jnp.asarray(
        rng.normal(size=(84, 1)) * 0.2, jnp.float32
    )


@pytest.mark.parametrize(
    ("rule", "policy"),
    [
        (Puct(c=1.25, base=19652.0), PUCT),
        (Gumbel(gumbel_scale=0.0), PLAIN),
        pytest.param(Gumbel(gumbel_scale=0.0, rescale_values=True, value_scale=0.1), RESCALED, marks=pytest.mark.long),
    ],
    ids=["puct", "gumbel", "gumbel stretched"],
)
def test_visits_equal_those_of_mctx(rule: Rule, policy: Any, weights: tuple[Array, Array]) -> None:
    states = random_positions(GAME, POSITIONS, seed=5, most_moves=30)
    ours = Search(GAME, evaluate, SIMULATIONS, rule).run(weights, states, jax.random.key(1))
    visits, action, recommended = by_mctx(policy, weights, states)
    assert np.asarray(visits).sum() == POSITIONS * SIMULATIONS
    np.testing.assert_array_equal(np.asarray(ours.visits), np.asarray(visits))
    if isinstance(rule, Gumbel):
        np.testing.assert_array_equal(np.asarray(ours.action), np.asarray(action))
        np.testing.assert_allclose(np.asarray(ours.policy), np.asarray(recommended), atol=1e-4)
