"""Upper confidence bounds: UCT, and Mini AlphaGo's combination with a network."""

from __future__ import annotations

from dataclasses import dataclass

import jax.numpy as jnp
from jax import Array

from tabia.search.rules.rule import Rule, action_numbers, select_action
from tabia.search.tree import View


@dataclass(frozen=True)
class Uct(Rule):
    """v + c sqrt(log N / n); unvisited actions first (Sanz & Villanueva 2021, Goldberg & Ishay 2017)."""

    c: float = 2.0**0.5

    def scores(self, node: View) -> Array:
        return jnp.where(node.visits > 0, node.means + _bonus(self.c, node), jnp.inf)


@dataclass(frozen=True)
class MiniAlphaGo(Rule):
    """Q + c1 sqrt(ln N / n) + c2 [the network's favorite] / (1 + n) (Goldberg & Ishay 2017, section 2.4)."""

    c1: float = 0.0
    c2: float = 2.0**0.5

    def scores(self, node: View) -> Array:
        favorite = select_action(node.logits, node.legal)[..., None] == action_numbers(node)
        second = self.c2 * favorite / (1.0 + node.visits)
        if self.c1 == 0.0:
            return node.means + second
        return jnp.where(node.visits > 0, node.means + _bonus(self.c1, node) + second, jnp.inf)


def _bonus(c: float, node: View) -> Array:
    """C sqrt(log N / n)."""
    visits = node.visits.sum(axis=-1, keepdims=True)
    return c * jnp.sqrt(jnp.log(jnp.maximum(visits, 1.0)) / jnp.maximum(node.visits, 1.0))
