"""Ties: which of several actions with the same score is taken.

By default it is the first one. With `Search.random_ties` every node orders its actions at random, and anew after every
visit. The order is a hash of the tree's seed, the node, its visits and the action, so selection needs no random keys.
Axis letters: B batch, A actions.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.tree import Tree, View

NODE, VISIT, ACTION = 0x9E3779B9, 0x85EBCA6B, 0xC2B2AE35  # odd, so that equal hashes need more than one difference


def draw_seeds(key: Array, batch: int) -> Array:
    """uint32[B]: a seed for the ties of each tree."""
    return jax.random.bits(key, (batch,))


def order_at(tree: Tree, node: Array, seen: View) -> Array | None:
    """uint32[B, A]: the order of the actions of a node [B] of each tree, the highest first; None: by number."""
    return None if tree.ties is None else jax.vmap(order)(tree.ties, node, seen.visits)


def order(seed: Array, node: Array, visits: Array) -> Array:
    """uint32[A] > 0: the order of the actions of one node, from its tree's seed and the visits [A] of its actions."""
    count = visits.sum().astype(jnp.uint32)
    seed = seed + node.astype(jnp.uint32) * jnp.uint32(NODE) + count * jnp.uint32(VISIT)
    actions = (jnp.arange(visits.shape[0]) + 1).astype(jnp.uint32) * jnp.uint32(ACTION)
    return scramble(seed + actions) | jnp.uint32(1)


def root_order(tree: Tree, seen: View) -> Array | None:
    """The order of the actions of the roots."""
    return order_at(tree, jnp.zeros(seen.visits.shape[0], jnp.uint32), seen)


def scramble(words: Array) -> Array:
    """The finalizer of MurmurHash3."""
    words = (words ^ (words >> jnp.uint32(16))) * jnp.uint32(0x85EBCA6B)
    words = (words ^ (words >> jnp.uint32(13))) * jnp.uint32(0xC2B2AE35)
    return words ^ (words >> jnp.uint32(16))
