"""GPU kernels, interpreted on the CPU, match descent and backup in XLA; and they compile for CUDA."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.search import Gumbel, MiniAlphaGo, Puct, Search, Uct, descent, device, kernels
from tabia.search.descent import Path, on_path
from tabia.search.rules import Rule
from tabia.search.rules.puct import Reduced, as_loss, as_parent
from tabia.search.tree import LINK, LOGIT, TOTAL, VALUE, VISITS, Tree

from .positions import random_network, random_positions, random_weights
from .toy_games import Race

CONNECT, RACE = games.make("connect4"), Race()
BATCH, DEPTH, LEAVES = 32, 12, 4
RULES = [
    Puct(),
    Puct(base=50.0, untried_value=as_parent),
    Puct(untried_value=Reduced()),
    Puct(c=10.0, untried_value=as_loss, own_visit=False),
    Uct(),
    MiniAlphaGo(),
    MiniAlphaGo(c1=0.7, untried_first=True),
    Gumbel(),
    Gumbel(rescale_values=True, value_scale=0.1),
]


def random_tree(name: str) -> Tree:
    """Trees of a search with random values, beyond what few simulations would produce."""
    game = {"connect4": CONNECT, "race": RACE}[name]
    states = random_positions(game, BATCH, seed=3, most_moves=6)
    tree = Search(game, random_network(game), 60, Uct()).run(random_weights(game), states, jax.random.key(0)).tree
    rng = np.random.default_rng(0)
    records = np.array(tree.records)
    visits = records[:, :, :-1, VISITS]
    center, spread = rng.uniform(-0.7, 0.7, (*visits.shape[:2], 1)), rng.choice([0.02, 0.3], (*visits.shape[:2], 1))
    records[:, :, :-1, TOTAL] = visits * (center + spread * rng.uniform(-1, 1, visits.shape))
    records[:, :, -1, VALUE] = rng.uniform(-1, 1, visits.shape[:2])
    return tree._replace(records=jnp.asarray(records))


@pytest.fixture(scope="module")
def trees() -> dict[str, Tree]:
    return {name: random_tree(name) for name in ("connect4", "race")}


def first_moves(tree: Tree) -> jax.Array:
    return jnp.argmax(tree.records[0, :, :-1, VISITS], axis=1).astype(jnp.int32)


def same_paths(ones: Path, others: Path) -> None:
    """Compare paths [K, ...] within their depth."""
    on = np.asarray(jax.vmap(on_path)(ones))
    for field in ("nodes", "actions", "seats"):
        one, other = (np.where(on, getattr(paths, field), 0) for paths in (ones, others))
        np.testing.assert_array_equal(one, other, err_msg=field)
    for field in ("depth", "leaf", "action", "link"):
        one, other = (np.asarray(getattr(paths, field)) for paths in (ones, others))
        np.testing.assert_array_equal(one, other, err_msg=field)


def names(thing: object) -> str:
    return thing if isinstance(thing, str) else type(thing).__name__


@pytest.mark.parametrize(
    ("name", "rule"), [("connect4", rule) for rule in RULES] + [("race", Puct()), ("race", RULES[-1])], ids=names
)
def test_descent_matches_xla(name: str, rule: Rule, trees: dict[str, Tree]) -> None:
    tree = trees[name]
    plain = descent.descend(tree, first_moves(tree), rule, max_depth=DEPTH)
    kernel = kernels.descend(tree, first_moves(tree), rule, max_depth=DEPTH, interpret=True)
    assert int(plain.depth.max()) >= 3
    same_paths(jax.tree.map(lambda leaf: leaf[None], plain), jax.tree.map(lambda leaf: leaf[None], kernel))


def with_loops(tree: Tree) -> Tree:
    """The tree with a third of its links to nodes near the root, as if positions repeated: some paths end in a loop."""
    rng = np.random.default_rng(2)
    records = np.array(tree.records)
    links = records[:, :, :-1, LINK]
    changed = (links >= 0) & (rng.random(links.shape) < 1 / 3)
    links[changed] = rng.integers(0, 5, changed.sum())  # the root and nodes near it
    prints = jnp.zeros((*tree.records.shape[:2], 2), jnp.uint32)
    return tree._replace(records=jnp.asarray(records), prints=prints)


@pytest.mark.parametrize("rule", [Puct(), pytest.param(Uct(untried_first=False), marks=pytest.mark.long)], ids=names)
def test_descent_through_loops_matches_xla(rule: Rule, trees: dict[str, Tree]) -> None:
    tree = with_loops(trees["connect4"])
    plain = descent.descend(tree, first_moves(tree), rule, max_depth=DEPTH)
    kernel = kernels.descend(tree, first_moves(tree), rule, max_depth=DEPTH, interpret=True)
    same_paths(jax.tree.map(lambda leaf: leaf[None], plain), jax.tree.map(lambda leaf: leaf[None], kernel))
    stopped = (np.asarray(plain.link) >= 0) & (np.asarray(plain.depth) < DEPTH)
    assert 3 <= stopped.sum() < BATCH  # some paths end in a loop, some do not
    _, paths, _ = descent.descend_many(tree, rule, leaves=LEAVES, max_depth=DEPTH)
    same_paths(paths, kernels.descend_many(tree, rule, leaves=LEAVES, max_depth=DEPTH, interpret=True)[1])


@pytest.mark.parametrize("rule", [pytest.param(Puct(), marks=pytest.mark.long), Uct(untried_first=False)], ids=names)
def test_descent_with_random_ties_matches_xla(rule: Rule, trees: dict[str, Tree]) -> None:
    """On trees in which many actions have equal scores."""
    tree = trees["connect4"]
    records = tree.records.at[:, :, :-1, TOTAL].set(0.0).at[:, :, :-1, LOGIT].set(jnp.log(1 / 7))
    first, seeds = first_moves(tree), jnp.arange(BATCH, dtype=jnp.uint32) * jnp.uint32(2654435761)
    tied = tree._replace(records=records, ties=seeds)
    plain = descent.descend(tied, first, rule, max_depth=DEPTH)
    kernel = kernels.descend(tied, first, rule, max_depth=DEPTH, interpret=True)
    same_paths(jax.tree.map(lambda leaf: leaf[None], plain), jax.tree.map(lambda leaf: leaf[None], kernel))
    orderly = descent.descend(tied._replace(ties=None), first, rule, max_depth=DEPTH)
    assert not np.array_equal(orderly.leaf, plain.leaf)
    _, paths, _ = descent.descend_many(tied, rule, leaves=LEAVES, max_depth=DEPTH)
    same_paths(paths, kernels.descend_many(tied, rule, leaves=LEAVES, max_depth=DEPTH, interpret=True)[1])


@pytest.mark.parametrize("name", ["connect4", "race"])
def test_backup_matches_xla(name: str, trees: dict[str, Tree]) -> None:
    tree = trees[name]
    path = descent.descend(tree, first_moves(tree), Puct(), max_depth=DEPTH)
    values, linked = random_values(tree, 1)
    plain = descent.backup(tree, path, values[0], linked[0])
    kernel = kernels.backup(tree, path, values[0], linked[0], interpret=True)
    np.testing.assert_array_equal(np.asarray(plain.records), np.asarray(kernel.records))
    assert not np.array_equal(np.asarray(plain.records), np.asarray(tree.records))


@pytest.mark.parametrize(("name", "rule"), [("connect4", Puct()), ("race", Uct())], ids=names)
def test_several_paths_per_step_match_xla(name: str, rule: Rule, trees: dict[str, Tree]) -> None:
    """Paths, virtual values and the resulting trees are equal."""
    tree = trees[name]
    visited, paths, virtual = descent.descend_many(tree, rule, leaves=LEAVES, max_depth=DEPTH)
    kernel_visited, kernel_paths, kernel_virtual = kernels.descend_many(
        tree, rule, leaves=LEAVES, max_depth=DEPTH, interpret=True
    )
    same_paths(paths, kernel_paths)
    on = np.asarray(jax.vmap(on_path)(paths))
    np.testing.assert_array_equal(np.where(on, virtual, 0.0), np.where(on, kernel_virtual, 0.0))
    np.testing.assert_array_equal(np.asarray(visited.records), np.asarray(kernel_visited.records))

    values, linked = random_values(tree, LEAVES)
    plain = device.backup_many(visited, paths, values, linked, virtual)
    kernel = kernels.backup_many(visited, paths, values, linked, virtual, interpret=True)
    np.testing.assert_allclose(np.asarray(plain.records), np.asarray(kernel.records), atol=1e-5)
    visits = np.asarray(plain.records[0, :, :-1, VISITS] - tree.records[0, :, :-1, VISITS])
    np.testing.assert_array_equal(visits.sum(axis=1), LEAVES)


def test_totals_beside_a_kernel_match_xla(trees: dict[str, Tree]) -> None:
    """With one path and with several, whose first nodes are the same."""
    tree = trees["race"]
    tree = tree._replace(totals=jnp.zeros((*tree.records.shape[:2], RACE.num_players)))
    path = descent.descend(tree, first_moves(tree), Puct(), max_depth=DEPTH)
    values, linked = random_values(tree, LEAVES)
    plain = descent.backup(tree, path, values[0], linked[0])
    np.testing.assert_allclose(descent.add_totals(tree, path, values[0]).totals, plain.totals, atol=1e-6)
    visited, paths, virtual = descent.descend_many(tree, Puct(), leaves=LEAVES, max_depth=DEPTH)
    plain = descent.backup_many(visited, paths, values, linked, virtual)
    np.testing.assert_allclose(descent.add_totals(visited, paths, values).totals, plain.totals, atol=1e-5)
    assert float(jnp.abs(plain.totals).max()) > 1  # the root has all of them


def random_values(tree: Tree, leaves: int) -> tuple[jax.Array, jax.Array]:
    """Values [K, B, P] and link changes [K, B]."""
    rng = np.random.default_rng(1)
    values = rng.uniform(-1, 1, (leaves, *tree.root_values.shape))
    return jnp.asarray(values, jnp.float32), jnp.asarray(rng.integers(0, 50, (leaves, BATCH)), jnp.float32)


@pytest.mark.parametrize("rule", RULES, ids=names)
def test_descent_lowers_for_cuda(rule: Rule, trees: dict[str, Tree]) -> None:
    tree = trees["race"]
    jitted = jax.jit(partial(kernels.descend, rule=rule, max_depth=DEPTH))
    assert "tabia_descend" in jitted.trace(tree, first_moves(tree)).lower(lowering_platforms=("cuda",)).as_text()


@pytest.mark.parametrize(
    ("rule", "options", "parts"),
    [
        (Gumbel(), {}, ("tabia_descend", "tabia_backup")),
        (Puct(), {"leaves": 4}, ("tabia_descend_many", "tabia_backup_many")),
        (Gumbel(), {"leaves": 4}, ("tabia_descend", "tabia_backup_many")),
        (Puct(), {"cut_loops": True}, ("tabia_descend", "tabia_backup")),
        (Puct(), {"transpositions": True, "leaves": 4}, ("tabia_descend_many", "tabia_backup_many")),
        (Puct(), {"random_ties": True}, ("tabia_descend", "tabia_backup")),
        (Uct(), {"random_ties": True, "leaves": 4}, ("tabia_descend_many", "tabia_backup_many")),
    ],
    ids=["one leaf", "four leaves", "four of Gumbel's", "loops", "four leaves of a graph", "ties", "four with ties"],
)
def test_a_whole_search_lowers_for_cuda(
    rule: Rule, options: dict[str, Any], parts: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device, "_on_gpu", lambda: True)
    search = Search(CONNECT, random_network(CONNECT), 8, rule, **options)
    states = random_positions(CONNECT, BATCH, seed=3, most_moves=6)
    whole = jax.jit(search.run_unchecked).trace(random_weights(CONNECT), states, jax.random.key(0))
    text = whole.lower(lowering_platforms=("cuda",)).as_text()
    assert all(part in text for part in parts)


def test_a_search_that_keeps_its_tree_lowers_for_cuda(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(device, "_on_gpu", lambda: True)
    search = Search(RACE, random_network(RACE), 8, Puct(), reuse_nodes=8)
    states = random_positions(RACE, BATCH, seed=3, most_moves=6)
    whole = jax.jit(search.run_unchecked).trace(random_weights(RACE), states, jax.random.key(0))
    text = whole.lower(lowering_platforms=("cuda",)).as_text()
    assert "tabia_descend" in text and "tabia_backup" in text
