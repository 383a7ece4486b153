"""Expansion: the position after the last action of a path, and its value if that is known without the evaluator.

A finished game has its scores, and a proven action its exact values. A position that repeats one on the path or earlier
in the game has its current scores (loop cutting, Schulte 2021). A position that another node holds has that node's mean
(transpositions, Wandhoven 2022).
The other positions need the evaluator, but all are evaluated in one call.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State
from tabia.search.descent import Path, on_path
from tabia.search.proofs import node_proofs
from tabia.search.tree import NO_CHILD, UNPROVEN, VISITS, Tree


class Leaves(NamedTuple):
    """The leaves of one simulation in every tree."""

    states: State  # [B, ...]
    known: Array  # bool[B] whether `values` are known without the evaluator
    values: Array  # float32[B, P]
    child: Array  # float32[B] the node to link, NO_CHILD or NEW
    prints: Array | None  # uint32[B, 2]
    proven: Array | None = None  # bool[B] whether `values` are exact, if the tree has proofs


NEW = -3.0  # in `child`: the position becomes a new node


def expand_leaves(game: Game, tree: Tree, path: Path, keys: Array | None, *, past: Array | None, share: bool) -> Leaves:
    """Play the last action of every path; with `share`, look up equal positions in the tree."""
    lanes = jnp.arange(path.leaf.shape[0])
    parents = jax.tree.map(lambda leaf: leaf[path.leaf, lanes], tree.states)
    states = jax.vmap(game.step)(parents, path.action, keys)
    over = jax.vmap(game.over)(states)
    values = game.scale(jax.vmap(game.scores)(states))
    known, proven = over, None
    if path.proven is not None:
        earlier = path.proven[:, 0] > UNPROVEN
        known = proven = over | earlier
        values = jnp.where(earlier[:, None], path.proven, values)
    child = jnp.where(known | (path.link != NO_CHILD), float(NO_CHILD), NEW)
    if tree.prints is None:
        return Leaves(states, known, values, child, None, proven)
    prints = jax.vmap(lambda state: fingerprint(game, state))(states)
    looped = repeats(tree, path, prints, past)
    known, child = known | looped, jnp.where(looped, float(NO_CHILD), child)
    if share:
        node, exists = equal_node(tree, prints)
        exists &= ~known & (path.link == NO_CHILD)
        values = jnp.where(exists[:, None], mean_values(tree, node), values)
        if proven is not None:
            is_proven, exact = node_proofs(tree, node)
            proven, values = proven | (exists & is_proven), jnp.where((exists & is_proven)[:, None], exact, values)
        known, child = known | exists, jnp.where(exists, node.astype(jnp.float32), child)
    return Leaves(states, known, values, child, prints, proven)


def repeats(tree: Tree, path: Path, prints: Array, past: Array | None) -> Array:
    """bool[B]: whether the position is already on the path or in the game's past [B, H, 2]."""
    lanes = jnp.arange(prints.shape[0])
    nodes = jnp.where(on_path(path), path.nodes, 0)  # the root is always on the path
    same = jnp.all(tree.prints[nodes, lanes[None, :]] == prints[None], axis=-1)  # type: ignore[index]
    repeated = jnp.any(same, axis=0)
    return repeated if past is None else repeated | jnp.any(jnp.all(past == prints[:, None], axis=-1), axis=-1)


def first_equals(found: Leaves) -> Array:
    """int32[K, B]: for each of the K new leaves of a tree, the first with the same position."""
    assert found.prints is not None
    same = jnp.all(found.prints[:, None] == found.prints[None], axis=-1) & (found.child == NEW)[None]
    return jnp.argmax(same, axis=1).astype(jnp.int32)


def equal_node(tree: Tree, prints: Array) -> tuple[Array, Array]:
    """The first node of each tree with this fingerprint, and whether it exists."""
    same = jnp.all(tree.prints == prints[None], axis=-1) & (jnp.arange(tree.capacity) < tree.size)[:, None]
    return jnp.argmax(same, axis=0).astype(jnp.int32), jnp.any(same, axis=0)


def mean_values(tree: Tree, node: Array) -> Array:
    """float32[B, P]: the mean of all values backed up to a node, including its own evaluation."""
    lanes = jnp.arange(node.shape[0])
    visits = 1.0 + tree.records[node, lanes, :-1, VISITS].sum(axis=-1)
    return tree.totals[node, lanes] / visits[:, None]  # type: ignore[index]
