"""Agreement with perfect play: how often a player's move keeps the value or wins fastest, and the mean loss.

A move keeps the value if perfect play after it gives the mover as much as before. The loss is the difference, where a
win is 1, a draw 0 and a defeat -1. If a player reports values, they are compared too. Axis letters: N positions, A
actions, P seats.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np

from tabia.evaluation.positions import PositionSet
from tabia.evaluation.significance import wilson_interval
from tabia.games.game import Game, State
from tabia.games.history import History
from tabia.players import perfect
from tabia.players.perfect import Oracle, Truth
from tabia.players.player import Choice, Player, choose

_BATCH = 256
_BINS = 10

OnPositions = Callable[[int], object]
"""Receives the number of positions compared so far."""


@dataclass(frozen=True)
class Group:
    """Agreement over some of the positions."""

    name: str
    positions: int
    losable: int  # positions in which some move loses value
    agreement: float  # fraction of moves that keep the value
    low: float  # its 95% interval
    high: float
    agreement_where_losable: float  # the same fraction over the losable positions
    fastest: float  # fraction of moves that also win soonest or delay a loss longest
    loss: float  # mean


@dataclass(frozen=True)
class Bin:
    """Positions with a reported value between two bounds: the mean reported and the mean true value."""

    low: float
    high: float
    positions: int
    predicted: float
    true: float


@dataclass(frozen=True)
class Values:
    """Agreement of the values that a player reports with the true ones."""

    decided: int  # positions that are won or lost
    sign: float  # fraction of those in which the player's value has the right sign
    error: float  # mean absolute error over all positions
    calibration: tuple[Bin, ...]  # without empty bins


@dataclass(frozen=True)
class Agreement:
    """A player compared with perfect play."""

    player: str
    game: str
    all: Group
    by_ply: tuple[Group, ...]  # by the number of moves made
    by_seat: tuple[Group, ...]
    values: Values | None


def agreement(
    player: Player,
    positions: PositionSet,
    *,
    seed: int = 0,
    progress: OnPositions | None = None,
    oracle: Oracle | None = None,
) -> Agreement:
    """Compare a player's moves with perfect play; PlayerError if the game is too large for an oracle."""
    game = player.game
    oracle = perfect.PerfectPlayer(game).oracle if oracle is None else oracle
    chosen, predicted, truths = [], list[np.ndarray](), []
    for first in range(0, len(positions), _BATCH):
        rows = np.arange(first, min(first + _BATCH, len(positions)))
        choice = _choose(player, positions, rows, jax.random.fold_in(jax.random.key(seed), first))
        chosen.append(np.asarray(choice.actions)[: len(rows)])
        if choice.values is not None:
            predicted.append(np.asarray(choice.values)[: len(rows)])
        truths.append(oracle.truth(_without_history(game, positions.rows(rows))))
        if progress is not None:
            progress(int(rows[-1]) + 1)
    best, fastest, means, values = (
        np.concatenate(parts) for parts in zip(*(known[:4] for known in truths), strict=True)
    )
    truth = Truth(best=best, fastest=fastest, means=means, values=values, scores=None)
    mover = np.asarray(jax.vmap(game.mover)(positions.states))
    compared = _compare_values(np.concatenate(predicted), truth.values, mover) if predicted else None
    return _compare(player, positions, np.concatenate(chosen), truth, mover, compared)


def is_losable(
    game: Game, positions: PositionSet, oracle: Oracle, *, progress: OnPositions | None = None
) -> np.ndarray:
    """Whether some move loses value in each position [N]."""
    found = []
    for first in range(0, len(positions), _BATCH):
        rows = np.minimum(np.arange(first, first + _BATCH), len(positions) - 1)
        truth = oracle.truth(_without_history(game, positions.rows(rows)))
        found.append(_losable(truth)[: len(positions) - first])
        if progress is not None:
            progress(min(first + _BATCH, len(positions)))
    return np.concatenate(found)


def _losable(truth: Truth) -> np.ndarray:
    return (~np.isnan(truth.means) & ~truth.best).any(axis=1)


def _choose(player: Player, positions: PositionSet, rows: np.ndarray, key: jax.Array) -> Choice:
    """The player's choice in these positions; the last batch is padded to the size of the others."""
    padded = np.minimum(np.arange(rows[0], rows[0] + min(_BATCH, len(positions))), rows[-1])
    states = jax.tree.map(jnp.asarray, positions.rows(padded))
    return choose(player, states, key, jnp.asarray(positions.plies[padded], jnp.int32))


def _without_history(game: Game, states: State) -> State:
    plain = states.now if isinstance(game, History) else states
    return jax.tree.map(jnp.asarray, plain)


def _compare(
    player: Player,
    positions: PositionSet,
    chosen: np.ndarray,
    truth: Truth,
    mover: np.ndarray,
    values: Values | None,
) -> Agreement:
    rows = np.arange(len(chosen))
    kept, fastest = truth.best[rows, chosen], truth.fastest[rows, chosen]
    loss = np.nanmax(truth.means, axis=1) - truth.means[rows, chosen]
    losable = _losable(truth)

    def group(name: str, among: np.ndarray) -> Group:
        count, risky = int(among.sum()), among & losable
        fraction = float(kept[among].mean())
        low, high = wilson_interval(fraction, count)
        return Group(
            name=name,
            positions=count,
            losable=int(risky.sum()),
            agreement=fraction,
            low=low,
            high=high,
            agreement_where_losable=float(kept[risky].mean()) if risky.any() else 1.0,
            fastest=float(fastest[among].mean()),
            loss=float(loss[among].mean()),
        )

    plies, seats = positions.plies, np.unique(mover)
    return Agreement(
        player=player.spec,
        game=player.game.id,
        all=group("all", np.ones(len(chosen), bool)),
        by_ply=tuple(group(name, (plies >= low) & (plies <= high)) for name, low, high in _ply_ranges(plies)),
        by_seat=tuple(group(f"seat {seat + 1}", mover == seat) for seat in seats),
        values=values,
    )


def _ply_ranges(plies: np.ndarray) -> list[tuple[str, int, int]]:
    """At most eight ranges of plies of equal width, with names; ranges without positions are left out."""
    width = -(-(int(plies.max()) + 1) // 8)
    found = sorted({int(ply) // width for ply in plies})
    names = [(f"{first * width} to {first * width + width - 1}" if width > 1 else str(first)) for first in found]
    return [(name, first * width, first * width + width - 1) for name, first in zip(names, found, strict=True)]


def _compare_values(predicted: np.ndarray, true: np.ndarray, mover: np.ndarray) -> Values:
    """Compare the mover's entries of the values [N, P], which are in [-1, 1]."""
    ours, truth = (np.take_along_axis(values, mover[:, None], axis=1)[:, 0] for values in (predicted, true))
    decided = np.abs(truth) > 1e-6
    right = np.sign(ours[decided]) == np.sign(truth[decided])
    edges = np.linspace(-1.0, 1.0, _BINS + 1)
    which = np.clip(np.searchsorted(edges, ours, side="right") - 1, 0, _BINS - 1)
    bins = []
    for number in np.unique(which):
        among = which == number
        bins.append(
            Bin(
                low=float(edges[number]),
                high=float(edges[number + 1]),
                positions=int(among.sum()),
                predicted=float(ours[among].mean()),
                true=float(truth[among].mean()),
            )
        )
    return Values(
        decided=int(decided.sum()),
        sign=float(right.mean()) if decided.any() else 1.0,
        error=float(np.abs(ours - truth).mean()),
        calibration=tuple(bins),
    )
