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
from tabia.search.proofs import proof
from tabia.search.rules.rule import Root, select_action
from tabia.search.tree import SEAT, UNPROVEN, Tree, View

if TYPE_CHECKING:
    from tabia.search.search import Search


class Proofs(NamedTuple):
    """What a search with `proven_values` has proven at its roots."""

    complete: Array  # bool[B] whether the root is proven; then `Result.values` are exact
    actions: Array  # float32[B, A] the mover's exact value of each action, NaN if it is not proven
    candidates: Array  # bool[B, A] the actions that may be the best; if the root is proven, the best ones proven


class Result(NamedTuple):
    """The outcome of a search at its roots."""

    action: Array  # int32[B] the action the rule recommends
    policy: Array  # float32[B, A] the policy it recommends: visits, or Gumbel's improved policy
    visits: Array  # float32[B, A]
    means: Array  # float32[B, A] the mover's mean value of each action, 0 if unvisited
    values: Array  # float32[B, P] the value for each seat (see `root_values`)
    tree: Tree
    order: Array | None = None  # uint32[B, A] which of equally good actions to play, the highest; None: the first
    proofs: Proofs | None = None  # with `Search.proven_values`


def summarize(search: Search, tree: Tree, root: Root) -> Result:
    """The result at the roots of finished trees."""
    node = trees.root_view(tree)
    scores, policy, weights = search.rule.recommend(node, root)
    order, proofs = ties.root_order(tree, node), root_proofs(tree, node)
    if proofs is not None:  # all candidates may be untried, which no rule recommends
        scores, policy = jnp.maximum(scores, _LOWEST_SCORE), _or_uniform(policy, proofs.candidates)
    return Result(
        action=select_action(scores, node.candidates, order),
        policy=policy,
        visits=node.visits,
        means=node.means,
        values=root_values(search, tree, node, weights),
        tree=tree,
        order=order,
        proofs=proofs,
    )


_LOWEST_SCORE = -3e38  # finite


def root_proofs(tree: Tree, node: View) -> Proofs | None:
    """What is proven at the roots."""
    if tree.proven is None or node.proven is None:
        return None
    complete, _ = proof(tree.records[0, :, -1, SEAT], tree.proven[0])
    actions = jnp.where(node.proven > UNPROVEN, node.proven, jnp.nan)
    return Proofs(complete, actions, node.candidates)


def _or_uniform(policy: Array, candidates: Array) -> Array:
    """The policy [B, A], uniform over the candidates where it is 0."""
    uniform = candidates / candidates.sum(axis=-1, keepdims=True)
    return jnp.where(policy.sum(axis=-1, keepdims=True) > 0, policy, uniform)


def root_values(search: Search, tree: Tree, node: View, weights: Array) -> Array:
    """The value for each seat [B, P]: (v + N * sum over actions of weight * mean value) / (1 + N).

    Weighted by visits this is the mean of all simulations. Gumbel's rule visits good and bad root actions equally often
    until it drops the bad ones, so it weights them by its improved policy. With proofs, only candidates count, and a
    proven root has its exact value.
    """
    if tree.proven is not None:
        complete, exact = proof(tree.records[0, :, -1, SEAT], tree.proven[0])
        return jnp.where(complete[:, None], exact, mean_values(search, tree, node, weights))
    return mean_values(search, tree, node, weights)


def mean_values(search: Search, tree: Tree, node: View, weights: Array) -> Array:
    """The value for each seat [B, P] without a proof of the root."""
    if search.reuse_nodes:  # earlier visits were backed up before the node became the root, so `sums` lacks them
        return tree.totals[0] / (1.0 + node.visits.sum(axis=-1)[:, None])  # type: ignore[index]
    total = node.candidate_visits.sum(axis=-1)[:, None]
    means = tree.sums / jnp.maximum(node.visits, 1.0)[:, :, None]
    if tree.proven is not None:
        means = jnp.where(tree.proven[0] > UNPROVEN, tree.proven[0], means)
    return (tree.root_values + total * (weights[:, :, None] * means).sum(axis=1)) / (1.0 + total)


# Final-move rules.


def playable(result: Result) -> Array:
    """bool[B, A]: the visited actions; with proofs the visited candidates, or all candidates if none was visited."""
    visited = result.visits > 0
    if result.proofs is None:
        return visited
    both = visited & result.proofs.candidates
    return jnp.where(both.any(axis=-1, keepdims=True), both, result.proofs.candidates)


def most_visits(result: Result) -> Array:
    """Robust child: the most visited action."""
    return select_action(result.visits, playable(result), result.order)


def best_value(result: Result) -> Array:
    """Max child: the action with the highest mean value."""
    return select_action(result.means, playable(result), result.order)


def secure(result: Result, *, a: float = 1.0) -> Array:
    """Secure child: the highest v + a / sqrt(n), the thesis's formula as printed.

    Sanz & Villanueva 2021 calls it a lower confidence bound, which it is for a negative `a`.
    """
    bound = result.means + a / jnp.sqrt(jnp.maximum(result.visits, 1.0))
    return select_action(bound, playable(result), result.order)


def max_robust(result: Result) -> Array:
    """Max-robust child: of the most visited actions the one with the highest value."""
    allowed = playable(result)
    return select_action(jnp.where(_most_visited(result, allowed), result.means, -2.0), allowed, result.order)


def preferred(result: Result) -> Array:
    """Of the most visited actions the one with the highest prior."""
    allowed, priors = playable(result), trees.root_view(result.tree).priors
    return select_action(jnp.where(_most_visited(result, allowed), priors, -1.0), allowed, result.order)


def agreed(result: Result) -> Array:
    """bool[B]: whether one action has both the most visits and the highest value, or the root is proven."""
    allowed = playable(result)
    best = result.means == jnp.where(allowed, result.means, -jnp.inf).max(axis=-1, keepdims=True)
    found = jnp.any(_most_visited(result, allowed) & best & allowed, axis=-1)
    return found if result.proofs is None else found | result.proofs.complete


def _most_visited(result: Result, allowed: Array) -> Array:
    """bool[B, A]: the actions with as many visits as the most visited one of those allowed [B, A]."""
    visits = result.visits if result.proofs is None else jnp.where(allowed, result.visits, 0.0)
    return result.visits == visits.max(axis=-1, keepdims=True)


# Policies.


def visit_policy(visits: Array, temperature: float | Array) -> Array:
    """N^(1 / temperature), normalized [B, A]; as the temperature approaches 0, the most visited action alone."""
    visited = visits > 0
    logits = jnp.where(visited, jnp.log(jnp.maximum(visits, 1.0)), -jnp.inf) / jnp.maximum(temperature, 1e-3)
    return jax.nn.softmax(logits, axis=-1)


def visit_target(result: Result) -> Array:
    """The visits as a policy [B, A]; with proofs those of the candidates."""
    if result.proofs is None:
        return visit_policy(result.visits, 1.0)
    visits = jnp.where(result.proofs.candidates, result.visits, 0.0)
    share = visits / jnp.maximum(visits.sum(axis=-1, keepdims=True), 1.0)
    return _or_uniform(share, result.proofs.candidates)


def sample(key: Array, policy: Array) -> Array:
    """Sample one action per row of a policy [B, A]."""
    return jax.random.categorical(key, jnp.log(policy), axis=-1).astype(jnp.int32)
