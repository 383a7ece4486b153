"""The GPU's kernels, interpreted on the CPU, against the plain walk and the plain way back; and they compile for CUDA."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.search import Gumbel, MiniAlphaGo, Puct, Search, Uct, kernels, walk
from tabia.search.selection import Reduced, Rule, as_parent
from tabia.search.tree import TOTAL, VALUE, VISITS, Tree
from tabia.search.walk import Path, on_path

from .positions import random_network, random_positions, random_weights
from .toy_games import Race

CONNECT, RACE = games.make("connect4"), Race()
BATCH, DEPTH = 64, 12
RULES = [
    Puct(), Puct(base=50.0, unvisited=as_parent), Puct(unvisited=Reduced()), Uct(), MiniAlphaGo(), MiniAlphaGo(c1=0.7),
    Gumbel(), Gumbel(rescale=True, scale=0.1),
]  # fmt: skip


def random_tree(name: str) -> Tree:
    """Trees grown by a search, then given values of every kind that no search of so few simulations would meet."""
    game = {"connect4": CONNECT, "race": RACE}[name]
    states = random_positions(game, BATCH, seed=3, most_moves=6)
    tree = Search(game, random_network(game), 60, Uct()).run(random_weights(game), states, jax.random.key(0)).tree
    rng = np.random.default_rng(0)
    records = np.array(tree.records)
    visits = records[:, :, :-1, VISITS]
    centre = rng.uniform(-0.8, 0.8, (*visits.shape[:2], 1))
    records[:, :, :-1, TOTAL] = visits * (centre + rng.uniform(-0.2, 0.2, visits.shape))
    records[:, :, -1, VALUE] = rng.uniform(-1, 1, visits.shape[:2])
    return tree._replace(records=jnp.asarray(records))


@pytest.fixture(scope="module")
def trees() -> dict[str, Tree]:
    return {name: random_tree(name) for name in ("connect4", "race")}


def first_moves(tree: Tree) -> jax.Array:
    return jnp.argmax(tree.records[0, :, :-1, VISITS], axis=1).astype(jnp.int32)


def blank_beyond(path: Path) -> Path:
    """The path with rows that mean nothing set to 0."""
    return jax.tree.map(lambda leaf: jnp.where(on_path(path), leaf, 0) if leaf.ndim == 2 else leaf, path)


@pytest.mark.parametrize("rule", RULES, ids=str)
@pytest.mark.parametrize("name", ["connect4", "race"])
def test_the_kernel_walks_as_the_plain_code_does(name: str, rule: Rule, trees: dict[str, Tree]) -> None:
    tree = trees[name]
    plain = walk.walk(tree, first_moves(tree), rule, max_depth=DEPTH)
    kernel = kernels.walk(tree, first_moves(tree), rule, max_depth=DEPTH, interpret=True)
    assert int(plain.depth.max()) > 3
    for field, one, two in zip(Path._fields, blank_beyond(plain), blank_beyond(kernel), strict=True):
        if one is not None:
            np.testing.assert_array_equal(np.asarray(one), np.asarray(two), err_msg=field)


@pytest.mark.parametrize("visits", [1.0, 0.0])
@pytest.mark.parametrize("name", ["connect4", "race"])
def test_the_kernel_backs_up_as_the_plain_code_does(name: str, visits: float, trees: dict[str, Tree]) -> None:
    tree = trees[name]
    path = walk.walk(tree, first_moves(tree), Puct(), max_depth=DEPTH)
    rng = np.random.default_rng(1)
    values = jnp.asarray(rng.uniform(-1, 1, tree.root_values.shape), jnp.float32)
    linked = jnp.asarray(rng.integers(0, 50, BATCH), jnp.float32)
    plain = walk.back_up(tree, path, values, linked, visits=visits)
    kernel = kernels.back_up(tree, path, values, linked, visits=visits, interpret=True)
    np.testing.assert_array_equal(np.asarray(plain.records), np.asarray(kernel.records))
    assert not np.array_equal(np.asarray(plain.records), np.asarray(tree.records))


@pytest.mark.parametrize("rule", RULES, ids=str)
def test_the_walk_lowers_for_cuda(rule: Rule, trees: dict[str, Tree]) -> None:
    tree = trees["connect4"]
    jitted = jax.jit(partial(kernels.walk, rule=rule, max_depth=DEPTH))
    assert "tabia_walk" in jitted.trace(tree, first_moves(tree)).lower(lowering_platforms=("cuda",)).as_text()


def test_the_way_back_and_a_whole_search_lower_for_cuda(trees: dict[str, Tree]) -> None:
    tree = trees["connect4"]
    path = walk.walk(tree, first_moves(tree), Puct(), max_depth=DEPTH)
    values, linked = jnp.zeros((BATCH, 2)), jnp.zeros(BATCH)
    jitted = jax.jit(kernels.back_up)
    assert "tabia_back_up" in jitted.trace(tree, path, values, linked).lower(lowering_platforms=("cuda",)).as_text()
    search = Search(CONNECT, random_network(CONNECT), 8, Gumbel())
    states = random_positions(CONNECT, BATCH, seed=3, most_moves=6)
    whole = jax.jit(search.explore).trace(random_weights(CONNECT), states, jax.random.key(0))
    text = whole.lower(lowering_platforms=("cuda",)).as_text()
    assert "tabia_walk" in text and "tabia_back_up" in text
