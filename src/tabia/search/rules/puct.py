"""PUCT, the rule of AlphaZero: priors guide exploration, and Dirichlet noise at the root varies self-play."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.errors import SearchError
from tabia.search.rules.rule import Root, Rule
from tabia.search.tree import ILLEGAL, View

# The value of an untried action.

UntriedValue = Callable[[View], Array]


def as_draw(node: View) -> Array:
    """0, in the middle between a win and a loss."""
    return jnp.zeros_like(node.value)


def as_loss(node: View) -> Array:
    """-1, the lowest score of any game (Schulte 2021)."""
    return jnp.full_like(node.value, -1.0)


def as_parent(node: View) -> Array:
    """The mean of all values backed up to the node, including its own evaluation."""
    return (node.value + node.totals.sum(axis=-1)) / (1.0 + node.visits.sum(axis=-1))


@dataclass(frozen=True)
class Reduced:
    """First-play urgency as in KataGo: the parent's mean - reduction * sqrt(visited prior mass)."""

    reduction: float = 0.2

    def __call__(self, node: View) -> Array:
        visited = jnp.where(node.visits > 0, node.priors, 0.0).sum(axis=-1)
        return as_parent(node) - self.reduction * jnp.sqrt(visited)


UNTRIED_VALUES: dict[str, UntriedValue] = {"zero": as_draw, "lowest": as_loss, "parent": as_parent}
"""By the names that players and configurations use."""


@dataclass(frozen=True)
class Puct(Rule):
    """AlphaZero: Q + c P sqrt(N) / (1 + n), where c grows by log((N + base + 1) / base) if a base is given.

    N counts the node's visits, including its own evaluation. With `own_visit=False` it does not (Schulte 2021,
    equation 3.2.4), but it is at least 1: with 0 all actions would tie, and the thesis takes the highest prior. At the
    root, Dirichlet noise makes up `dirichlet_fraction` of the prior. Its alpha is `dirichlet_alpha`, or if that is 0,
    `dirichlet_total` divided by the number of legal actions.
    """

    c: float = 1.25
    base: float | None = None
    untried_value: UntriedValue = as_draw
    own_visit: bool = True
    dirichlet_fraction: float = 0.0
    dirichlet_total: float = 10.0
    dirichlet_alpha: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.dirichlet_fraction <= 1.0:
            raise SearchError(f"dirichlet_fraction={self.dirichlet_fraction:g}: expected a number from 0 to 1.")

    def scores(self, node: View) -> Array:
        visits = node.visits.sum(axis=-1, keepdims=True)
        visits = visits + 1.0 if self.own_visit else jnp.maximum(visits, 1.0)
        c = self.c if self.base is None else self.c + jnp.log((visits + self.base + 1.0) / self.base)
        means = jnp.where(node.visits > 0, node.means, self.untried_value(node)[..., None])
        return means + c * node.priors * jnp.sqrt(visits) / (1.0 + node.visits)

    def prepare_root(self, logits: Array, simulations: int, key: Array) -> tuple[Array, Root]:
        """Mix Dirichlet noise into the roots' priors."""
        if not self.dirichlet_fraction:
            return logits, ()
        noise_key, _ = jax.random.split(key)  # the other half is Gumbel's: runs with the same seed stay the same
        return self.add_noise(logits, noise_key), ()

    def add_noise(self, logits: Array, key: Array) -> Array:
        """Log-probabilities [B, A] with noise: log((1 - fraction) p + fraction * Dir(alpha))."""
        legal = logits > ILLEGAL / 2
        count = jnp.maximum(legal.sum(axis=-1, keepdims=True), 1)
        alpha = jnp.broadcast_to(self.dirichlet_alpha or self.dirichlet_total / count, logits.shape)
        # A Dirichlet sample is normalized gamma samples. Their logarithms stay finite where a small alpha makes all 0.
        noise = jax.nn.softmax(jnp.where(legal, jax.random.loggamma(key, alpha), ILLEGAL), axis=-1)
        mixed = (1.0 - self.dirichlet_fraction) * jnp.exp(logits) + self.dirichlet_fraction * noise
        return jnp.where(legal, jnp.log(jnp.maximum(mixed, 1e-30)), ILLEGAL)
