"""Gumbel AlphaZero: sequential halving over sampled moves at the root, a deterministic rule below it.

Danihelka et al. 2022, "Policy improvement by planning with Gumbel". The improved policy is
softmax(logits + sigma(completed Q)), sigma(q) = (visit_offset + max n) * scale * q.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

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


class Round(NamedTuple):
    """A round of sequential halving: its moves are tried in turn, again and again, until the next round begins."""

    first: int  # the number of its first simulation
    moves: int  # how many are still considered
    visits: int  # that each of them has by then


def halving_rounds(considered: int, simulations: int) -> list[Round]:
    """The rounds of sequential halving with `considered` moves; the last goes on until the simulations are used up.

    >>> [tuple(one) for one in halving_rounds(4, 8)]
    [(0, 4, 0), (4, 2, 1)]
    """
    rounds = [Round(0, max(considered, 1), 0)]
    halvings = math.ceil(math.log2(max(considered, 2)))
    while rounds[-1].moves > 2:
        first, moves, visits = rounds[-1]
        repeats = max(1, simulations // (halvings * moves))
        rounds.append(Round(first + repeats * moves, max(2, moves // 2), visits + repeats))
    return rounds


def schedule(rule: Gumbel, legal: Array, simulations: int) -> Array:
    """float32[simulations, B]: the visits considered at each simulation, by each root's number of legal moves."""
    most = min(rule.considered, legal.shape[-1])
    tables = [halving_rounds(count, simulations) for count in range(most + 1)]
    longest = max(map(len, tables))
    # Repeating the last round changes nothing, so all tables can have the same length.
    table = np.array([rounds + rounds[-1:] * (longest - len(rounds)) for rounds in tables], np.int32)
    first, moves, visits = jnp.moveaxis(jnp.asarray(table)[jnp.minimum(legal.sum(axis=-1), most)], -1, 0)
    since = jnp.arange(simulations)[:, None, None] - first[None]
    # A later round has fewer moves, so its visits rise faster: of the rounds begun, the latest gives the most.
    return jnp.where(since >= 0, visits[None] + since // moves[None], 0).max(axis=-1).astype(jnp.float32)


def sample(rule: Gumbel, key: Array, shape: tuple[int, ...]) -> Array:
    """The root's Gumbel noise [B, A]."""
    return rule.noise * jax.random.gumbel(key, shape) if rule.noise else jnp.zeros(shape)
