"""Each position of a batch is searched as if it were alone."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import State
from tabia.search import Puct, Result, Search

from .positions import one, random_network, random_positions, random_weights

GAME = games.make("connect4")
BATCH = 16
KEY = jax.random.key(0)


def search(**options: Any) -> Search:
    return Search(GAME, random_network(GAME), 48, Puct(), **options)


PLAIN, ELABORATE = search(), search(leaves=4, transpositions=True)


def run(how: Search, states: State) -> Result:
    return how.run(random_weights(GAME), states, KEY)


def rearranged(states: State, order: Array) -> State:
    return jax.tree.map(lambda leaf: leaf[order], states)


@pytest.mark.parametrize("how", [PLAIN, ELABORATE], ids=["plain", "wide with transpositions"])
def test_other_positions_change_nothing(how: Search) -> None:
    states = random_positions(GAME, BATCH, seed=1, most_moves=15)
    strangers = random_positions(GAME, BATCH, seed=2, most_moves=15)
    together = np.asarray(run(how, states).tree.records)

    order = jnp.array(np.random.default_rng(0).permutation(BATCH))
    permuted = np.asarray(run(how, rearranged(states, order)).tree.records)
    np.testing.assert_array_equal(permuted, together[:, order])

    half = jnp.arange(BATCH) % 2 == 0
    mixed = jax.tree.map(lambda a, b: jax.vmap(jnp.where)(half, a, b), states, strangers)
    np.testing.assert_array_equal(np.asarray(run(how, mixed).tree.records)[:, half], together[:, half])


def test_a_batch_of_one() -> None:
    """Another batch size is another program, whose sums may round differently: visits are equal, values close."""
    states = random_positions(GAME, BATCH, seed=1, most_moves=15)
    together = run(PLAIN, states)
    for lane in (0, 5, 11):
        alone = run(PLAIN, jax.tree.map(lambda leaf: leaf[None], one(states, lane)))
        np.testing.assert_array_equal(np.asarray(alone.visits[0]), np.asarray(together.visits[lane]))
        np.testing.assert_allclose(np.asarray(alone.values[0]), np.asarray(together.values[lane]), atol=1e-5)
