"""What a search returns, and final-move rules: which action to play (Sanz & Villanueva 2021, section 2.3.2).

Axis letters: B batch, A actions, P seats.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search import ties
from tabia.search import tree as trees
from tabia.search.rules.rule import Root, select_action
from tabia.search.tree import Tree, View

if TYPE_CHECKING:
    from tabia.search.search import Search


class Result(NamedTuple):
    """The outcome of a search at its roots."""

    action: Array  # int32[B] the action the rule recommends
    policy: Array  # float32[B, A] the policy it recommends: visits, or Gumbel's improved policy
    visits: Array  # float32[B, A]
    means: Array  # float32[B, A] the mover's mean value of each action, 0 if unvisited
    values: Array  # float32[B, P] the value for each seat (see `root_values`)
    tree: Tree
    order: Array | None = None  # uint32[B, A] which of equally good actions to play, the highest; None: the first


def summarize(search: Search, tree: Tree, root: Root) -> Result:
    """The result at the roots of finished trees."""
    node = trees.root_view(tree)
    scores, policy, weights = search.rule.recommend(node, root)
    order = ties.root_order(tree, node)
    return Result(
        action=select_action(scores, node.legal, order),
        policy=policy,
        visits=node.visits,
        means=node.means,
        values=root_values(search, tree, node, weights),
        tree=tree,
        order=order,
    )


def root_values(search: Search, tree: Tree, node: View, weights: Array) -> Array:
    """The value for each seat [B, P]: (v + N * sum over actions of weight * mean value) / (1 + N).

    Weighted by visits this is the mean of all simulations. Gumbel's rule visits good and bad root actions equally often
    until it drops the bad ones, so it weights them by its improved policy.
    """
    total = node.visits.sum(axis=-1)[:, None]
    if search.reuse_nodes:  # earlier visits were backed up before the node became the root, so `sums` lacks them
        return tree.totals[0] / (1.0 + total)  # type: ignore[index]
    means = tree.sums / jnp.maximum(node.visits, 1.0)[:, :, None]
    return (tree.root_values + total * (weights[:, :, None] * means).sum(axis=1)) / (1.0 + total)


# Final-move rules.


def most_visits(result: Result) -> Array:
    """Robust child: the most visited action."""
    return select_action(result.visits, result.visits > 0, result.order)


def best_value(result: Result) -> Array:
    """Max child: the action with the highest mean value."""
    return select_action(result.means, result.visits > 0, result.order)


def secure(result: Result, *, a: float = 1.0) -> Array:
    """Secure child: the highest v + a / sqrt(n), the thesis's formula as printed.

    Sanz & Villanueva 2021 calls it a lower confidence bound, which it is for a negative `a`.
    """
    bound = result.means + a / jnp.sqrt(jnp.maximum(result.visits, 1.0))
    return select_action(bound, result.visits > 0, result.order)


def max_robust(result: Result) -> Array:
    """Max-robust child: of the most visited actions the one with the highest value."""
    most = result.visits == result.visits.max(axis=-1, keepdims=True)
    return select_action(jnp.where(most, result.means, -2.0), result.visits > 0, result.order)


def agreed(result: Result) -> Array:
    """bool[B]: whether one action has both the most visits and the highest value."""
    visited = result.visits > 0
    most = result.visits == result.visits.max(axis=-1, keepdims=True)
    best = result.means == jnp.where(visited, result.means, -jnp.inf).max(axis=-1, keepdims=True)
    return jnp.any(most & best & visited, axis=-1)


# Policies.


def visit_policy(visits: Array, temperature: float | Array) -> Array:
    """N^(1 / temperature), normalized [B, A]; as the temperature approaches 0, the most visited action alone."""
    visited = visits > 0
    logits = jnp.where(visited, jnp.log(jnp.maximum(visits, 1.0)), -jnp.inf) / jnp.maximum(temperature, 1e-3)
    return jax.nn.softmax(logits, axis=-1)


def sample(key: Array, policy: Array) -> Array:
    """Sample one action per row of a policy [B, A]."""
    return jax.random.categorical(key, jnp.log(policy), axis=-1).astype(jnp.int32)
