"""Gumbel AlphaZero: sequential halving over sampled moves at the root, a deterministic rule below it.

Danihelka et al. 2022, "Policy improvement by planning with Gumbel". The improved policy is
softmax(logits + sigma(completed Q)), sigma(q) = (visit_offset + max n) * scale * q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.search.tree import ILLEGAL, View


@dataclass(frozen=True)
class Gumbel:
    """The rule, for the root (`root_scores`) and for every other node (the call itself).

    `considered` moves are sampled at the root; `noise` scales the Gumbel sample (0: none). With `rescale` the
    completed values are stretched to [0, 1] before scaling, which is mctx's default (scale 0.1).
    """

    considered: int = 16
    noise: float = 1.0
    scale: float = 1.0
    visit_offset: float = 50.0
    rescale: bool = False
    squares: bool = False

    def __call__(self, node: View) -> Array:
        """Follow the improved policy as closely as visit counts allow."""
        policy = self.improved_policy(node)
        return policy - node.visits / (1.0 + node.visits.sum(axis=-1, keepdims=True))

    def root_scores(self, node: View, gumbel: Array, considered_visits: Array) -> Array:
        """Among the moves with `considered_visits` [B] visits, the one most worth another look."""
        # Moves with equal visits are all tried or all untried: what an untried move is worth changes no comparison.
        values = self.completed(node) if self.rescale else self.sigma(node, node.means)
        scores = gumbel + node.logits + values
        return jnp.where(node.visits == considered_visits[:, None], scores, -jnp.inf)

    def improved_policy(self, node: View, among: Array | None = None) -> Array:
        """The policy the search recommends, over the legal moves or `among` [..., A] some of them."""
        logits = jnp.where(node.legal if among is None else among, node.logits + self.completed(node), ILLEGAL)
        shifted = jnp.exp(logits - logits.max(axis=-1, keepdims=True))
        return shifted / shifted.sum(axis=-1, keepdims=True)

    def completed(self, node: View) -> Array:
        """Sigma of each move's value; moves never tried take the mixed value of the node."""
        values = jnp.where(node.visits > 0, node.means, mixed_value(node)[..., None])
        if self.rescale:
            low = jnp.where(node.exists, values, jnp.inf).min(axis=-1, keepdims=True)
            high = jnp.where(node.exists, values, -jnp.inf).max(axis=-1, keepdims=True)
            values = (values - low) / jnp.maximum(high - low, 1e-8)
        return self.sigma(node, values)

    def sigma(self, node: View, values: Array) -> Array:
        """How much values weigh against logits: the more, the more visits they rest on."""
        return (self.visit_offset + node.visits.max(axis=-1, keepdims=True)) * self.scale * values


def mixed_value(node: View) -> Array:
    """The node's own value mixed with the prior-weighted values of the moves tried (appendix D of the paper)."""
    tried = node.visits > 0
    priors = jnp.where(tried, jnp.maximum(node.priors, 1e-37), 0.0)
    weighted = (priors * node.means).sum(axis=-1) / jnp.maximum(priors.sum(axis=-1), 1e-37)
    visits = node.visits.sum(axis=-1)
    return (node.value + visits * weighted) / (1.0 + visits)


def halving_visits(considered: int, simulations: int) -> list[int]:
    """How often each simulation's move must have been tried before, when `considered` moves are in the running.

    >>> halving_visits(4, 8)
    [0, 0, 0, 0, 1, 1, 2, 2]
    """
    if considered <= 1:
        return list(range(simulations))
    rounds = math.ceil(math.log2(considered))
    visits, sequence, left = [0] * considered, list[int](), considered
    while len(sequence) < simulations:
        for _ in range(max(1, simulations // (rounds * left))):
            sequence += visits[:left]
            visits[:left] = [count + 1 for count in visits[:left]]
        left = max(2, left // 2)
    return sequence[:simulations]


def schedule(rule: Gumbel, legal: Array, simulations: int) -> Array:
    """float32[simulations, B]: the visits considered at each simulation, by each root's number of legal moves."""
    most = min(rule.considered, legal.shape[-1])
    table = np.array([halving_visits(count, simulations) for count in range(most + 1)], np.float32)
    return jnp.asarray(table)[jnp.minimum(legal.sum(axis=-1), most)].T


def sample(rule: Gumbel, key: Array, shape: tuple[int, ...]) -> Array:
    """The root's Gumbel noise [B, A]."""
    return rule.noise * jax.random.gumbel(key, shape) if rule.noise else jnp.zeros(shape)
