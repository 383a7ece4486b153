"""Exhaustive play: every line of the opponents' moves against a deterministic player.

Positions that several lines reach are played once, so the work is bounded by the number of positions of the game.
Axis letters: B positions of one ply, A actions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

import jax
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
    won: int = 0
    drawn: int = 0
    lost: int = 0
    positions: int = 0  # with the player to move
    moves: tuple[int, ...] | None = None  # a lost line, if there is one

    @property
    def lines(self) -> int:
        """The number of lines."""
        return self.won + self.drawn + self.lost


class _Frontier(NamedTuple):
    """The distinct unfinished positions of one ply."""

    states: State  # [B, ...]
    lines: np.ndarray  # object[B]: how many lines lead to each; Python integers, which have no limit
    paths: list[tuple[int, ...]]  # one of those lines


def play_every_line(player: Player, seat: int, *, progress: OnPlies | None = None) -> LineCounts:
    """Play every line of the other seats' moves against the player in this seat.

    `progress` receives the plies so far, where every earlier seat counts as a game of maximum length.
    """
    game = player.game
    if game.chance:
        raise TabiaError(f"{game.id} is a game of chance, so its lines cannot be enumerated.")
    start = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    frontier, found, ply = _Frontier(start, np.array([1], object), [()]), LineCounts(seat), 0
    while len(frontier.lines):
        frontier, found = _play_ply(player, frontier, found)
        ply += 1
        if progress is not None:
            progress(seat * game.max_moves + ply)
        if len(frontier.lines) > LIMIT:
            raise TabiaError(f"{game.id} has more than {LIMIT:,} positions after {ply} moves: too many to play.")
    if progress is not None:
        progress((seat + 1) * game.max_moves)
    return found


def _play_ply(player: Player, before: _Frontier, found: LineCounts) -> tuple[_Frontier, LineCounts]:
    """One move in every position: the player's own, or each legal one of another seat."""
    game, count = player.game, len(before.lines)
    mover, legal = (np.asarray(one)[:count] for one in _to_move(game, _padded(before.states, count)))
    own, moves = mover == found.seat, legal.copy()
    if own.any():
        moves[own] = _answers(player, before.states, np.flatnonzero(own), legal)
    parents, actions = np.nonzero(moves)
    children = _advance(game, before.states, parents, actions)
    over, scores, keys = _outcomes(game, children, len(parents))
    ended, result = np.flatnonzero(over), _results(scores[over], found.seat)
    won, drawn, lost = (int(before.lines[parents[ended[result == sign]]].sum()) for sign in (1, 0, -1))
    losing = found.moves
    if losing is None and lost:
        row = ended[result < 0][0]
        losing = (*before.paths[parents[row]], int(actions[row]))
    counts = replace(
        found,
        won=found.won + won,
        drawn=found.drawn + drawn,
        lost=found.lost + lost,
        positions=found.positions + int(own.sum()),
        moves=losing,
    )
    return _merge(children, over, keys, before, parents, actions), counts


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
    before: _Frontier,
    parents: np.ndarray,
    actions: np.ndarray,
) -> _Frontier:
    """The distinct unfinished positions among the children."""
    unfinished = np.flatnonzero(~over)
    if not len(unfinished):
        return _Frontier(children, np.zeros(0, object), [])
    _, first, group = np.unique(keys[unfinished], axis=0, return_index=True, return_inverse=True)
    lines = np.zeros(len(first), object)
    np.add.at(lines, group.reshape(-1), before.lines[parents[unfinished]])
    kept = unfinished[first]
    paths = [(*before.paths[parents[row]], int(actions[row])) for row in kept]
    return _Frontier(batching.take(children, kept), lines, paths)


def _advance(game: Game, states: State, parents: np.ndarray, actions: np.ndarray) -> State:
    count = len(parents)
    before = _padded(batching.take(states, parents), count)
    after = _step(game, before, jax.device_put(batching.pad(actions, _size(count))))
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
