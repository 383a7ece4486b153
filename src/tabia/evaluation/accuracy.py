"""Agreement with perfect play: how often a player's move keeps the value, wins fastest, and what it gives away.

A move keeps the value if the mover still gets what it would with perfect play. Loss is what it gets less: a win is 1, a
draw 0, a defeat -1. A player that gives values is judged by them too. Axis letters: N positions, A actions, P seats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from tabia.evaluation.positions import Positions
from tabia.evaluation.tally import wilson
from tabia.games.game import Game, State
from tabia.games.history import History
from tabia.players import perfect
from tabia.players.perfect import Oracle, Truth
from tabia.players.player import Choice, Player

_TOGETHER = 256
_BINS = 10

Told = Callable[[int], object]
"""Told how many positions are judged so far."""


@dataclass(frozen=True)
class Group:
    """Agreement over some of the positions."""

    name: str
    positions: int
    losable: int  # positions in which some move gives value away
    keeps: float  # share of moves that keep the value
    low: float  # its 95% interval
    high: float
    keeps_where_losable: float  # the same among the losable ones alone
    fastest: float  # share that also win soonest or hold out longest
    loss: float  # mean


@dataclass(frozen=True)
class Bin:
    """Positions whose value the player put between two bounds: what it said, and what is true, on average."""

    low: float
    high: float
    positions: int
    said: float
    true: float


@dataclass(frozen=True)
class Values:
    """Agreement of the values a player gives with the true ones."""

    decided: int  # positions that are won or lost
    sign: float  # share of those in which the player's value has the right sign
    error: float  # mean absolute difference over all positions
    calibration: tuple[Bin, ...]  # empty bins left out


@dataclass(frozen=True)
class Agreement:
    """A player compared with perfect play."""

    player: str
    game: str
    all: Group
    by_ply: tuple[Group, ...]  # ply is the number of moves made; in Connect and tic-tac-toe the number of stones
    by_seat: tuple[Group, ...]
    values: Values | None


def agreement(
    player: Player, positions: Positions, *, seed: int = 0, told: Told | None = None, judge: Oracle | None = None
) -> Agreement:
    """Compare a player's moves with perfect play; PlayerError if the game is too large for that."""
    game = player.game
    judge = perfect.PerfectPlayer(game).oracle if judge is None else judge
    chosen, said, truths = [], [], []
    for first in range(0, len(positions), _TOGETHER):
        rows = np.arange(first, min(first + _TOGETHER, len(positions)))
        choice = _ask(player, positions, rows, jax.random.fold_in(jax.random.key(seed), first))
        chosen.append(np.asarray(choice.actions)[: len(rows)])
        said.append(None if choice.values is None else np.asarray(choice.values)[: len(rows)])
        truths.append(judge.truth(_plain(game, positions.part(rows))))
        if told is not None:
            told(int(rows[-1]) + 1)
    best, fastest, means, true = (np.concatenate(parts) for parts in zip(*(known[:4] for known in truths), strict=True))
    truth = Truth(best, fastest, means, true, scores=None)
    mover = np.asarray(jax.vmap(game.mover)(positions.states))
    values = None if said[0] is None else _values(np.concatenate(said), truth.values, mover)  # type: ignore[arg-type]
    return _compare(player, positions, np.concatenate(chosen), truth, mover, values)


def is_losable(game: Game, positions: Positions, judge: Oracle, *, told: Told | None = None) -> np.ndarray:
    """Whether some move gives value away, of each position [N]."""
    found = []
    for first in range(0, len(positions), _TOGETHER):
        rows = np.minimum(np.arange(first, first + _TOGETHER), len(positions) - 1)
        truth = judge.truth(_plain(game, positions.part(rows)))
        found.append(_losable(truth)[: len(positions) - first])
        if told is not None:
            told(min(first + _TOGETHER, len(positions)))
    return np.concatenate(found)


def _losable(truth: Truth) -> np.ndarray:
    return (~np.isnan(truth.means) & ~truth.best).any(axis=1)


def _ask(player: Player, positions: Positions, rows: np.ndarray, key: jax.Array) -> Choice:
    """The player's answer for these positions, padded with the last to one size."""
    padded = np.minimum(np.arange(rows[0], rows[0] + min(_TOGETHER, len(positions))), rows[-1])
    states = jax.tree.map(jnp.asarray, positions.part(padded))
    return player.choose(states, key, jnp.asarray(positions.plies[padded], jnp.int32))


def _plain(game: Game, states: State) -> State:
    plain = states.now if isinstance(game, History) else states
    return jax.tree.map(jnp.asarray, plain)


def _compare(
    player: Player, positions: Positions, chosen: np.ndarray, truth: Truth, mover: np.ndarray, values: Values | None
) -> Agreement:
    rows = np.arange(len(chosen))
    keeps, fastest = truth.best[rows, chosen], truth.fastest[rows, chosen]
    loss = np.nanmax(truth.means, axis=1) - truth.means[rows, chosen]
    losable = _losable(truth)

    def group(name: str, among: np.ndarray) -> Group:
        count, risky = int(among.sum()), among & losable
        share = float(keeps[among].mean())
        low, high = wilson(share, count)
        kept = float(keeps[risky].mean()) if risky.any() else 1.0
        return Group(
            name,
            count,
            int(risky.sum()),
            share,
            low,
            high,
            kept,
            float(fastest[among].mean()),
            float(loss[among].mean()),
        )

    plies, seats = positions.plies, np.unique(mover)
    return Agreement(
        player.spec,
        player.game.id,
        group("all", np.ones(len(chosen), bool)),
        tuple(group(name, (plies >= low) & (plies <= high)) for name, low, high in _spans(plies)),
        tuple(group(f"seat {seat + 1}", mover == seat) for seat in seats),
        values,
    )


def _spans(plies: np.ndarray) -> list[tuple[str, int, int]]:
    """Plies in groups of equal width, at most eight of them, those without positions left out."""
    width = -(-(int(plies.max()) + 1) // 8)
    found = sorted({int(ply) // width for ply in plies})
    names = [(f"{first * width} to {first * width + width - 1}" if width > 1 else str(first)) for first in found]
    return [(name, first * width, first * width + width - 1) for name, first in zip(names, found, strict=True)]


def _values(said: np.ndarray, true: np.ndarray, mover: np.ndarray) -> Values:
    """How the mover's values [N, P] compare; both are in [-1, 1]."""
    mine, theirs = (np.take_along_axis(values, mover[:, None], axis=1)[:, 0] for values in (said, true))
    decided = np.abs(theirs) > 1e-6
    right = np.sign(mine[decided]) == np.sign(theirs[decided])
    edges = np.linspace(-1.0, 1.0, _BINS + 1)
    which = np.clip(np.searchsorted(edges, mine, side="right") - 1, 0, _BINS - 1)
    bins = []
    for number in np.unique(which):
        among = which == number
        said_here, true_here = float(mine[among].mean()), float(theirs[among].mean())
        bins.append(Bin(float(edges[number]), float(edges[number + 1]), int(among.sum()), said_here, true_here))
    share = float(right.mean()) if decided.any() else 1.0
    return Values(int(decided.sum()), share, float(np.abs(mine - theirs).mean()), tuple(bins))
