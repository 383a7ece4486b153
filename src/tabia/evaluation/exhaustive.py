"""Exhaustive play: every line of the opponents' moves against a deterministic player.

Positions that several lines reach are played once, so the work is bounded by the number of positions of the game.
Axis letters: B positions of one ply, A actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import cast

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core import batching
from tabia.core.errors import TabiaError
from tabia.games.game import Game, State
from tabia.players.player import Player, choose

OnPlies = Callable[[int], object]
"""Receives the number of plies played so far."""
LIMIT = 2_000_000
"""The most unfinished positions in one ply."""


@dataclass(frozen=True)
class LineCounts:
    """The results of all lines with the player in one seat; lines that meet in a position are counted separately."""

    seat: int
    won: int
    drawn: int
    lost: int
    positions: int  # with the player to move
    moves: tuple[int, ...] | None  # a lost line, if there is one

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.won + self.drawn + self.lost


def play_every_line(player: Player, seat: int, *, progress: OnPlies | None = None) -> LineCounts:
    """Play every line of the other seats' moves against the player in this seat.

    `progress` receives the plies so far, where every earlier seat counts as a game of maximum length.
    """
    game = player.game
    if game.chance:
        raise TabiaError(f"{game.id} is a game of chance, so its lines cannot be enumerated.")
    states = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    lines, paths = np.array([1], object), [cast(tuple[int, ...], ())]
    won = drawn = lost = asked = ply = 0
    losing: tuple[int, ...] | None = None
    while len(lines):
        mover, legal = (np.asarray(found)[: len(lines)] for found in _to_move(game, _padded(states, len(lines))))
        own = mover == seat
        moves = legal.copy()
        if own.any():
            moves[own] = _answers(player, states, np.flatnonzero(own), legal)
            asked += int(own.sum())
        parents, actions = np.nonzero(moves)
        children = _advance(game, states, parents, actions)
        over, scores, keys = _outcomes(game, children, len(parents))
        ply += 1
        if progress is not None:
            progress(seat * game.max_moves + ply)
        ended, result = np.flatnonzero(over), _results(scores[over], seat)
        won, drawn, lost = (
            count + int(lines[parents[ended[result == sign]]].sum())
            for count, sign in ((won, 1), (drawn, 0), (lost, -1))
        )
        if losing is None and (result < 0).any():
            row = ended[result < 0][0]
            losing = (*paths[parents[row]], int(actions[row]))
        states, lines, paths = _merge(children, over, keys, lines, paths, parents, actions)
        if len(lines) > LIMIT:
            raise TabiaError(f"{game.id} has more than {LIMIT:,} positions after {ply} moves: too many to play.")
    if progress is not None:
        progress((seat + 1) * game.max_moves)
    return LineCounts(seat=seat, won=won, drawn=drawn, lost=lost, positions=asked, moves=losing)


def _results(scores: np.ndarray, seat: int) -> np.ndarray:
    """1 if the seat is alone in first place, 0 if it shares first place, -1 otherwise."""
    others = np.delete(scores, seat, axis=1).max(axis=1, initial=-np.inf)
    return np.sign(scores[:, seat] - others).astype(int)


def _answers(player: Player, states: State, rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """bool[rows, A]: the player's move in each position."""
    asked = _padded(batching.take(states, rows), len(rows))
    actions = np.asarray(choose(player, asked, jax.random.key(0)).actions)[: len(rows)]
    chosen = np.zeros((len(rows), legal.shape[1]), bool)
    chosen[np.arange(len(rows)), actions] = True
    if not (chosen & legal[rows]).any(axis=1).all():
        raise TabiaError(f"{player.spec} chose a move that is not legal.")
    return chosen


def _merge(
    children: State,
    over: np.ndarray,
    keys: np.ndarray,
    lines: np.ndarray,
    paths: list[tuple[int, ...]],
    parents: np.ndarray,
    actions: np.ndarray,
) -> tuple[State, np.ndarray, list[tuple[int, ...]]]:
    """The distinct unfinished positions, the number of lines that lead to each, and one of those lines."""
    unfinished = np.flatnonzero(~over)
    if not len(unfinished):
        return children, np.zeros(0, object), []
    _, first, group = np.unique(keys[unfinished], axis=0, return_index=True, return_inverse=True)
    counts = np.zeros(len(first), object)
    np.add.at(counts, group.reshape(-1), lines[parents[unfinished]])
    kept = unfinished[first]
    return batching.take(children, kept), counts, [(*paths[parents[row]], int(actions[row])) for row in kept]


def _advance(game: Game, states: State, parents: np.ndarray, actions: np.ndarray) -> State:
    count = len(parents)
    before = _padded(batching.take(states, parents), count)
    after = _step(game, before, jnp.asarray(batching.pad(actions, _size(count))))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], after)


def _outcomes(game: Game, states: State, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    over, scores, keys = (np.asarray(found)[:count] for found in _end(game, _padded(states, count)))
    return over, scores, keys


def _padded(states: State, count: int) -> State:
    return batching.take(states, batching.pad(np.arange(count), _size(count)))


def _size(count: int) -> int:
    return batching.padded_size(count, smallest=64, base=4)


@partial(jax.jit, static_argnums=0)
def _to_move(game: Game, states: State) -> tuple[Array, Array]:
    return jax.vmap(game.mover)(states), jax.vmap(game.legal)(states)


@partial(jax.jit, static_argnums=0)
def _step(game: Game, states: State, actions: Array) -> State:
    return jax.vmap(game.step)(states, actions)


@partial(jax.jit, static_argnums=0)
def _end(game: Game, states: State) -> tuple[Array, Array, Array]:
    return jax.vmap(game.over)(states), jax.vmap(game.scores)(states), jax.vmap(game.position)(states)
