"""Gumbel AlphaZero: sequential halving over sampled actions at the root, a deterministic rule below it.

Danihelka et al. 2022, "Policy improvement by planning with Gumbel". The improved policy is
softmax(logits + sigma(completed Q)), sigma(q) = (maxvisit_init + max n) * value_scale * q. Parameters are named as in
mctx.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.search.rules.rule import Recommendation, Root, Rule
from tabia.search.tree import ILLEGAL, View


@dataclass(frozen=True)
class Gumbel(Rule):
    """`considered_actions` are sampled at the root; `gumbel_scale` scales the Gumbel sample (0: none).

    They are sampled from the prior mixed with `uniform_fraction` of a uniform distribution, so that a move which the
    network has given up is tried again. The improved policy keeps the prior itself.
    With `rescale_values` completed values are rescaled to [0, 1] before scaling, the default of mctx (with
    value_scale 0.1).
    """

    plans_root: ClassVar[bool] = True
    root_lanes: ClassVar[tuple[int, ...]] = (0, 1)

    considered_actions: int = 16
    gumbel_scale: float = 1.0
    uniform_fraction: float = 0.0
    value_scale: float = 1.0
    maxvisit_init: float = 50.0
    rescale_values: bool = False

    def scores(self, node: View) -> Array:
        """Follow the improved policy as closely as visit counts allow."""
        policy = self.improved_policy(node)
        return policy - node.visits / (1.0 + node.visits.sum(axis=-1, keepdims=True))

    def prepare_root(self, logits: Array, simulations: int, key: Array) -> tuple[Array, Root]:
        """Sample Gumbel noise [B, A] and lay out the schedule [simulations, B] of sequential halving."""
        _, gumbel_key = jax.random.split(key)
        gumbel = jnp.zeros(logits.shape)
        if self.gumbel_scale:
            gumbel = self.gumbel_scale * jax.random.gumbel(gumbel_key, logits.shape)
        if self.uniform_fraction:
            gumbel += uniform_bonus(logits, self.uniform_fraction)
        return logits, (gumbel, halving_schedule(self.considered_actions, logits > ILLEGAL / 2, simulations))

    def root_scores(self, node: View, root: Root, simulation: Array) -> Array:
        gumbel, schedule = root
        return self._root_scores(node, gumbel, _available(node, schedule[simulation]))

    def recommend(self, node: View, root: Root) -> Recommendation:
        """The best of the most visited actions, and the improved policy."""
        gumbel, _ = root
        return Recommendation(
            scores=self._root_scores(node, gumbel, node.candidate_visits.max(axis=-1)),
            policy=self.improved_policy(node, node.candidates),
            weights=self.improved_policy(node, node.candidate_visits > 0),
        )

    def _root_scores(self, node: View, gumbel: Array, considered_visits: Array) -> Array:
        """Scores of the actions with `considered_visits` [B] visits."""
        # Actions with equal visits are all visited or all unvisited, so completing their values changes no comparison.
        values = self.completed(node) if self.rescale_values else self.sigma(node, node.means)
        scores = gumbel + node.logits + values
        return jnp.where(node.visits == considered_visits[:, None], scores, -jnp.inf)

    def improved_policy(self, node: View, among: Array | None = None) -> Array:
        """The improved policy over the legal actions, or over some of them, `among` [..., A]."""
        logits = jnp.where(node.legal if among is None else among, node.logits + self.completed(node), ILLEGAL)
        shifted = jnp.exp(logits - logits.max(axis=-1, keepdims=True))
        return shifted / shifted.sum(axis=-1, keepdims=True)

    def completed(self, node: View) -> Array:
        """Sigma of each action's value; unvisited actions take the mixed value of the node."""
        values = jnp.where(node.visits > 0, node.means, mixed_value(node)[..., None])
        if self.rescale_values:
            low = jnp.where(node.exists, values, jnp.inf).min(axis=-1, keepdims=True)
            high = jnp.where(node.exists, values, -jnp.inf).max(axis=-1, keepdims=True)
            values = (values - low) / jnp.maximum(high - low, 1e-8)
        return self.sigma(node, values)

    def sigma(self, node: View, values: Array) -> Array:
        """Values on the scale of logits; their weight grows with the visits."""
        return (self.maxvisit_init + node.visits.max(axis=-1, keepdims=True)) * self.value_scale * values


def uniform_bonus(logits: Array, fraction: float) -> Array:
    """What mixing a uniform distribution into the prior adds to its log-probabilities [B, A], 0 for illegal actions."""
    legal = logits > ILLEGAL / 2
    uniform = 1.0 / jnp.maximum(legal.sum(axis=-1, keepdims=True), 1)
    mixed = jnp.log((1.0 - fraction) * jnp.exp(logits) + fraction * uniform)
    return jnp.where(legal, mixed - logits, 0.0)


def _available(node: View, visits: Array) -> Array:
    """The visits [B] of the actions to consider: `visits`, unless proofs have left no candidate with so many.

    Then the next higher number of visits of a candidate, or the highest if there is none. So the simulations of a move
    that is proven to be bad go to the moves that are still considered.
    """
    if node.proven is None:
        return visits
    enough = node.candidates & (node.visits >= visits[:, None])
    least = jnp.where(enough, node.visits, jnp.inf).min(axis=-1)
    return jnp.where(enough.any(axis=-1), least, node.candidate_visits.max(axis=-1))


def mixed_value(node: View) -> Array:
    """The node's own value mixed with the prior-weighted values of visited actions (appendix D of the paper)."""
    visited = node.visits > 0
    priors = jnp.where(visited, jnp.maximum(node.priors, 1e-37), 0.0)
    weighted = (priors * node.means).sum(axis=-1) / jnp.maximum(priors.sum(axis=-1), 1e-37)
    visits = node.visits.sum(axis=-1)
    return (node.value + visits * weighted) / (1.0 + visits)


class Round(NamedTuple):
    """A round of sequential halving: its actions are visited in turn until the next round."""

    first: int  # its first simulation
    actions: int  # actions still considered
    visits: int  # visits of each of them at the start of the round


def halving_rounds(considered: int, simulations: int) -> list[Round]:
    """The rounds of sequential halving over `considered` actions; the last lasts until the end of the search.

    >>> [tuple(one) for one in halving_rounds(4, 8)]
    [(0, 4, 0), (4, 2, 1)]
    """
    rounds = [Round(0, max(considered, 1), 0)]
    halvings = math.ceil(math.log2(max(considered, 2)))
    while rounds[-1].actions > 2:
        first, actions, visits = rounds[-1]
        repeats = max(1, simulations // (halvings * actions))
        rounds.append(Round(first + repeats * actions, max(2, actions // 2), visits + repeats))
    return rounds


def halving_schedule(considered: int, legal: Array, simulations: int) -> Array:
    """float32[simulations, B]: the visits of the actions considered in each simulation, by the legal actions [B, A]."""
    most = min(considered, legal.shape[-1])
    tables = [halving_rounds(count, simulations) for count in range(most + 1)]
    longest = max(map(len, tables))
    # Repeating the last round changes nothing and gives all tables the same length.
    table = np.array([rounds + rounds[-1:] * (longest - len(rounds)) for rounds in tables], np.int32)
    first, actions, visits = jnp.moveaxis(jnp.asarray(table)[jnp.minimum(legal.sum(axis=-1), most)], -1, 0)
    since = jnp.arange(simulations)[:, None, None] - first[None]
    # A later round has fewer actions, so its visits grow faster: the current round gives the maximum.
    return jnp.where(since >= 0, visits[None] + since // actions[None], 0).max(axis=-1).astype(jnp.float32)
