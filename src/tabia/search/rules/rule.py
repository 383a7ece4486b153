"""The base class of selection rules.

A rule is a frozen dataclass. It scores the actions of a node; the legal action with the highest score is tried, the
first one on a tie (see `ties.py`). It also owns the root: what is sampled before the search, how root actions are
selected, and what the search recommends. Values are the mover's, in [-1, 1]. Scores are computed along the last axis,
so a rule works on one node and on a batch alike. Axis letters: B batch, A actions.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.tree import View

Root = tuple[Array, ...]
"""What a rule prepared for its roots: arrays that only the rule reads."""


class Recommendation(NamedTuple):
    """What a rule recommends at the roots."""

    scores: Array  # [B, A] the legal action with the highest score is played
    policy: Array  # [B, A] over `View.candidates`
    weights: Array  # [B, A] how much each visited candidate counts in the root's value; they sum to 1


@dataclass(frozen=True)
class Rule(ABC):
    """Selects actions during a search and recommends one at its end."""

    needs_squares: ClassVar[bool] = False
    """Whether `scores` reads the sums of squared values."""
    plans_root: ClassVar[bool] = False
    """Whether the rule plans the root's visits in advance.

    Such a rule has root scores of its own and must know the number of simulations, so it cannot run under a time limit
    or continue an earlier tree.
    """

    root_lanes: ClassVar[tuple[int, ...]] = ()
    """The axis B of each array that `prepare_root` returns for the roots."""

    @abstractmethod
    def scores(self, node: View) -> Array:
        """Scores [..., A] of the actions of any node below the root."""

    def prepare_root(self, logits: Array, simulations: int, key: Array) -> tuple[Array, Root]:
        """The roots' log-probabilities [B, A] to search with, and what the rule needs at the roots."""
        return logits, ()

    def root_scores(self, node: View, root: Root, simulation: Array) -> Array:
        """Scores [B, A] of the roots' actions in a simulation, counted from 0."""
        return self.scores(node)

    def recommend(self, node: View, root: Root) -> Recommendation:
        """The most visited action, and visits as the policy."""
        visits = node.candidate_visits
        policy = visits / jnp.maximum(visits.sum(axis=-1, keepdims=True), 1.0)
        return Recommendation(visits, policy, policy)


def select_action(scores: Array, legal: Array, order: Array | None = None) -> Array:
    """The legal action with the highest score; on a tie the first, or the one with the highest `order` [..., A] > 0."""
    masked = jnp.where(legal, scores, -jnp.inf)
    if order is None:
        return jnp.argmax(masked, axis=-1).astype(jnp.int32)
    best = legal & (masked == masked.max(axis=-1, keepdims=True))
    return jnp.argmax(jnp.where(best, order, 0), axis=-1).astype(jnp.int32)


def action_numbers(node: View) -> Array:
    """The numbers of the actions, in the shape of the node's visits."""
    return jax.lax.broadcasted_iota(jnp.int32, node.visits.shape, node.visits.ndim - 1)
