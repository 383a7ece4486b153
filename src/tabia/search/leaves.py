"""What a simulation finds at its leaf: the position after the last move, and what it is worth.

A finished game is worth its scores. A position met before on the way (loop cutting, Schulte 2021) or earlier in the game is
worth what it would score as it stands. A position another node already holds (transpositions, Wandhoven 2022) is worth that
node's mean. Only what is left needs the evaluator's word, though all are evaluated in one call.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.search.tree import NO_CHILD, VISITS, Tree
from tabia.search.walk import Path, on_path


class Leaves(NamedTuple):
    """The leaves of one simulation in every tree."""

    states: State  # [B, ...]
    settled: Array  # bool[B]: worth `values` whatever the evaluator says
    values: Array  # float32[B, P]
    child: Array  # float32[B]: the node to link, NO_CHILD for none, or NEW
    prints: Array | None  # uint32[B, 2]


NEW = -3.0  # in `child`: the position deserves a node of its own


def leaves(game: Game, tree: Tree, path: Path, keys: Array | None, *, past: Array | None, share: bool) -> Leaves:
    """Play the last move of every path and see what needs no evaluator."""
    lanes = jnp.arange(path.leaf.shape[0])
    parents = jax.tree.map(lambda leaf: leaf[path.leaf, lanes], tree.states)
    states = jax.vmap(game.step)(parents, path.action, keys)
    over = jax.vmap(game.over)(states)
    values = game.scale(jax.vmap(game.scores)(states))
    child = jnp.where(over | (path.link != NO_CHILD), float(NO_CHILD), NEW)
    if tree.prints is None:
        return Leaves(states, over, values, child, None)
    prints = jax.vmap(lambda state: fingerprint(game, state))(states)
    looped = met_before(tree, path, prints, past)
    settled, child = over | looped, jnp.where(looped, float(NO_CHILD), child)
    if share:
        twin, exists = equal_node(tree, prints)
        exists &= ~settled & (path.link == NO_CHILD)
        values = jnp.where(exists[:, None], mean_values(tree, twin), values)
        settled, child = settled | exists, jnp.where(exists, twin.astype(jnp.float32), child)
    return Leaves(states, settled, values, child, prints)


def fingerprint(game: Game, state: State) -> Array:
    """uint32[2]: a 64-bit hash of a position and its mover; equal positions always agree."""
    words = jnp.append(game.position(state).astype(jnp.uint32), game.mover(state).astype(jnp.uint32))
    places = jnp.arange(words.shape[0], dtype=jnp.uint32)

    def mix(seed: int) -> Array:
        # Each word is scrambled with its place (murmur3's finaliser); the sum of good scrambles is a good hash.
        x = words + (places + jnp.uint32(seed)) * jnp.uint32(0x9E3779B9)
        x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
        x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
        return jnp.sum(x ^ (x >> 16), dtype=jnp.uint32)

    return jnp.stack([mix(0x51ED270B), mix(0x2545F491)])


def met_before(tree: Tree, path: Path, prints: Array, past: Array | None) -> Array:
    """bool[B]: whether the position stands on the path already, or in the game's past [B, H, 2]."""
    lanes = jnp.arange(prints.shape[0])
    nodes = jnp.where(on_path(path), path.nodes, 0)  # the root is always on the path
    same = jnp.all(tree.prints[nodes, lanes[None, :]] == prints[None], axis=-1)  # type: ignore[index]
    met = jnp.any(same, axis=0)
    return met if past is None else met | jnp.any(jnp.all(past == prints[:, None], axis=-1), axis=-1)


def first_equals(found: Leaves) -> Array:
    """int32[K, B]: for each of K new leaves a tree, the first of them with the same position."""
    assert found.prints is not None
    same = jnp.all(found.prints[:, None] == found.prints[None], axis=-1) & (found.child == NEW)[None]
    return jnp.argmax(same, axis=1).astype(jnp.int32)


def equal_node(tree: Tree, prints: Array) -> tuple[Array, Array]:
    """The first node of each tree with this fingerprint, and whether there is one."""
    same = jnp.all(tree.prints == prints[None], axis=-1) & (jnp.arange(tree.capacity) < tree.size)[:, None]
    return jnp.argmax(same, axis=0).astype(jnp.int32), jnp.any(same, axis=0)


def mean_values(tree: Tree, node: Array) -> Array:
    """float32[B, P]: the mean of everything seen at a node, its own evaluation included."""
    lanes = jnp.arange(node.shape[0])
    visits = 1.0 + tree.records[node, lanes, :-1, VISITS].sum(axis=-1)
    return tree.totals[node, lanes] / visits[:, None]  # type: ignore[index]
