"""Minimax: look a fixed number of moves ahead along every line, and let everybody play their best (Sanz & Villanueva 2021, section 2.3.1).

Values are vectors, one number per seat, and the mover of each position takes the move that is best for itself: with
two seats and opposite scores that is minimax, with more it is max^n, and a seat may move twice. Positions at the
horizon are judged by a heuristic, finished games by their scores, which no heuristic can outbid.

All lines are looked at, A^depth of them. The lower levels are laid out side by side and computed at once; the levels
above them are walked action by action, so that memory stays small whatever the depth. Cutting lines off as alpha-beta
does would save work in one tree, but not in many trees that share each step.

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

BELOW_A_WIN = 0.999  # a promise is never worth as much as the real thing


def first(best: Array, key: Array) -> Array:
    """Of equally good moves the first."""
    return jnp.argmax(best, axis=-1).astype(jnp.int32)


def at_random(best: Array, key: Array) -> Array:
    """Of equally good moves any, all equally likely."""
    return jnp.argmax(jnp.where(best, jax.random.uniform(key, best.shape), -1.0), axis=-1).astype(jnp.int32)


class Outlook(NamedTuple):
    """What lies ahead of each position."""

    action: Array  # int32[B] the move to play
    best: Array  # bool[B, A] the moves that are best for the mover
    values: Array  # float32[B, P] what each seat can expect; of several best moves the first counts
    branches: Array  # float32[B, A, P] the same after each move; -inf where the move is illegal


@dataclass(frozen=True)
class Minimax:
    """Minimax to a depth; compiled once per batch size.

    The heuristic is the game's own unless another is given; a game that has none finds all unfinished positions even.
    Interior ties, which only matter to third seats, go to the first of the best moves; `ties` is about the move played.
    """

    game: Game
    depth: int
    heuristic: Heuristic | None = None
    ties: Ties = at_random
    width: int = 8192  # positions computed side by side: about what a core's cache holds

    def __post_init__(self) -> None:
        if self.depth < 1:
            raise SearchError(f"depth={self.depth}: minimax needs to look at least 1 move ahead.")
        if self.width < 1:
            raise SearchError(f"width={self.width}: at least 1 position at a time is needed.")
        if self.game.chance:
            raise SearchError(f"{self.game.id} has chance, which minimax does not weigh; use a tree search.")
        if self.levels > _most_levels(self.game.num_actions):
            _check_lines(self)

    @property
    def levels(self) -> int:
        """The depth, or as many moves as a game can have: beyond them every line has ended."""
        return min(self.depth, self.game.max_moves)

    def run(self, states: State, key: Array) -> Outlook:
        """Look ahead from every position of the batch; refuses positions that are over or another game's."""
        checks.positions(self.game, states)
        return self.explore(states, key)

    def explore(self, states: State, key: Array) -> Outlook:
        """The same without checks, to be called inside compiled code; action 0 where a game is over."""
        return _explore(self, states, key)


def _check_lines(minimax: Minimax) -> None:
    """Refuse a depth at which there are too many lines, with as many legal moves everywhere as at the start."""
    game = minimax.game
    moves = int(jax.jit(lambda: game.legal(game.init(jax.random.key(0))).sum())())
    most = _most_levels(moves)
    if minimax.levels > most:
        raise SearchError(
            f"depth={count_text(minimax.depth)}: with {moves} moves at its start, {game.id} has about "
            f"{moves}^{minimax.levels} lines of that length, and at most {count_text(checks.MOST_POSITIONS)} positions "
            f"per move are allowed. depth can be at most {most}."
        )


def _most_levels(moves: int) -> int:
    """How many moves ahead all lines can be searched, with so many moves everywhere."""
    return int(math.log(checks.MOST_POSITIONS) / math.log(max(moves, 2)))


@partial(jax.jit, static_argnums=0)
def _explore(minimax: Minimax, states: State, key: Array) -> Outlook:
    branches = _in_blocks(minimax, states)
    legal, mover = jax.vmap(minimax.game.legal)(states), jax.vmap(minimax.game.mover)(states)
    own = jnp.take_along_axis(branches, mover[:, None, None], axis=2)[:, :, 0]
    best = legal & (own == jnp.max(own, axis=-1, keepdims=True, where=legal, initial=-jnp.inf))
    values = jnp.take_along_axis(branches, first(best, key)[:, None, None], axis=1)[:, 0]
    return Outlook(minimax.ties(best, key), best, values, jnp.where(legal[:, :, None], branches, -jnp.inf))


def _in_blocks(minimax: Minimax, states: State) -> Array:
    """The worth of every move [B, A, P], a block of roots at a time where the batch is wider than `width`."""
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
    """The worth [A, L, P] of the positions after each action; anything where it is illegal."""
    game = minimax.game
    lanes = jax.tree.leaves(states)[0].shape[0]
    actions = jnp.arange(game.num_actions)
    legal = jax.vmap(game.legal)(states)
    if lanes * game.num_actions**depth <= minimax.width:
        children = jax.vmap(lambda action: jax.vmap(lambda state: game.step(state, action))(states))(actions)
        flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), children)
        return _descend(minimax, flat, depth - 1, legal).reshape(game.num_actions, lanes, game.num_players)

    def branch(one: tuple[Array, Array]) -> Array:
        action, open_to = one
        children = jax.vmap(lambda state: game.step(state, action))(states)
        return _descend(minimax, children, depth - 1, open_to)

    return jax.lax.map(branch, (actions, legal.T))


def _descend(minimax: Minimax, states: State, depth: int, wanted: Array) -> Array:
    """The worth [L, P] of positions, computed only if any of them is wanted.

    The condition is also a wall: without it XLA computes each step again inside everything that reads its result,
    which makes the whole five times slower.
    """
    lanes = jax.tree.leaves(states)[0].shape[0]
    unwanted = jnp.zeros((lanes, minimax.game.num_players))
    return jax.lax.cond(wanted.any(), lambda inner: _worth(minimax, inner, depth), lambda _: unwanted, states)


def _worth(minimax: Minimax, states: State, depth: int) -> Array:
    """What each seat can expect of each position [L, P], looking `depth` moves ahead."""
    game = minimax.game
    ahead = _judged(minimax, states) if depth == 0 else _chosen(game, states, _branches(minimax, states, depth))
    ends = game.scale(jax.vmap(game.scores)(states))
    return jnp.where(jax.vmap(game.over)(states)[:, None], ends, ahead)


def _judged(minimax: Minimax, states: State) -> Array:
    game = minimax.game
    if minimax.heuristic is None and not game.has_heuristic:
        return jnp.zeros((jax.tree.leaves(states)[0].shape[0], game.num_players))
    return jnp.clip(jax.vmap(minimax.heuristic or game.heuristic)(states), -BELOW_A_WIN, BELOW_A_WIN)


def _chosen(game: Game, states: State, branches: Array) -> Array:
    """The branch [L, P] of [A, L, P] that each mover takes: the first of its best.

    Written as sums over masks, because gathers of single numbers are slow on every device.
    """
    mine = jax.vmap(game.mover)(states)[:, None] == jnp.arange(game.num_players)[None, :]
    own = jnp.where(mine[None], branches, 0.0).sum(axis=-1)
    taken = jnp.argmax(jnp.where(jax.vmap(game.legal)(states).T, own, -jnp.inf), axis=0)
    is_taken = taken[None, :] == jnp.arange(game.num_actions)[:, None]
    return jnp.where(is_taken[:, :, None], branches, 0.0).sum(axis=0)
