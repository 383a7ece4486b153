"""Upper confidence bounds: UCT, and Mini AlphaGo's combination with a network."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from tabia.search.rules.rule import Recommendation, Root, Rule, action_numbers, select_action
from tabia.search.tree import View


@dataclass(frozen=True)
class Uct(Rule):
    """v + c sqrt(log N / n); unvisited actions first (Goldberg & Ishay 2017).

    Without `untried_first`, an unvisited action has the lowest value, and every action counts one visit more, also the
    node: v + c sqrt(log(N + 1) / (n + 1)). That is the rule of the code of Sanz & Villanueva 2021. Their values are in
    [0, 1], so their constant C is c = 2 C.
    """

    c: float = 2.0**0.5
    untried_first: bool = True

    def scores(self, node: View) -> Array:
        tried = node.visits > 0
        if self.untried_first:
            return jnp.where(tried, node.means + _bonus(self.c, node), jnp.inf)
        count = 1.0 + node.visits.sum(axis=-1, keepdims=True)
        return jnp.where(tried, node.means, -1.0) + self.c * jnp.sqrt(jnp.log(count) / (1.0 + node.visits))


@dataclass(frozen=True)
class MiniAlphaGo(Rule):
    """Q + c1 sqrt(ln N / n) + c2 [the network's favorite] / (1 + n) (Goldberg & Ishay 2017, section 2.4).

    With `c1` above 0 or `untried_first`, untried actions come first; otherwise an action may stay untried. With
    `final_only`, as in the listing of section 2.5, the tree is searched without the second term, and the root plays
    the visited action with the highest score.
    """

    c1: float = 0.0
    c2: float = 2.0**0.5
    untried_first: bool = False
    final_only: bool = False

    def scores(self, node: View) -> Array:
        return self._with_untried(node, self._first(node) if self.final_only else self._both(node))

    def recommend(self, node: View, root: Root) -> Recommendation:
        found = super().recommend(node, root)
        if not self.final_only:
            return found
        return found._replace(scores=jnp.where(node.visits > 0, self._both(node), -jnp.inf))

    def _with_untried(self, node: View, scores: Array) -> Array:
        first = self.c1 > 0.0 or self.untried_first
        return jnp.where(node.visits > 0, scores, jnp.inf) if first else scores

    def _first(self, node: View) -> Array:
        return node.means if self.c1 == 0.0 else node.means + _bonus(self.c1, node)

    def _both(self, node: View) -> Array:
        favorite = select_action(node.logits, node.legal)[..., None] == action_numbers(node)
        return self._first(node) + self.c2 * favorite / (1.0 + node.visits)


def _bonus(c: float, node: View) -> Array:
    """C sqrt(log N / n)."""
    visits = node.visits.sum(axis=-1, keepdims=True)
    return c * jnp.sqrt(jnp.log(jnp.maximum(visits, 1.0)) / jnp.maximum(node.visits, 1.0))
