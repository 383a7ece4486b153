"""Rating models: Bayesian inference with intervals, as in BayesElo, and Plackett-Luce for more than two seats.

Two seats (Rao and Kupper's model, as in BayesElo): with d the difference of the ratings plus the advantage of the
first seat, and f(x) = 1 / (1 + 10^(-x / 400)),

    P(first wins) = f(d - draw)      P(second wins) = f(-d - draw)      P(draw) = 1 - P(first wins) - P(second wins)

More seats (Plackett and Luce): the places are filled in order, each with a probability proportional to
10^(rating / 400) times the advantage of the seat; tied seats count in every order. Ratings, advantages and the draw
margin together maximize the posterior; intervals come from its curvature there (Laplace's method).
Axis letters: K players, G games, P seats.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core.elo import POINTS_PER_LOGIT
from tabia.core.errors import TabiaError
from tabia.evaluation.significance import Z95


class RatingError(TabiaError):
    """Games that cannot be rated."""


class Outcomes(NamedTuple):
    """Counts of two-seat games; entry [i, j] has player i in the first seat and player j in the second."""

    wins: np.ndarray  # float[K, K] won by the first seat
    draws: np.ndarray  # float[K, K]
    losses: np.ndarray  # float[K, K]


@dataclass(frozen=True)
class Ratings:
    """Ratings in Elo points with 95% intervals, relative to the fixed rating of an anchor."""

    names: tuple[str, ...]
    elo: np.ndarray  # [K]
    error: np.ndarray  # [K] half the width of the 95% interval, 0 for the anchor
    advantage: np.ndarray  # [P - 1] in Elo, of each seat over the last
    draw: float  # the draw margin, in Elo; 0 with more than two seats
    covariance: np.ndarray  # [K, K] of the ratings, Elo squared

    def difference(self, one: int, other: int) -> tuple[float, float]:
        """The rating difference of two players, and half the width of its 95% interval."""
        variance = self.covariance[one, one] + self.covariance[other, other] - 2.0 * self.covariance[one, other]
        return float(self.elo[one] - self.elo[other]), Z95 * math.sqrt(max(float(variance), 0.0))


def rate_two(
    names: Sequence[str],
    outcomes: Outcomes,
    *,
    anchor: int = 0,
    anchor_elo: float = 0.0,
    prior: float = 1000.0,
    advantage: bool = True,
    draws: bool = True,
) -> Ratings:
    """Rate the players of two-seat games.

    `prior` is the standard deviation, in Elo, of the strength of a player before any game: wide enough to vanish
    behind a few games, narrow enough to give a player who won every game a finite rating.
    """
    _check(names, float(sum(table.sum() for table in outcomes)), anchor)
    with jax.enable_x64(True):
        tables = jax.tree.map(lambda table: jnp.asarray(table, jnp.float64), outcomes)
        # Without draws the margin is 0, where its logarithm has no gradient.
        drawn = draws and bool(outcomes.draws.sum() > 0)
        free = jnp.asarray([*(index != anchor for index in range(len(names))), advantage, drawn])
        point, curvature = _fit_two(tables, free, prior / POINTS_PER_LOGIT)
        return _ratings(names, (point, curvature, free), seats=2, anchor=anchor, anchor_elo=anchor_elo)


def rate_many(
    names: Sequence[str],
    players: np.ndarray,
    scores: np.ndarray,
    *,
    anchor: int = 0,
    anchor_elo: float = 0.0,
    prior: float = 1000.0,
    advantage: bool = True,
) -> Ratings:
    """Rate the players of games with any number of seats, from the player [G, P] and the score [G, P] of each seat."""
    _check(names, float(len(players)), anchor)
    seats = players.shape[1]
    orders = np.array(list(itertools.permutations(range(seats))))  # every order of places
    ranked = np.take_along_axis(scores[:, None, :].repeat(len(orders), 1), orders[None].repeat(len(players), 0), axis=2)
    possible = np.all(np.diff(ranked, axis=2) <= 0, axis=2)  # [G, P!] the orders consistent with the scores
    with jax.enable_x64(True):
        free = jnp.asarray([*(index != anchor for index in range(len(names))), *[advantage] * (seats - 1)])
        point, curvature = _fit_many(
            jnp.asarray(players), jnp.asarray(possible), jnp.asarray(orders), free, prior / POINTS_PER_LOGIT, len(names)
        )
        return _ratings(names, (point, curvature, free), seats=seats, anchor=anchor, anchor_elo=anchor_elo)


def log_odds_two(point: Array, players: int) -> tuple[Array, Array, Array]:
    """Log-probabilities [K, K] that the first seat wins, draws and loses; `point` is in natural units."""
    strength, advantage, draw = point[:players], point[players], jnp.maximum(point[players + 1], 0.0)
    lead = strength[:, None] - strength[None, :] + advantage
    win, loss = jax.nn.log_sigmoid(lead - draw), jax.nn.log_sigmoid(-lead - draw)
    # P(draw) = 1 - P(win) - P(loss) = P(win) P(loss) (e^(2 draw) - 1), without cancellation.
    between = win + loss + jnp.log(jnp.maximum(jnp.expm1(2.0 * draw), 1e-300))
    return win, between, loss


@jax.jit
def _fit_two(outcomes: Outcomes, free: Array, prior: Array) -> tuple[Array, Array]:
    players = outcomes.wins.shape[0]

    def cost(point: Array) -> Array:
        point = jnp.where(free, point, 0.0)
        win, draw, loss = log_odds_two(point, players)
        seen = outcomes.wins * win + outcomes.losses * loss
        seen = seen + jnp.where(outcomes.draws > 0, outcomes.draws * draw, 0.0)
        return -seen.sum() + 0.5 * (point[:players] ** 2).sum() / prior**2 + 0.5 * (point[players:] ** 2).sum() / 9.0

    start = jnp.zeros(players + 2).at[players + 1].set(0.5)
    return _newton(cost, jnp.where(free, start, 0.0), free)


@partial(jax.jit, static_argnums=5)
def _fit_many(
    seated: Array, possible: Array, orders: Array, free: Array, prior: Array, players: int
) -> tuple[Array, Array]:
    def cost(point: Array) -> Array:
        point = jnp.where(free, point, 0.0)
        seat = jnp.append(point[players:], 0.0)
        strength = point[seated] + seat[None, :]  # [G, P]
        ordered = strength[:, orders]  # [G, P!, P]
        rest = jax.lax.cumlogsumexp(ordered, axis=2, reverse=True)
        likely = jnp.where(possible, (ordered - rest).sum(axis=2), -jnp.inf)
        seen = jax.nn.logsumexp(likely, axis=1).sum()
        return -seen + 0.5 * (point[:players] ** 2).sum() / prior**2 + 0.5 * (point[players:] ** 2).sum() / 9.0

    return _newton(cost, jnp.zeros(free.shape[0]), free)


def _newton(cost: Callable[[Array], Array], start: Array, free: Array, *, iterations: int = 60) -> tuple[Array, Array]:
    """The minimum of a convex cost over the free entries, and the Hessian there.

    Newton's method doubles the correct digits with every step: after one of less than 1e-9, all are correct.
    """
    gradient, hessian = jax.grad(cost), jax.hessian(cost)

    def curvature(point: Array) -> Array:
        both = free[:, None] & free[None, :]
        return jnp.where(both, hessian(point), 0.0) + jnp.diag(jnp.where(free, 0.0, 1.0))

    def iterate(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        index, point, _ = carry
        slope = jnp.where(free, gradient(point), 0.0)
        step = jnp.linalg.solve(curvature(point), slope)
        step = step * jnp.minimum(1.0, 2.0 / jnp.maximum(jnp.abs(step).max(), 1e-12))  # far from the minimum
        halves = 0.5 ** jnp.arange(6.0)
        costs = jax.vmap(lambda size: cost(point - size * step))(halves)
        step = halves[jnp.argmin(jnp.where(jnp.isfinite(costs), costs, jnp.inf))] * step
        return index + 1, point - step, jnp.abs(step).max()

    def is_moving(carry: tuple[Array, Array, Array]) -> Array:
        return (carry[0] < iterations) & (carry[2] > 1e-9)

    _, point, _ = jax.lax.while_loop(is_moving, iterate, (jnp.int32(0), start, jnp.full((), jnp.inf, start.dtype)))
    return point, curvature(point)


def _ratings(
    names: Sequence[str], fit: tuple[Array, Array, Array], *, seats: int, anchor: int, anchor_elo: float
) -> Ratings:
    """From the minimum, the Hessian there and what was free: strengths [K], advantages [P - 1], perhaps a margin."""
    point, curvature, free = map(np.asarray, fit)
    strength, advantage, margin = np.split(point * POINTS_PER_LOGIT, [len(names), len(names) + seats - 1])
    covariance = np.linalg.inv(curvature) * np.outer(free, free) * POINTS_PER_LOGIT**2
    errors = Z95 * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Ratings(
        names=tuple(names),
        elo=strength - strength[anchor] + anchor_elo,
        error=errors[: len(names)],
        advantage=advantage,
        draw=float(margin.clip(min=0.0).sum()),
        covariance=covariance[: len(names), : len(names)],
    )


def _check(names: Sequence[str], games: float, anchor: int) -> None:
    if len(names) < 2:
        raise RatingError(f"Ratings need at least two players, not {len(names)}.")
    if len(set(names)) != len(names):
        raise RatingError("Two players have the same name; give them different names.")
    if not games:
        raise RatingError("There are no games to rate.")
    if not 0 <= anchor < len(names):
        raise RatingError(f"The anchor must be one of the {len(names)} players.")
