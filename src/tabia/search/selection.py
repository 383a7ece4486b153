"""Selection rules: which move of a node to try next.

A rule is a small frozen callable that turns a node's view into one score per action; the highest legal score is
tried, the first one on a tie. Values are the mover's, in [-1, 1]; N is the node's visits (`Puct` counts its own
evaluation too), n an action's. Every rule works on the last axis, so it serves a batch of nodes and a single one alike.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.tree import View


class Rule(Protocol):
    """Scores for the actions of a node; `squares` says whether it needs the variance of values."""

    @property
    def squares(self) -> bool: ...

    def __call__(self, node: View) -> Array: ...


def choose(scores: Array, legal: Array) -> Array:
    """The legal action with the highest score, the first on a tie."""
    return jnp.argmax(jnp.where(legal, scores, -jnp.inf), axis=-1).astype(jnp.int32)


# The value of a move nobody has tried.

Unvisited = Callable[[View], Array]


def as_draw(node: View) -> Array:
    """0: what the theses use."""
    return jnp.zeros_like(node.value)


def as_loss(node: View) -> Array:
    """-1: pessimistic, as in many AlphaZero implementations."""
    return -jnp.ones_like(node.value)


def as_parent(node: View) -> Array:
    """The mean of all values seen below the node, its own evaluation included."""
    return (node.value + node.totals.sum(axis=-1)) / (1.0 + node.visits.sum(axis=-1))


@dataclass(frozen=True)
class Reduced:
    """The parent's mean less `reduction` * sqrt(share of the prior already tried): KataGo's choice."""

    reduction: float = 0.2

    def __call__(self, node: View) -> Array:
        tried = jnp.where(node.visits > 0, node.priors, 0.0).sum(axis=-1)
        return as_parent(node) - self.reduction * jnp.sqrt(tried)


# The rules.


@dataclass(frozen=True)
class Puct:
    """AlphaZero: Q + c P sqrt(N) / (1 + n), with c growing by log((N + base + 1) / base) if a base is given.

    `own_visit=False` leaves the node's own evaluation out of N (Schulte 2021, equation 3.2.4).
    """

    c: float = 1.25
    base: float | None = None
    unvisited: Unvisited = as_draw
    own_visit: bool = True
    squares: bool = False

    def __call__(self, node: View) -> Array:
        visits = node.visits.sum(axis=-1, keepdims=True) + float(self.own_visit)
        c = self.c if self.base is None else self.c + jnp.log((visits + self.base + 1.0) / self.base)
        means = jnp.where(node.visits > 0, node.means, self.unvisited(node)[..., None])
        return means + c * node.priors * jnp.sqrt(visits) / (1.0 + node.visits)


@dataclass(frozen=True)
class Uct:
    """Upper confidence bounds: v + c sqrt(log N / n); moves never tried come first (Sanz & Villanueva 2021, Goldberg & Ishay 2017)."""

    c: float = 2.0**0.5
    squares: bool = False

    def __call__(self, node: View) -> Array:
        visits = node.visits.sum(axis=-1, keepdims=True)
        bonus = self.c * jnp.sqrt(jnp.log(jnp.maximum(visits, 1.0)) / jnp.maximum(node.visits, 1.0))
        return jnp.where(node.visits > 0, node.means + bonus, jnp.inf)


@dataclass(frozen=True)
class MiniAlphaGo:
    """Mini AlphaGo: Q + c1 sqrt(ln N / n) + c2 [the network's move] / (1 + n) (Goldberg & Ishay 2017, section 2.4)."""

    c1: float = 0.0
    c2: float = 2.0**0.5
    squares: bool = False

    def __call__(self, node: View) -> Array:
        favorite = choose(node.logits, node.legal)[..., None] == _actions(node)
        second = self.c2 * favorite / (1.0 + node.visits)
        if self.c1 == 0.0:
            return node.means + second
        visits = node.visits.sum(axis=-1, keepdims=True)
        first = self.c1 * jnp.sqrt(jnp.log(jnp.maximum(visits, 1.0)) / jnp.maximum(node.visits, 1.0))
        return jnp.where(node.visits > 0, node.means + first + second, jnp.inf)


@dataclass(frozen=True)
class Omc:
    """Objective Monte Carlo: urgency erfc((V - v) / (sqrt 2 sigma)), shared out by fairness (Sanz & Villanueva 2021, section 2.3.2)."""

    squares: bool = True

    def __call__(self, node: View) -> Array:
        best, deviation = _best(node), _deviation(node)
        gap = (best - node.means) / (jnp.sqrt(2.0) * jnp.maximum(deviation, 1e-12))
        urgency = jnp.where(node.visits < 2, 1.0, jax.scipy.special.erfc(jnp.where(node.means < best, gap, 0.0)))
        return _fairness(node, urgency)


@dataclass(frozen=True)
class Pbbm:
    """Probability to be better than the best move: urgency exp(-2.4 (V - v) / sqrt(2 (Sigma^2 + sigma^2))) (Sanz & Villanueva 2021)."""

    squares: bool = True

    def __call__(self, node: View) -> Array:
        best, deviation = _best(node), _deviation(node)
        leader = choose(node.means, node.legal & (node.visits > 0))[..., None] == _actions(node)
        spread = jnp.where(leader, deviation, 0.0).sum(axis=-1, keepdims=True)
        width = jnp.sqrt(2.0 * (spread**2 + deviation**2))
        gap = jnp.where(node.means < best, (best - node.means) / jnp.maximum(width, 1e-12), 0.0)
        return _fairness(node, jnp.where(node.visits < 2, 1.0, jnp.exp(-2.4 * gap)))


def _actions(node: View) -> Array:
    return jax.lax.broadcasted_iota(jnp.int32, node.visits.shape, node.visits.ndim - 1)


def _best(node: View) -> Array:
    """The highest mean among the moves tried, 0 before any."""
    tried = node.legal & (node.visits > 0)
    highest = jnp.where(tried, node.means, -jnp.inf).max(axis=-1, keepdims=True)
    return jnp.where(jnp.isfinite(highest), highest, 0.0)


def _deviation(node: View) -> Array:
    assert node.squares is not None
    mean_square = node.squares / jnp.maximum(node.visits, 1.0)
    return jnp.sqrt(jnp.maximum(mean_square - node.means**2, 0.0))


def _fairness(node: View, urgency: Array) -> Array:
    """N U / ((n + 1) * the urgency of all other moves), Sanz & Villanueva's form with n + 1 for moves never tried."""
    urgency = jnp.where(node.legal, urgency, 0.0)
    others = urgency.sum(axis=-1, keepdims=True) - urgency
    visits = node.visits.sum(axis=-1, keepdims=True) + 1.0
    return visits * urgency / ((node.visits + 1.0) * jnp.maximum(others, 1e-12))
