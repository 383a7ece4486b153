"""Ratings by Bayesian inference, with intervals: what BayesElo does, and Plackett-Luce for more than two seats.

Two seats (Rao and Kupper's model, as in BayesElo): with d the first seat's rating less the second's plus the
advantage of moving first, and f(x) = 1 / (1 + 10^(-x / 400)),

    P(first wins) = f(d - draw)      P(second wins) = f(-d - draw)      P(draw) = the rest

More seats (Plackett and Luce): places are filled from the first on, each seat in proportion to 10^(rating / 400)
times its seat's advantage; seats with equal scores stand in either order. Ratings, advantages and the draw margin
are found together where the posterior is highest; intervals come from its curvature there (Laplace's method).
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

from tabia.core.errors import TabiaError

ELO = 400.0 / math.log(10.0)  # Elo points in one natural unit of strength
_Z = 1.959964  # two-sided 95%


class RatingError(TabiaError):
    """Games that no rating can be made of."""


class Outcomes(NamedTuple):
    """Results of two-seat games, counted: entry [i, j] is for player i in the first seat against j in the second."""

    wins: np.ndarray  # float[K, K] the first seat won
    draws: np.ndarray  # float[K, K]
    losses: np.ndarray  # float[K, K]


@dataclass(frozen=True)
class Ratings:
    """One rating a player in Elo points, the anchor's being given, each with its 95% interval."""

    names: tuple[str, ...]
    elo: np.ndarray  # [K]
    error: np.ndarray  # [K] half the width of the 95% interval, 0 for the anchor
    advantage: np.ndarray  # [P - 1] of each seat over the last, in Elo
    draw: float  # the draw margin in Elo; 0 with more than two seats
    covariance: np.ndarray  # [K, K] of the ratings, Elo squared

    def difference(self, one: int, other: int) -> tuple[float, float]:
        """How much stronger one player is than another, and half the width of the 95% interval of that."""
        variance = self.covariance[one, one] + self.covariance[other, other] - 2.0 * self.covariance[one, other]
        return float(self.elo[one] - self.elo[other]), _Z * math.sqrt(max(float(variance), 0.0))


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

    `prior` is the standard deviation, in Elo, of a player's strength before any game: wide enough not to matter
    once there are games, narrow enough that a player who won everything has a rating at all.
    """
    _check(names, float(sum(table.sum() for table in outcomes)), anchor)
    with jax.enable_x64(True):
        tables = jax.tree.map(lambda table: jnp.asarray(table, jnp.float64), outcomes)
        # Without a draw the margin is 0, where its logarithm has no slope.
        drawn = draws and bool(outcomes.draws.sum() > 0)
        free = jnp.asarray([*(index != anchor for index in range(len(names))), advantage, drawn])
        point, curvature = _fit_two(tables, free, prior / ELO)
        return _read(names, np.asarray(point), np.asarray(curvature), np.asarray(free), anchor, anchor_elo, two=True)


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
    """Rate the players of games with any number of seats from who sat where [G, P] and what they scored [G, P]."""
    _check(names, float(len(players)), anchor)
    seats = players.shape[1]
    orders = np.array(list(itertools.permutations(range(seats))))  # every way to finish
    ranked = np.take_along_axis(scores[:, None, :].repeat(len(orders), 1), orders[None].repeat(len(players), 0), axis=2)
    possible = np.all(np.diff(ranked, axis=2) <= 0, axis=2)  # [G, P!] the ways that fit the scores
    with jax.enable_x64(True):
        free = jnp.asarray([*(index != anchor for index in range(len(names))), *[advantage] * (seats - 1)])
        point, curvature = _fit_many(
            jnp.asarray(players), jnp.asarray(possible), jnp.asarray(orders), free, prior / ELO, len(names)
        )
        return _read(names, np.asarray(point), np.asarray(curvature), np.asarray(free), anchor, anchor_elo, two=False)


def log_odds_two(point: Array, players: int) -> tuple[Array, Array, Array]:
    """Log-probabilities [K, K] that the first seat wins, draws, loses; natural units."""
    strength, advantage, draw = point[:players], point[players], jnp.maximum(point[players + 1], 0.0)
    lead = strength[:, None] - strength[None, :] + advantage
    win, loss = jax.nn.log_sigmoid(lead - draw), jax.nn.log_sigmoid(-lead - draw)
    # P(draw) = 1 - P(win) - P(loss) = P(win) P(loss) (e^(2 draw) - 1), which does not cancel.
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


def _newton(cost: Callable[[Array], Array], start: Array, free: Array, *, rounds: int = 60) -> tuple[Array, Array]:
    """The minimum of a convex cost over the free entries, and the curvature there."""
    gradient, hessian = jax.grad(cost), jax.hessian(cost)

    def curvature(point: Array) -> Array:
        both = free[:, None] & free[None, :]
        return jnp.where(both, hessian(point), 0.0) + jnp.diag(jnp.where(free, 0.0, 1.0))

    def round_(_: int, point: Array) -> Array:
        slope = jnp.where(free, gradient(point), 0.0)
        step = jnp.linalg.solve(curvature(point), slope)
        step = step * jnp.minimum(1.0, 2.0 / jnp.maximum(jnp.abs(step).max(), 1e-12))  # far off, go carefully
        halves = 0.5 ** jnp.arange(6.0)
        costs = jax.vmap(lambda share: cost(point - share * step))(halves)
        return point - halves[jnp.argmin(jnp.where(jnp.isfinite(costs), costs, jnp.inf))] * step

    point = jax.lax.fori_loop(0, rounds, round_, start)
    return point, curvature(point)


def _read(
    names: Sequence[str],
    point: np.ndarray,
    curvature: np.ndarray,
    free: np.ndarray,
    anchor: int,
    anchor_elo: float,
    *,
    two: bool,
) -> Ratings:
    players = len(names)
    covariance = np.linalg.inv(curvature) * np.outer(free, free) * ELO**2
    errors = _Z * np.sqrt(np.maximum(np.diag(covariance), 0.0))
    return Ratings(
        names=tuple(names),
        elo=(point[:players] - point[anchor]) * ELO + anchor_elo,
        error=errors[:players],
        advantage=point[players : players + 1] * ELO if two else point[players:] * ELO,
        draw=float(max(point[players + 1], 0.0) * ELO) if two else 0.0,
        covariance=covariance[:players, :players],
    )


def _check(names: Sequence[str], games: float, anchor: int) -> None:
    if len(names) < 2:
        raise RatingError(f"Ratings compare players; {len(names)} came. Give at least two.")
    if len(set(names)) != len(names):
        raise RatingError("Two players have the same name; name them apart.")
    if not games:
        raise RatingError("There are no games to rate by.")
    if not 0 <= anchor < len(names):
        raise RatingError(f"The anchor must be one of the {len(names)} players.")


def sequential_elo(opponent: float, points: float, games: int) -> float:
    """Wandhoven's rating of a new version from `points` of `games` against an older one: r = r_old - 400 ln((1 - s) / s).

    Wandhoven 2022 takes the natural logarithm, so its points are not Elo's: one of its 400 stands for a factor e, not 10. A clean
    score is counted as half a game short of it, since its logarithm has no end.

    >>> round(sequential_elo(100, 13, 23))  # 1.3 wins for each loss, Wandhoven's gate
    205
    """
    share = min(max(points / games, 0.5 / games), 1.0 - 0.5 / games)
    return opponent + 400.0 * math.log(share / (1.0 - share))
