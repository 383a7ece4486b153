"""Roots: what is drawn there before a search, and what is read off them after it.

Axis letters: B batch, A actions, P seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search import gumbel
from tabia.search import tree as trees
from tabia.search.gumbel import Gumbel
from tabia.search.selection import choose
from tabia.search.tree import ILLEGAL, LOGIT, Tree, View

if TYPE_CHECKING:
    from tabia.search.search import Search


@dataclass(frozen=True)
class Noise:
    """Dirichlet noise over the legal moves: p becomes (1 - fraction) p + fraction * Dir(alpha).

    With it self-play does not always see the same games. If `alpha` is None it is `total` divided by the number of
    legal moves (AlphaZero: about 10).
    """

    alpha: float | None = None
    fraction: float = 0.25
    total: float = 10.0

    def stir(self, records: Array, key: Array) -> Array:
        """Stir the priors in the roots' records [B, A + 1, 4]."""
        logits = records[:, :-1, LOGIT]
        legal = logits > ILLEGAL / 2
        count = jnp.maximum(legal.sum(axis=-1, keepdims=True), 1)
        alpha = jnp.broadcast_to(self.total / count if self.alpha is None else self.alpha, logits.shape)
        # A Dirichlet draw is a share of gamma draws; their logarithms survive where a small alpha makes them all 0.
        drawn = jax.nn.softmax(jnp.where(legal, jax.random.loggamma(key, alpha), ILLEGAL), axis=-1)
        stirred = (1.0 - self.fraction) * jnp.exp(logits) + self.fraction * drawn
        return records.at[:, :-1, LOGIT].set(jnp.where(legal, jnp.log(jnp.maximum(stirred, 1e-30)), ILLEGAL))


class Root(NamedTuple):
    """What the choice at the root needs beyond its view; nothing but for Gumbel's rule."""

    gumbel: Array | None = None  # [B, A]
    schedule: Array | None = None  # [simulations, B]


def prepare_root(search: Search, tree: Tree, key: Array) -> tuple[Tree, Root]:
    """Stir the roots' priors and draw what the root's rule needs."""
    noise_key, gumbel_key = jax.random.split(key)
    if search.noise is not None:
        tree = tree._replace(records=tree.records.at[0].set(search.noise.stir(tree.records[0], noise_key)))
    if not isinstance(search.rule, Gumbel):
        return tree, Root()
    legal = trees.root_view(tree).legal
    sample = gumbel.sample(search.rule, gumbel_key, legal.shape)
    return tree, Root(sample, gumbel.schedule(search.rule, legal, search.simulations))


class Result(NamedTuple):
    """What a search found out about its roots."""

    action: Array  # int32[B] the move the search itself would play: most visits, or Gumbel's winner
    policy: Array  # float32[B, A] what it recommends: shares of visits, or Gumbel's improved policy
    visits: Array  # float32[B, A]
    means: Array  # float32[B, A] the mover's mean value of each action, 0 where never tried
    values: Array  # float32[B, P] what each seat may expect of the moves it recommends (see `expected`)
    tree: Tree


def harvest(search: Search, tree: Tree, root: Root) -> Result:
    """Read the result off the roots."""
    node = trees.root_view(tree)
    if isinstance(search.rule, Gumbel):
        assert root.gumbel is not None
        scores = search.rule.root_scores(node, root.gumbel, node.visits.max(axis=-1))
        policy, weights = search.rule.improved_policy(node), search.rule.improved_policy(node, node.visits > 0)
    else:
        scores = node.visits
        policy = weights = node.visits / jnp.maximum(node.visits.sum(axis=-1, keepdims=True), 1.0)
    values = expected(search, tree, node, weights)
    return Result(choose(scores, node.legal), policy, node.visits, node.means, values, tree)


def expected(search: Search, tree: Tree, node: View, weights: Array) -> Array:
    """What each seat may expect [B, P]: the root's own value, and N times the mean of the moves tried, by `weights`.

    By shares of visits that is the mean of all simulations. Not so by Gumbel's rule, which at the root looks at good
    and bad moves equally often until it drops the bad ones, and whose policy knows better.
    """
    total = node.visits.sum(axis=-1)[:, None]
    if search.keep:  # earlier visits came back to a node that was no root then; no search by Gumbel's rule keeps trees
        return tree.totals[0] / (1.0 + total)  # type: ignore[index]
    means = tree.sums / jnp.maximum(node.visits, 1.0)[:, :, None]
    return (tree.root_values + total * (weights[:, :, None] * means).sum(axis=1)) / (1.0 + total)
