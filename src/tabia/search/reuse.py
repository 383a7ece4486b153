"""Keeping a tree for the next move: the subtree under the move played becomes the new tree.

The kept nodes move to the front, parents before children, the new root first; what does not fit into the room the
search sets aside (`Search.keep`) is forgotten youngest first, its visits staying on the edge above it.
"""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import State
from tabia.search import checks
from tabia.search.errors import SearchError
from tabia.search.roots import Result, harvest, prepare_root
from tabia.search.search import Search, grow, plant
from tabia.search.tree import LINK, NO_CHILD, Tree


def run_on(
    search: Search, parameters: Any, tree: Tree, actions: Array, states: State, key: Array, *, past: Array | None = None
) -> Result:
    """Search on after `actions` [B] were played from the tree's roots and led to `states`.

    Games whose tree has no node for the new position start afresh.
    """
    if not search.keep:
        raise SearchError("keep=0: to search on, the first search already must set room aside for nodes to be kept.")
    checks.roots(search, parameters, states)
    result = _run_on(search, parameters, tree, actions, states, key, past)
    checks.answers(search.game, result.tree)
    return result


@partial(jax.jit, static_argnums=0)
def _run_on(
    search: Search, parameters: Any, tree: Tree, actions: Array, states: State, key: Array, past: Array | None
) -> Result:
    plant_key, root_key, grow_key = jax.random.split(key, 3)
    fresh = plant(search, parameters, states, plant_key)
    tree = graft(fresh, tree, actions, keep=search.keep)
    tree, root = prepare_root(search, tree, root_key)
    tree = grow(search, parameters, tree, root, grow_key, 0, search.simulations, past)
    return harvest(search, tree, root)


def graft(fresh: Tree, old: Tree, actions: Array, *, keep: int) -> Tree:
    """The old subtrees under `actions` in the place of the fresh roots, where they exist."""
    lanes = jnp.arange(actions.shape[0])
    child = old.records[0, lanes, actions, LINK].astype(jnp.int32)
    found = child >= 0
    order, index = _layout(old, child)
    order = order[:keep]  # [keep, B] old node at each new place
    kept = order >= 0
    take = jnp.maximum(order, 0)

    def move(old_nodes: Array, fresh_nodes: Array) -> Array:
        moved = old_nodes[take, lanes[None, :]]
        mask = (kept & found[None]).reshape(*kept.shape, *[1] * (moved.ndim - 2))
        return fresh_nodes.at[:keep].set(jnp.where(mask, moved, fresh_nodes[:keep]))

    links = old.records[:, :, :-1, LINK]
    places = index[jnp.maximum(links, 0).astype(jnp.int32), lanes[None, :, None]]
    renamed = jnp.where((links >= 0) & (places >= 0) & (places < keep), places, NO_CHILD).astype(links.dtype)
    records = move(old.records.at[:, :, :-1, LINK].set(renamed), fresh.records)
    totals = move(old.totals, fresh.totals)  # type: ignore[arg-type]
    return fresh._replace(
        records=records,
        states=jax.tree.map(move, old.states, fresh.states),
        squares=None if old.squares is None else move(old.squares, fresh.squares),  # type: ignore[arg-type]
        totals=totals,
        prints=None if old.prints is None else move(old.prints, fresh.prints),  # type: ignore[arg-type]
    )


def _layout(tree: Tree, child: Array) -> tuple[Array, Array]:
    """Old node by new place [N, B] (-1 for none) and new place by old node [N, B] (-1 for forgotten)."""
    nodes, batch = tree.capacity, child.shape[0]
    lanes = jnp.arange(batch)
    numbers = jnp.broadcast_to(jnp.arange(nodes)[:, None], (nodes, batch))
    inside = _below(tree, child)
    first = numbers == child[None]
    rank = jnp.where(first, 0, jnp.cumsum(inside & ~first, axis=0))
    index = jnp.where(inside, rank, -1)
    order = jnp.full((nodes + 1, batch), -1).at[jnp.where(inside, rank, nodes), lanes[None, :]].set(numbers)[:nodes]
    return order, index


def _below(tree: Tree, child: Array) -> Array:
    """bool[N, B]: the nodes that hang below `child`, itself included."""
    return _below_shared(tree, child) if tree.prints is not None else _below_alone(tree, child)


def _below_shared(tree: Tree, child: Array) -> Array:
    """Where a node may have many parents: spread down, level by level, until nothing new is met."""
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


def _below_alone(tree: Tree, child: Array) -> Array:
    """Where a node has one parent: look up twice as far each time."""
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
