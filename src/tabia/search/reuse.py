"""Tree reuse: the subtree of the position reached becomes the new tree.

Kept nodes move to the front, the new root first, parents before children. Nodes beyond `Search.reuse_nodes` are
dropped, the newest first; their visits stay on the edge above them.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core.lanes import each_device, spec
from tabia.games.game import State
from tabia.search import checks
from tabia.search.errors import SearchError
from tabia.search.result import Result, summarize
from tabia.search.search import Search, init_tree, prepare_root, run_simulations
from tabia.search.tree import LINK, NO_CHILD, Tree, split_specs


def continue_search(
    search: Search, parameters: Any, tree: Tree, actions: Array, states: State, key: Array, *, past: Array | None = None
) -> Result:
    """Continue the search of `tree` after `actions` [B] were played from its roots and led to `states`.

    Games whose tree has no node for the new position start a new tree.
    """
    if not search.reuse_nodes:
        raise SearchError("reuse_nodes=0: to continue a search, set reuse_nodes from the first search on.")
    checks.check_roots(search, parameters, states)
    result = continue_unchecked(search, parameters, tree, child_of(tree, actions), states, key, past)
    checks.check_evaluations(search.game, result.tree)
    return result


@partial(jax.jit, static_argnums=0)
def continue_unchecked(
    search: Search, parameters: Any, tree: Tree, nodes: Array, states: State, key: Array, past: Array | None = None
) -> Result:
    """Continue below the nodes [B] of `tree` that hold `states`, NO_CHILD for a new tree; for compiled code."""
    init_key, root_key, simulate_key = jax.random.split(key, 3)
    new = init_tree(search, parameters, states, init_key)
    tree = reroot(new, tree, nodes, keep=search.reuse_nodes)
    tree, root = prepare_root(search, tree, root_key)
    tree = run_simulations(search, parameters, tree, root, simulate_key, 0, search.simulations, past)
    return summarize(search, tree, root)


def child_of(tree: Tree, actions: Array) -> Array:
    """int32[B]: the nodes to which the roots' actions [B] lead, NO_CHILD if there is none."""
    by_lane = spec(0)
    return each_device(_child_of, (split_specs(tree), by_lane), by_lane, tree, actions)


def _child_of(tree: Tree, actions: Array) -> Array:
    links = tree.records[0, jnp.arange(actions.shape[0]), actions, LINK]
    return jnp.where(links >= 0, links, NO_CHILD).astype(jnp.int32)


def reroot(new: Tree, old: Tree, child: Array, *, keep: int) -> Tree:
    """The old subtrees of the nodes `child` [B], at most `keep` nodes each; the new trees where `child` is NO_CHILD."""
    specs = (split_specs(new), split_specs(old), spec(0))
    return each_device(partial(_reroot, keep=keep), specs, specs[0], new, old, child)


def _reroot(new: Tree, old: Tree, child: Array, *, keep: int) -> Tree:
    lanes = jnp.arange(child.shape[0])
    found = child >= 0
    order, index = _places(old, child)
    order = order[:keep]  # [keep, B] the old node at each new place
    kept = order >= 0
    take = jnp.maximum(order, 0)

    def move(old_nodes: Array, new_nodes: Array) -> Array:
        moved = old_nodes[take, lanes[None, :]]
        mask = (kept & found[None]).reshape(*kept.shape, *[1] * (moved.ndim - 2))
        return new_nodes.at[:keep].set(jnp.where(mask, moved, new_nodes[:keep]))

    links = old.records[:, :, :-1, LINK]
    places = index[jnp.maximum(links, 0).astype(jnp.int32), lanes[None, :, None]]
    renamed = jnp.where((links >= 0) & (places >= 0) & (places < keep), places, NO_CHILD).astype(links.dtype)
    records = move(old.records.at[:, :, :-1, LINK].set(renamed), new.records)
    totals = move(old.totals, new.totals)  # type: ignore[arg-type]
    return new._replace(
        records=records,
        states=jax.tree.map(move, old.states, new.states),
        squares=None if old.squares is None else move(old.squares, new.squares),  # type: ignore[arg-type]
        totals=totals,
        prints=None if old.prints is None else move(old.prints, new.prints),  # type: ignore[arg-type]
        proven=None if old.proven is None else move(old.proven, new.proven),  # type: ignore[arg-type]
    )


def _places(tree: Tree, child: Array) -> tuple[Array, Array]:
    """Old node by new place [N, B] (-1 for none) and new place by old node [N, B] (-1 for dropped)."""
    nodes, batch = tree.capacity, child.shape[0]
    lanes = jnp.arange(batch)
    numbers = jnp.broadcast_to(jnp.arange(nodes)[:, None], (nodes, batch))
    inside = _in_subtree(tree, child)
    first = numbers == child[None]
    rank = jnp.where(first, 0, jnp.cumsum(inside & ~first, axis=0))
    index = jnp.where(inside, rank, -1)
    order = jnp.full((nodes + 1, batch), -1).at[jnp.where(inside, rank, nodes), lanes[None, :]].set(numbers)[:nodes]
    return order, index


def _in_subtree(tree: Tree, child: Array) -> Array:
    """bool[N, B]: the nodes of the subtree of `child`."""
    return _subtree_shared(tree, child) if tree.prints is not None else _subtree(tree, child)


def _subtree_shared(tree: Tree, child: Array) -> Array:
    """With several parents per node: spread down level by level until no node is added."""
    nodes, lanes = tree.capacity, jnp.arange(child.shape[0])
    links = tree.records[:, :, :-1, LINK]
    target = jnp.where(links >= 0, links, nodes).astype(jnp.int32)

    def spread(carry: tuple[Array, Array]) -> tuple[Array, Array]:
        reached, _ = carry
        sources = jnp.broadcast_to(reached[:, :, None], links.shape)
        hit = jnp.zeros((nodes + 1, *reached.shape[1:]), bool).at[target, lanes[None, :, None]].max(sources)[:nodes]
        return reached | hit, jnp.any(hit & ~reached)

    start = jnp.arange(nodes)[:, None] == child[None]
    return jax.lax.while_loop(lambda carry: carry[1], spread, (start, jnp.bool_(True)))[0]


def _subtree(tree: Tree, child: Array) -> Array:
    """With one parent per node: look up twice as many levels each time."""
    nodes, batch = tree.capacity, child.shape[0]
    lanes = jnp.arange(batch)
    links = tree.records[:, :, :-1, LINK]
    numbers = jnp.broadcast_to(jnp.arange(nodes)[:, None], (nodes, batch))
    target = jnp.where(links >= 0, links, nodes).astype(jnp.int32)
    parent = jnp.full((nodes + 1, batch), -1).at[target, lanes[None, :, None]].max(numbers[:, :, None])[:nodes]
    reached = numbers == child[None]
    for _ in range(max(1, math.ceil(math.log2(nodes)))):
        above = jnp.maximum(parent, 0)
        reached = reached | (reached[above, lanes[None, :]] & (parent >= 0))
        parent = jnp.where(parent >= 0, parent[above, lanes[None, :]], -1)
    return reached
