"""Rules based on the variance of values: Objective Monte Carlo (OMC) and "probability to be better than best move".

Both compute an urgency for each action and visit actions in proportion to it (Sanz & Villanueva 2021, section 2.3.2).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.rules.rule import Rule, action_numbers, select_action
from tabia.search.tree import View


@dataclass(frozen=True)
class Omc(Rule):
    """Objective Monte Carlo: urgency erfc((V - v) / (sqrt 2 sigma))."""

    needs_squares: ClassVar[bool] = True

    def scores(self, node: View) -> Array:
        best, deviation = _best(node), _deviation(node)
        gap = (best - node.means) / (jnp.sqrt(2.0) * jnp.maximum(deviation, 1e-12))
        urgency = jnp.where(node.visits < 2, 1.0, jax.scipy.special.erfc(jnp.where(node.means < best, gap, 0.0)))
        return _fairness(node, urgency)


@dataclass(frozen=True)
class Pbbm(Rule):
    """Probability to be better than the best move: urgency exp(-2.4 (V - v) / sqrt(2 (Sigma^2 + sigma^2)))."""

    needs_squares: ClassVar[bool] = True

    def scores(self, node: View) -> Array:
        best, deviation = _best(node), _deviation(node)
        leader = select_action(node.means, node.legal & (node.visits > 0))[..., None] == action_numbers(node)
        spread = jnp.where(leader, deviation, 0.0).sum(axis=-1, keepdims=True)
        width = jnp.sqrt(2.0 * (spread**2 + deviation**2))
        gap = jnp.where(node.means < best, (best - node.means) / jnp.maximum(width, 1e-12), 0.0)
        return _fairness(node, jnp.where(node.visits < 2, 1.0, jnp.exp(-2.4 * gap)))


def _best(node: View) -> Array:
    """The highest mean of the visited actions, 0 if there is none."""
    visited = node.legal & (node.visits > 0)
    highest = jnp.where(visited, node.means, -jnp.inf).max(axis=-1, keepdims=True)
    return jnp.where(jnp.isfinite(highest), highest, 0.0)


def _deviation(node: View) -> Array:
    assert node.squares is not None
    mean_square = node.squares / jnp.maximum(node.visits, 1.0)
    return jnp.sqrt(jnp.maximum(mean_square - node.means**2, 0.0))


def _fairness(node: View, urgency: Array) -> Array:
    """N U / ((n + 1) * the urgency of all other actions), with n + 1 instead of n for unvisited actions."""
    urgency = jnp.where(node.legal, urgency, 0.0)
    others = urgency.sum(axis=-1, keepdims=True) - urgency
    visits = node.visits.sum(axis=-1, keepdims=True) + 1.0
    return visits * urgency / ((node.visits + 1.0) * jnp.maximum(others, 1e-12))
