"""Proof by playing out everything: every line of the opponents' moves against a player that always answers the same.

Positions that are reached in several ways are played on once, so the work is bounded by the positions of the game.
Axis letters: B positions of one ply.
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

from tabia.core.errors import TabiaError
from tabia.games.game import Game, State
from tabia.players.player import Player

Told = Callable[[int], object]
"""Told how many plies are played out so far."""
LIMIT = 2_000_000
"""The most positions played on from in one ply."""


@dataclass(frozen=True)
class Proof:
    """How all games of one seat ended, lines that meet in one position counted apart."""

    seat: int
    won: int
    drawn: int
    lost: int
    positions: int  # at which the player was asked
    moves: tuple[int, ...] | None  # of one lost game, if there is any

    @property
    def lines(self) -> int:
        return self.won + self.drawn + self.lost


def prove(player: Player, seat: int, *, told: Told | None = None) -> Proof:
    """Play out every line of the others' moves against the player in this seat.

    `told` gets the plies done so far, where every earlier seat counts as a game of full length.
    """
    game = player.game
    if game.chance:
        raise TabiaError(f"{game.id} draws its moves by chance, so its lines cannot all be played out.")
    states = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    lines, paths = np.array([1], object), [cast(tuple[int, ...], ())]
    won = drawn = lost = asked = ply = 0
    losing: tuple[int, ...] | None = None
    while len(lines):
        mover, legal = (np.asarray(found) for found in _view(game, _padded(states, len(lines))))
        mover, legal = mover[: len(lines)], legal[: len(lines)]
        own = mover == seat
        moves = legal.copy()
        if own.any():
            moves[own] = _answers(player, states, np.flatnonzero(own), legal)
            asked += int(own.sum())
        parents, actions = np.nonzero(moves)
        children = _advance(game, states, parents, actions)
        over, scores, keys = _looked(game, children, len(parents))
        ply += 1
        if told is not None:
            told(seat * game.max_moves + ply)
        ended, result = np.flatnonzero(over), _results(scores[over], seat)
        won, drawn, lost = (
            count + int(lines[parents[ended[result == sign]]].sum())
            for count, sign in ((won, 1), (drawn, 0), (lost, -1))
        )
        if losing is None and (result < 0).any():
            row = ended[result < 0][0]
            losing = (*paths[parents[row]], int(actions[row]))
        states, lines, paths = _merged(children, over, keys, lines, paths, parents, actions)
        if len(lines) > LIMIT:
            raise TabiaError(f"{game.id} has more than {LIMIT:,} positions after {ply} moves: too many to play out.")
    if told is not None:
        told((seat + 1) * game.max_moves)
    return Proof(seat, won, drawn, lost, asked, losing)


def _results(scores: np.ndarray, seat: int) -> np.ndarray:
    """1, 0 or -1: whether the seat came first alone, shared the first place, or neither."""
    others = np.delete(scores, seat, axis=1).max(axis=1, initial=-np.inf)
    return np.sign(scores[:, seat] - others).astype(int)


def _answers(player: Player, states: State, rows: np.ndarray, legal: np.ndarray) -> np.ndarray:
    """bool[rows, A]: the one move the player answers each position with."""
    asked = _padded(jax.tree.map(lambda leaf: leaf[rows], states), len(rows))
    actions = np.asarray(player.choose(asked, jax.random.key(0)).actions)[: len(rows)]
    chosen = np.zeros((len(rows), legal.shape[1]), bool)
    chosen[np.arange(len(rows)), actions] = True
    if not (chosen & legal[rows]).any(axis=1).all():
        raise TabiaError(f"{player.spec} chose a move that is not legal.")
    return chosen


def _merged(
    children: State,
    over: np.ndarray,
    keys: np.ndarray,
    lines: np.ndarray,
    paths: list[tuple[int, ...]],
    parents: np.ndarray,
    actions: np.ndarray,
) -> tuple[State, np.ndarray, list[tuple[int, ...]]]:
    """The positions to go on from, each once, with the number of lines that lead to it and one of them."""
    going = np.flatnonzero(~over)
    if not len(going):
        return children, np.zeros(0, object), []
    _, first, group = np.unique(keys[going], axis=0, return_index=True, return_inverse=True)
    counts = np.zeros(len(first), object)
    np.add.at(counts, group.reshape(-1), lines[parents[going]])
    kept = going[first]
    ways = [(*paths[parents[row]], int(actions[row])) for row in kept]
    return jax.tree.map(lambda leaf: leaf[kept], children), counts, ways


def _advance(game: Game, states: State, parents: np.ndarray, actions: np.ndarray) -> State:
    count = len(parents)
    before = _padded(jax.tree.map(lambda leaf: leaf[parents], states), count)
    filled = np.concatenate([actions, np.zeros(_size(count) - count, actions.dtype)])
    after = _step(game, before, jnp.asarray(filled))
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:count], after)


def _looked(game: Game, states: State, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    over, scores, keys = (np.asarray(found)[:count] for found in _ends(game, _padded(states, count)))
    return over, scores, keys


def _padded(states: State, count: int) -> State:
    """Rows repeated up to one of a few sizes, so that little is compiled."""
    rows = np.minimum(np.arange(_size(count)), count - 1)
    return jax.tree.map(lambda leaf: leaf[rows], states)


def _size(count: int) -> int:
    return max(64, 1 << 2 * (((count - 1).bit_length() + 1) // 2))


@partial(jax.jit, static_argnums=0)
def _view(game: Game, states: State) -> tuple[Array, Array]:
    return jax.vmap(game.mover)(states), jax.vmap(game.legal)(states)


@partial(jax.jit, static_argnums=0)
def _step(game: Game, states: State, actions: Array) -> State:
    return jax.vmap(game.step)(states, actions)


@partial(jax.jit, static_argnums=0)
def _ends(game: Game, states: State) -> tuple[Array, Array, Array]:
    return jax.vmap(game.over)(states), jax.vmap(game.scores)(states), jax.vmap(game.position)(states)
