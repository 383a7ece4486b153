"""Several leaves per step: all visits are counted, and no position has two nodes (see also test_solved.py)."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.search import Evaluation, Gumbel, Puct, Search
from tabia.search.rules import Rule
from tabia.search.search import phases
from tabia.search.tree import LINK, NO_CHILD, TOTAL, VISITS

from .positions import random_network, random_positions, random_weights
from .toy_games import RingGame

CONNECT, RING = games.make("connect4"), RingGame()
BATCH = 12


@pytest.mark.parametrize(
    ("game", "simulations", "leaves", "rule", "options"),
    [
        (CONNECT, 128, 8, Puct(), {}),
        pytest.param(CONNECT, 64, 16, Gumbel(gumbel_scale=0.0), {"transpositions": True}, marks=pytest.mark.long),
        (RING, 64, 8, Puct(c=3.0), {"transpositions": True}),
        pytest.param(RING, 64, 8, Puct(c=3.0), {"cut_loops": True, "reuse_nodes": 10}, marks=pytest.mark.long),
    ],
    ids=["plain", "Gumbel's and shared", "shared with loops", "loops cut, nodes reserved"],
)
def test_all_visits_are_counted(game: Any, simulations: int, leaves: int, rule: Rule, options: dict[str, Any]) -> None:
    states = random_positions(game, BATCH, seed=1, most_moves=10)
    search = Search(game, random_network(game), simulations, rule, leaves=leaves, **options)
    result = search.run(random_weights(game), states, jax.random.key(0))
    np.testing.assert_array_equal(np.asarray(result.visits).sum(axis=1), simulations)
    size = int(result.tree.size)
    edges = np.asarray(result.tree.records[:size, :, :-1])
    links = edges[..., LINK]
    assert links.max() < size and links.min() >= NO_CHILD  # nothing is left pending
    assert (np.abs(edges[..., TOTAL]) <= edges[..., VISITS] + 1e-3).all()  # no virtual visits remain
    written = np.arange(size)[:, None] >= max(search.reuse_nodes, 1)
    written[0] = True  # nodes in between are reserved for reuse
    for lane in range(BATCH):
        parents, actions = np.nonzero((links[:, lane] >= 0) & written)
        children = links[parents, lane, actions].astype(int)
        if options.get("transpositions"):
            prints = [tuple(row) for row in np.asarray(result.tree.prints[:size, lane])[np.unique(children)].tolist()]
            assert len(set(prints)) == len(prints)  # one node per position
        else:
            assert len(set(children.tolist())) == len(children)


def half_everywhere(parameters: None, states: Any, key: jax.Array) -> Evaluation:
    """A value of 0.5 for every seat and position."""
    batch = jax.tree.leaves(states)[0].shape[0]
    logits = jnp.broadcast_to(jnp.linspace(0.0, 4.0, CONNECT.num_actions), (batch, CONNECT.num_actions))
    return Evaluation(logits, jnp.full((batch, 2), 0.5))


def test_virtual_visits_do_not_change_values() -> None:
    """No game ends within six moves, so every mean must be 0.5, also at shared nodes."""
    states = random_positions(CONNECT, 2, seed=0, most_moves=0)
    search = Search(CONNECT, half_everywhere, 240, Puct(c=3.0), leaves=8, transpositions=True, max_depth=6)
    result = search.run(None, states, jax.random.key(0))
    edges = np.asarray(result.tree.records[: int(result.tree.size), :, :-1])
    tried = edges[..., VISITS] > 0
    np.testing.assert_allclose(edges[..., TOTAL][tried] / edges[..., VISITS][tried], 0.5, atol=1e-5)
    np.testing.assert_allclose(np.asarray(result.values), 0.5, atol=1e-5)
    links = edges[:, 0, :, LINK]
    assert len(np.unique(links[links >= 0])) < (links >= 0).sum()  # some nodes are shared


@pytest.mark.parametrize("steps", [1, 3, 15, 16, 17, 100])
def test_phases_add_up_to_all_simulations(steps: int) -> None:
    for leaves in range(1, 65):
        search = Search(RING, random_network(RING), leaves * steps, Puct(), leaves=leaves)
        plan = phases(search)
        assert sum(count for _, count in plan) == leaves * steps
        assert all(width >= 1 and count % width == 0 for width, count in plan)
