"""Tree reuse: kept nodes are unchanged, nothing that fits is dropped, and no link dangles, over thirty moves."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import Game, State
from tabia.search import Puct, Result, Search, SearchError
from tabia.search.reference import Reference
from tabia.search.reuse import child_of, continue_search, reroot
from tabia.search.search import init_tree
from tabia.search.tree import LINK, LOGIT, NO_CHILD, TOTAL, VISITS, Tree

from .comparing import TOLERANCE, differences, lane_of
from .positions import one, random_network, random_positions, random_weights
from .toy_games import RingGame

CONNECT, RING = games.make("connect4"), RingGame()
BATCH, SIMULATIONS = 8, 40
STAY = 2  # a move in the ring that is always legal and never ends the game


def search(game: Game, *, reuse_nodes: int, transpositions: bool = False) -> Search:
    return Search(
        game, random_network(game), SIMULATIONS, Puct(c=2.0), reuse_nodes=reuse_nodes, transpositions=transpositions
    )


def first_run(how: Search, *, seed: int = 1) -> tuple[State, Result]:
    states = random_positions(how.game, BATCH, seed=seed, most_moves=6)
    return states, how.run(random_weights(how.game), states, jax.random.key(seed))


@partial(jax.jit, static_argnums=0)
def kept_tree(how: Search, tree: Tree, actions: Array, states: State) -> Tree:
    """The tree after the move, before any new simulation."""
    new = init_tree(how, random_weights(how.game), states, jax.random.key(0))
    return reroot(new, tree, child_of(tree, actions), keep=how.reuse_nodes)


@partial(jax.jit, static_argnums=0)
def play_on(game: Game, states: State, wanted: Array, otherwise: Array) -> tuple[Array, State]:
    """Play the wanted moves, or others if the game would end."""
    ends = jax.vmap(game.over)(jax.vmap(game.step)(states, wanted))
    actions = jnp.where(ends, otherwise, wanted).astype(jnp.int32)
    return actions, jax.vmap(game.step)(states, actions)


def reachable(records: np.ndarray, start: int) -> set[int]:
    """The nodes of the subtree of `start` in one tree [N, A + 1, 4]."""
    found, waiting = {start}, [start]
    while waiting:
        links = records[waiting.pop(), :-1, LINK].astype(int)
        new = {link for link in links.tolist() if link >= 0} - found
        found |= new
        waiting += new
    return found


def compare(old: np.ndarray, new: np.ndarray, start: int) -> tuple[int, int]:
    """Check that `new` is the subtree of `start` in `old`; the number of nodes kept and dropped."""
    partner = {start: 0}
    waiting, dropped = [start], 0
    while waiting:
        index = waiting.pop()
        before, after = old[index], new[partner[index]]
        np.testing.assert_array_equal(after[:, [LOGIT, VISITS, TOTAL]], before[:, [LOGIT, VISITS, TOTAL]])
        for action in range(len(before) - 1):
            link, renamed = int(before[action, LINK]), int(after[action, LINK])
            if link < 0 or renamed < 0:
                assert renamed == NO_CHILD
                dropped += link >= 0
            elif link in partner:
                assert partner[link] == renamed
            else:
                partner[link] = renamed
                waiting.append(link)
    assert len(set(partner.values())) == len(partner)
    return len(partner), dropped


def check_links(how: Search, tree: Tree) -> None:
    size = int(tree.size)
    links = np.asarray(tree.records[:size, :, :-1, LINK])
    assert links.max() < size <= tree.capacity == how.capacity


@pytest.mark.parametrize("transpositions", [pytest.param(False, marks=pytest.mark.long), True])
def test_kept_tree_is_the_subtree_of_the_action(transpositions: bool) -> None:
    how = search(RING, reuse_nodes=SIMULATIONS + 1, transpositions=transpositions)
    states, result = first_run(how)
    actions, after = play_on(RING, states, result.action, jnp.full(BATCH, STAY))
    old, kept = result.tree, kept_tree(how, result.tree, actions, after)
    check_links(how, kept)
    for lane in range(BATCH):
        records = np.asarray(old.records[:, lane])
        child = int(records[0, int(actions[lane]), LINK])
        if child < 0:  # a position without a node starts afresh
            assert (np.asarray(kept.records[0, lane, :-1, VISITS]) == 0).all()
            continue
        count, dropped = compare(records, np.asarray(kept.records[:, lane]), child)
        assert (count, dropped) == (len(reachable(records, child)), 0)
        np.testing.assert_array_equal(np.asarray(kept.totals[0, lane]), np.asarray(old.totals[child, lane]))
    assert (np.asarray(kept.records[0, :, :-1, VISITS]).sum(axis=1) > 0).sum() > BATCH // 2


def test_only_nodes_beyond_the_capacity_are_dropped() -> None:
    how, roomy = search(RING, reuse_nodes=6), search(RING, reuse_nodes=SIMULATIONS + 1)
    states, result = first_run(roomy)
    actions, after = play_on(RING, states, result.action, jnp.full(BATCH, STAY))
    kept = kept_tree(how, result.tree, actions, after)
    check_links(how, kept)
    cut = 0
    for lane in range(BATCH):
        records = np.asarray(result.tree.records[:, lane])
        child = int(records[0, int(actions[lane]), LINK])
        if child < 0:
            continue
        count, dropped = compare(records, np.asarray(kept.records[:, lane]), child)
        below = len(reachable(records, child))
        assert count == min(6, below) and (dropped > 0) == (below > 6)
        assert reachable(np.asarray(kept.records[:, lane]), 0) == set(range(count))  # no node leaked
        cut += dropped > 0
    assert cut > BATCH // 2


@pytest.mark.parametrize("transpositions", [pytest.param(False, marks=pytest.mark.long), True])
def test_thirty_moves_with_constant_memory(transpositions: bool) -> None:
    """Visits are the new simulations plus the kept ones; the trees never grow."""
    how = search(RING, reuse_nodes=30, transpositions=transpositions)
    states, result = first_run(how)
    rng = np.random.default_rng(0)
    for move in range(30):
        wanted = result.action if move % 2 else jnp.asarray(random_legal(rng, RING, states))
        actions, states = play_on(RING, states, wanted, jnp.full(BATCH, STAY))
        records = np.asarray(result.tree.records)
        result = continue_search(how, random_weights(RING), result.tree, actions, states, jax.random.key(move))
        check_links(how, result.tree)
        visits = np.asarray(result.visits).sum(axis=1)
        for lane in range(BATCH):
            child = int(records[0, lane, int(actions[lane]), LINK])
            kept = records[child, lane, :-1, VISITS].sum() if child >= 0 else 0
            assert visits[lane] == SIMULATIONS + kept
        assert np.abs(np.asarray(result.values)).max() <= 1.0 + 1e-5


@partial(jax.jit, static_argnums=0)
def legal_actions(game: Game, states: State) -> Array:
    return jax.vmap(game.legal)(states)


def random_legal(rng: np.random.Generator, game: Game, states: State) -> np.ndarray:
    legal = np.asarray(legal_actions(game, states))
    return np.array([rng.choice(np.flatnonzero(row)) for row in legal], np.int32)


def test_continued_search_matches_a_longer_search() -> None:
    """Values match a search with both budgets, up to what 40 simulations change."""
    how = search(CONNECT, reuse_nodes=SIMULATIONS + 1)
    states, result = first_run(how)
    actions, after = result.action, jax.vmap(CONNECT.step)(states, result.action)
    alive = ~jax.vmap(CONNECT.over)(after)
    after = jax.tree.map(lambda new, old: jax.vmap(jnp.where)(alive, new, old), after, states)
    onward = continue_search(how, random_weights(CONNECT), result.tree, actions, after, jax.random.key(5))
    afresh = how.run(random_weights(CONNECT), after, jax.random.key(5))
    kept = np.asarray(onward.visits).sum(axis=1) - SIMULATIONS
    assert kept[np.asarray(alive)].mean() > 5
    gap = np.abs(np.asarray(onward.values) - np.asarray(afresh.values)).max(axis=1)
    assert gap[np.asarray(alive)].max() < 0.3


@pytest.mark.parametrize("transpositions", [pytest.param(False, marks=pytest.mark.long), True])
def test_continued_search_builds_the_reference_tree(transpositions: bool) -> None:
    """Visit for visit, over three moves; the kept nodes all fit."""
    how = search(RING, reuse_nodes=3 * SIMULATIONS + 1, transpositions=transpositions)
    reference = Reference(RING, how.evaluate, SIMULATIONS, how.rule, transpositions=transpositions)
    states, result = first_run(how)
    lanes = range(BATCH)
    roots = [reference.run(random_weights(RING), one(states, lane)) for lane in lanes]
    kept = 0
    for move in range(3):
        actions, states = play_on(RING, states, result.action, jnp.full(BATCH, STAY))
        result = continue_search(how, random_weights(RING), result.tree, actions, states, jax.random.key(move))
        for lane in lanes:
            child = roots[lane].edges[int(actions[lane])].child
            kept += child is not None
            roots[lane] = reference.run(random_weights(RING), one(states, lane), kept=child)
            found = differences(lane_of(result.tree, lane), roots[lane])
            assert not found, f"move {move}, lane {lane}:\n" + "\n".join(found[:5])
            assert np.asarray(result.values[lane]) == pytest.approx(roots[lane].means, abs=TOLERANCE)
    assert kept > 2 * BATCH


def test_continuing_without_reuse_nodes_is_refused() -> None:
    states, result = first_run(search(RING, reuse_nodes=SIMULATIONS + 1))
    with pytest.raises(SearchError, match="reuse_nodes=0"):
        continue_search(
            search(RING, reuse_nodes=0), random_weights(RING), result.tree, result.action, states, jax.random.key(0)
        )
