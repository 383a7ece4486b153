"""Laws of every search, for any rule, options and position."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tabia import games
from tabia.search import Gumbel, MiniAlphaGo, Pbbm, Puct, Result, Search, Uct
from tabia.search.evaluators import Heuristic, Mix, Rollout
from tabia.search.rules.puct import Reduced
from tabia.search.tree import LINK, SEAT, TOTAL, VISITS, root_view

from .positions import random_network, random_positions, random_weights
from .toy_games import Race

CONNECT, RACE, STAR = games.make("connect3"), Race(), games.make("chinese-checkers")
BATCH = 16

# Compilation is slow, so there are few searches; positions, networks and keys are random.
SEARCHES = [
    Search(CONNECT, random_network(CONNECT), 40, Puct(dirichlet_fraction=0.25)),
    Search(CONNECT, random_network(CONNECT), 40, Gumbel(considered_actions=3)),
    Search(CONNECT, Rollout(CONNECT), 30, Uct(), transpositions=True),
    Search(RACE, random_network(RACE), 40, MiniAlphaGo(c1=1.0), leaves=4, transpositions=True),
    Search(RACE, random_network(RACE), 40, Gumbel(), leaves=5),
]
MORE_SEARCHES = [
    Search(
        CONNECT,
        random_network(CONNECT),
        40,
        Puct(untried_value=Reduced(), dirichlet_fraction=0.25, dirichlet_alpha=0.1),
        leaves=8,
    ),
    Search(CONNECT, Mix(Heuristic(CONNECT), Rollout(CONNECT, max_moves=3)), 30, Pbbm()),
    Search(
        STAR,
        random_network(STAR),
        32,
        Puct(c=15.0, own_visit=False, dirichlet_fraction=0.25),
        cut_loops=True,
        max_depth=3,
    ),
]


@settings(max_examples=30, deadline=None, derandomize=True)
@given(search=st.sampled_from(SEARCHES), seed=st.integers(0, 2**31 - 1))
def test_laws(search: Search, seed: int) -> None:
    check_laws(search, seed)


@pytest.mark.long
@settings(max_examples=54, deadline=None, derandomize=True)
@given(search=st.sampled_from([*SEARCHES, *MORE_SEARCHES]), seed=st.integers(0, 2**31 - 1))
def test_laws_of_more_searches(search: Search, seed: int) -> None:
    check_laws(search, seed)


def check_laws(search: Search, seed: int) -> None:
    game = search.game
    states = random_positions(game, BATCH, seed=seed, most_moves=8)
    parameters: Any = random_weights(game, seed % 1000)
    result = search.run(parameters, states, jax.random.key(seed))
    legal = np.asarray(jax.vmap(game.legal)(states))
    visits = np.asarray(result.visits)

    np.testing.assert_array_equal(visits.sum(axis=1), search.simulations)
    assert (visits[~legal] == 0).all()
    assert legal[np.arange(BATCH), np.asarray(result.action)].all()
    np.testing.assert_allclose(np.where(legal, root_view(result.tree).priors, 0.0).sum(axis=1), 1.0, atol=1e-5)
    assert (np.asarray(root_view(result.tree).priors)[~legal] == 0).all()
    np.testing.assert_allclose(np.asarray(result.policy).sum(axis=1), 1.0, atol=1e-5)
    assert (np.asarray(result.policy)[~legal] == 0).all()
    for values in (result.values, result.means):
        assert np.abs(np.asarray(values)).max() <= 1.0 + 1e-5
    check_value_follows_from_policy(result, np.asarray(jax.vmap(game.mover)(states)))
    check_tree(search, result.tree.records, int(result.tree.size))


def check_value_follows_from_policy(result: Result, mover: np.ndarray) -> None:
    """The mover's value follows from its means; the reference implementation checks the other seats."""
    lanes, visits, means = np.arange(BATCH), np.asarray(result.visits), np.asarray(result.means)
    own = np.asarray(result.tree.root_values)[lanes, mover]
    weights = np.where(visits > 0, np.asarray(result.policy), 0.0)
    moves = (weights * means).sum(axis=1) / weights.sum(axis=1)
    total = visits.sum(axis=1)
    np.testing.assert_allclose(np.asarray(result.values)[lanes, mover], (own + total * moves) / (1 + total), atol=1e-4)
    np.testing.assert_allclose(np.asarray(result.tree.sums)[lanes, :, mover], visits * means, atol=1e-3)


def check_tree(search: Search, records: Any, size: int) -> None:
    """The visits below each node match the visits of the edge above it."""
    records = np.asarray(records)
    edges = records[:, :, :-1]
    links = edges[..., LINK].astype(int)
    assert links[:size].max() < size
    assert not ((links[:size] >= 0) & (edges[:size, ..., VISITS] == 0)).any()
    assert (edges[..., VISITS] % 1 == 0).all() and (edges[..., VISITS] >= 0).all()
    assert (np.abs(edges[..., TOTAL]) <= edges[..., VISITS] + 1e-3).all()
    assert ((records[:size, :, -1, SEAT] >= 0) & (records[:size, :, -1, SEAT] < search.game.num_players)).all()
    if search.transpositions or search.max_depth:
        return
    for lane in range(records.shape[1]):
        parents, actions = np.nonzero(links[:size, lane] >= 0)
        children = links[parents, lane, actions]
        assert len(set(children)) == len(children)  # a tree
        through = edges[parents, lane, actions, VISITS]
        below = edges[children, lane, :, VISITS].sum(axis=1)
        # One visit added the node; with several leaves per step, others may come before it is evaluated.
        assert (below <= through - 1).all() and (below >= through - search.leaves).all()
