"""Upper confidence bounds: UCT, and Mini AlphaGo's combination with a network."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from tabia.search.rules.rule import Recommendation, Root, Rule, action_numbers, select_action
from tabia.search.tree import View


@dataclass(frozen=True)
class Uct(Rule):
    """v + c sqrt(log N / n); unvisited actions first (Sanz & Villanueva 2021, Goldberg & Ishay 2017)."""

    c: float = 2.0**0.5

    def scores(self, node: View) -> Array:
        return jnp.where(node.visits > 0, node.means + _bonus(self.c, node), jnp.inf)


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
