"""Openings of a match: random legal moves drawn from a seed, every one leading to a position of its own.

Axis letters: B openings drawn together, K moves.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game
from tabia.search.evaluators import random_actions

_SHORTEST = 4  # moves, where no length is asked for
_TOGETHER = 256  # openings drawn in one call
_PATIENCE = 8  # calls in a row that bring too little before a length is given up


@dataclass(frozen=True)
class Opening:
    """The start of a game: the seed of the game's own chance, and its first moves."""

    seed: int
    actions: tuple[int, ...]


def draw(game: Game, count: int, *, moves: int | None = None, seed: int = 0) -> list[Opening]:
    """`count` openings of `moves` random moves, none over; fewer if the game has no more that differ.

    Without `moves` they are as short as they can be and still differ, four moves or more.
    """
    if moves is not None:
        return _draw(game, count, moves, seed)
    most: list[Opening] = []
    for length in range(min(_SHORTEST, game.max_moves - 1), max(game.max_moves // 2, _SHORTEST) + 1):
        found = _draw(game, count, length, seed)
        if len(found) == count:
            return found
        most = max(most, found, key=len)
    return most


def _draw(game: Game, count: int, moves: int, seed: int) -> list[Opening]:
    if moves == 0 and not game.chance:
        return [Opening(game_seed(seed, 0), ())]
    found: dict[bytes, Opening] = {}
    idle = call = 0
    while len(found) < count and idle < _PATIENCE:
        before = len(found)
        seeds = [game_seed(seed, call * _TOGETHER + number) for number in range(_TOGETHER)]
        actions, over, prints = _random_starts(game, moves, jnp.asarray(seeds))
        for own, played, ended, position in zip(seeds, *map(np.asarray, (actions, over, prints)), strict=True):
            if not ended and len(found) < count:
                found.setdefault(position.tobytes(), Opening(own, tuple(map(int, played))))
        call += 1
        idle = idle + 1 if len(found) - before < min(8, count - before) else 0
    return list(found.values())


def game_seed(seed: int, number: int) -> int:
    """A seed for one of many games, the same on every machine."""
    return int(np.random.SeedSequence([seed, number]).generate_state(1)[0] >> 1)


@partial(jax.jit, static_argnums=(0, 1))
def _random_starts(game: Game, moves: int, seeds: Array) -> tuple[Array, Array, Array]:
    """Actions [B, K], whether the game is over [B], and words that tell the positions apart [B, ...]."""
    keys = jax.vmap(jax.random.key)(seeds)
    dice = jax.random.split(jax.random.fold_in(jax.random.key(0), seeds[0]), max(moves, 1))
    keys, states = begin(game, keys)

    def move(carry: tuple[Array, Array], die: Array) -> tuple[tuple[Array, Array], Array]:
        keys, states = carry
        actions = random_actions(die, jax.vmap(game.legal)(states))
        return proceed(game, keys, states, actions), actions

    (_, states), actions = jax.lax.scan(move, (keys, states), dice[:moves])
    return actions.T, jax.vmap(game.over)(states), jax.vmap(game.position)(states)


def begin(game: Game, keys: Array) -> tuple[Array, Array]:
    """The starts of games [B], keys dealt as in `tabia.games.moves`, so that seed and moves tell a game."""
    keys, used = _deal(keys)
    return keys, jax.vmap(game.init)(used)


def proceed(game: Game, keys: Array, states: Array, actions: Array) -> tuple[Array, Array]:
    """One move in every game [B]."""
    keys, used = _deal(keys)
    return keys, jax.vmap(game.step)(states, actions, used)


def _deal(keys: Array) -> tuple[Array, Array]:
    both = jax.vmap(jax.random.split)(keys)
    return both[:, 0], both[:, 1]
