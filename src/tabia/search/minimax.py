"""Minimax to a fixed depth (Sanz & Villanueva 2021, section 2.3.1).

Values are vectors, one number per seat, and each mover takes the move that is best for itself: for two seats with
opposite scores this is minimax, for more it is max^n, and a seat may move twice. Positions at the horizon are valued
by a heuristic, finished games by their scores, which no heuristic can exceed.

All A^depth lines are searched. The lower levels are computed side by side; the levels above them action by action, so
that memory stays small at any depth. Alpha-beta pruning would save work in one tree, but not in a batch of trees that
share each step.

Axis letters: B batch, A actions, P seats, L positions side by side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.search import checks
from tabia.search.errors import SearchError
from tabia.search.memory import count_text

Heuristic = Callable[[State], Array]  # one state -> float32[P] in [-1, 1]
Ties = Callable[[Array, Array], Array]  # (bool[B, A] equally good moves, key) -> int32[B]

BELOW_A_WIN = 0.999  # the bound of heuristic values: an actual win is better


def first(best: Array, key: Array) -> Array:
    """The first of equally good moves."""
    return jnp.argmax(best, axis=-1).astype(jnp.int32)


def at_random(best: Array, key: Array) -> Array:
    """Any of equally good moves, with equal probability."""
    return jnp.argmax(jnp.where(best, jax.random.uniform(key, best.shape), -1.0), axis=-1).astype(jnp.int32)


class Outlook(NamedTuple):
    """The outcome of minimax for each position."""

    action: Array  # int32[B] the move to play
    best: Array  # bool[B, A] the moves that are best for the mover
    values: Array  # float32[B, P] the value for each seat; the first of several best moves counts
    branches: Array  # float32[B, A, P] the same after each move; -inf if illegal


@dataclass(frozen=True)
class Minimax:
    """Minimax to a depth; compiled once per batch size.

    The heuristic is the game's own unless another is given; without any, unfinished positions have value 0. `ties`
    decides the move played; inside the tree, where ties matter only for third seats, the first best move counts.
    """

    game: Game
    depth: int
    heuristic: Heuristic | None = None
    ties: Ties = at_random
    width: int = 8192  # positions computed side by side, about what a core's cache holds

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise SearchError(f"depth={self.depth}: at least 1 is needed.")
        if self.width < 1:
            raise SearchError(f"width={self.width}: at least 1 is needed.")
        if self.game.chance:
            raise SearchError(f"{self.game.id} has chance, which minimax does not support; use mcts.")
        if self.levels > _most_levels(self.game.num_actions):
            _check_lines(self)

    @property
    def levels(self) -> int:
        """The depth, but at most the moves of the longest game."""
        return min(self.depth, self.game.max_moves)

    def run(self, states: State, key: Array) -> Outlook:
        """Search every position of the batch; refuses positions of another game or already over."""
        checks.check_positions(self.game, states)
        return self.run_unchecked(states, key)

    def run_unchecked(self, states: State, key: Array) -> Outlook:
        """The same without checks, for compiled code; action 0 if a game is over."""
        return _run(self, states, key)


def _check_lines(minimax: Minimax) -> None:
    """Refuse a depth with too many lines, estimated by the legal moves of the first position."""
    game = minimax.game
    moves = int(jax.jit(lambda: game.legal(game.init(jax.random.key(0))).sum())())
    most = _most_levels(moves)
    if minimax.levels > most:
        raise SearchError(
            f"depth={count_text(minimax.depth)}: with {moves} first moves, {game.id} has about "
            f"{moves}^{minimax.levels} lines of that length, and at most {count_text(checks.MOST_POSITIONS)} positions "
            f"per move are allowed. depth can be at most {most}."
        )


def _most_levels(moves: int) -> int:
    """The largest depth at which all lines can be searched, with `moves` moves per position."""
    return int(math.log(checks.MOST_POSITIONS) / math.log(max(moves, 2)))


@partial(jax.jit, static_argnums=0)
def _run(minimax: Minimax, states: State, key: Array) -> Outlook:
    branches = _in_blocks(minimax, states)
    legal, mover = jax.vmap(minimax.game.legal)(states), jax.vmap(minimax.game.mover)(states)
    own = jnp.take_along_axis(branches, mover[:, None, None], axis=2)[:, :, 0]
    best = legal & (own == jnp.max(own, axis=-1, keepdims=True, where=legal, initial=-jnp.inf))
    values = jnp.take_along_axis(branches, first(best, key)[:, None, None], axis=1)[:, 0]
    return Outlook(minimax.ties(best, key), best, values, jnp.where(legal[:, :, None], branches, -jnp.inf))


def _in_blocks(minimax: Minimax, states: State) -> Array:
    """The value of every move [B, A, P], in blocks of at most `width` roots."""
    batch = jax.tree.leaves(states)[0].shape[0]
    blocks = -(-batch // minimax.width)
    if blocks <= 1:
        return jnp.moveaxis(_branches(minimax, states, minimax.levels), 0, 1)
    rows = jnp.minimum(jnp.arange(blocks * -(-batch // blocks)), batch - 1).reshape(blocks, -1)
    found = jax.lax.map(
        lambda mine: _branches(minimax, jax.tree.map(lambda leaf: leaf[mine], states), minimax.levels), rows
    )  # [blocks, A, L, P]
    return jnp.moveaxis(found, 1, 2).reshape(-1, *found.shape[1::2])[:batch]


def _branches(minimax: Minimax, states: State, depth: int) -> Array:
    """The values [A, L, P] after each action; undefined if illegal."""
    game = minimax.game
    lanes = jax.tree.leaves(states)[0].shape[0]
    actions = jnp.arange(game.num_actions)
    legal = jax.vmap(game.legal)(states)
    if lanes * game.num_actions**depth <= minimax.width:
        children = jax.vmap(lambda action: jax.vmap(lambda state: game.step(state, action))(states))(actions)
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), children)
        return _values_if(minimax, flat, depth - 1, legal).reshape(game.num_actions, lanes, game.num_players)

    def branch(one: tuple[Array, Array]) -> Array:
        action, open_to = one
        children = jax.vmap(lambda state: game.step(state, action))(states)
        return _values_if(minimax, children, depth - 1, open_to)

    return jax.lax.map(branch, (actions, legal.T))


def _values_if(minimax: Minimax, states: State, depth: int, wanted: Array) -> Array:
    """The values [L, P] of positions, computed only if any of them is wanted.

    The condition is also a barrier: without it XLA recomputes each step inside everything that reads its result, which
    is five times slower.
    """
    lanes = jax.tree.leaves(states)[0].shape[0]
    unwanted = jnp.zeros((lanes, minimax.game.num_players))
    return jax.lax.cond(wanted.any(), lambda inner: _values(minimax, inner, depth), lambda _: unwanted, states)


def _values(minimax: Minimax, states: State, depth: int) -> Array:
    """The values [L, P] of positions, searched `depth` moves deep."""
    game = minimax.game
    ahead = (
        _heuristic_values(minimax, states)
        if depth == 0
        else _best_branch(game, states, _branches(minimax, states, depth))
    )
    ends = game.scale(jax.vmap(game.scores)(states))
    return jnp.where(jax.vmap(game.over)(states)[:, None], ends, ahead)


def _heuristic_values(minimax: Minimax, states: State) -> Array:
    game = minimax.game
    if minimax.heuristic is None and not game.has_heuristic:
        return jnp.zeros((jax.tree.leaves(states)[0].shape[0], game.num_players))
    return jnp.clip(jax.vmap(minimax.heuristic or game.heuristic)(states), -BELOW_A_WIN, BELOW_A_WIN)


def _best_branch(game: Game, states: State, branches: Array) -> Array:
    """The branch [L, P] of [A, L, P] that each mover takes: the first of its best.

    Written as sums over masks, because gathers of single numbers are slow on every device.
    """
    mine = jax.vmap(game.mover)(states)[:, None] == jnp.arange(game.num_players)[None, :]
    own = jnp.where(mine[None], branches, 0.0).sum(axis=-1)
    taken = jnp.argmax(jnp.where(jax.vmap(game.legal)(states).T, own, -jnp.inf), axis=0)
    is_taken = taken[None, :] == jnp.arange(game.num_actions)[:, None]
    return jnp.where(is_taken[:, :, None], branches, 0.0).sum(axis=0)
