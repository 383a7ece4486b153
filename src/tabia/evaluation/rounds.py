"""Rounds of a match: one random opening, played in every seating, so that neither opening nor seat favors a player.

Axis letters: B openings drawn at once, K moves.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core import batching
from tabia.core.errors import TabiaError
from tabia.games.game import Game, State
from tabia.search.evaluators import random_actions

_SHORTEST = 4  # moves, the default
_BATCH = 256  # openings drawn per call
_PATIENCE = 8  # consecutive calls with few new openings before a length is given up


class MatchError(TabiaError):
    """A match that cannot be played with these settings."""


@dataclass(frozen=True)
class Opening:
    """The start of a game: the seed of the game's own chance, and the first actions."""

    seed: int
    actions: tuple[int, ...]


def draw_openings(game: Game, count: int, *, moves: int | None = None, seed: int = 0) -> list[Opening]:
    """Draw `count` openings of `moves` random legal moves that lead to distinct, unfinished positions.

    There are fewer if the game has no more. Without `moves`, the length is the smallest from 4 on that has enough.
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
        seeds = [game_seed(seed, call * _BATCH + number) for number in range(_BATCH)]
        actions, over, positions = _random_starts(game, moves, jnp.asarray(seeds))
        for own, played, ended, position in zip(seeds, *map(np.asarray, (actions, over, positions)), strict=True):
            if not ended and len(found) < count:
                found.setdefault(position.tobytes(), Opening(own, tuple(map(int, played))))
        call += 1
        idle = idle + 1 if len(found) - before < min(8, count - before) else 0
    return list(found.values())


def game_seed(seed: int, index: int) -> int:
    """The seed of game number `index`, the same on every machine."""
    return int(np.random.SeedSequence([seed, index]).generate_state(1)[0] >> 1)


@partial(jax.jit, static_argnums=(0, 1))
def _random_starts(game: Game, moves: int, seeds: Array) -> tuple[Array, Array, Array]:
    """Actions [B, K], whether the game is over [B], and words that identify the position [B, ...]."""
    keys = jax.vmap(jax.random.key)(seeds)
    dice = jax.random.split(jax.random.fold_in(jax.random.key(0), seeds[0]), max(moves, 1))
    keys, states = batching.start(game, keys)

    def move(carry: tuple[Array, State], die: Array) -> tuple[tuple[Array, State], Array]:
        keys, states = carry
        actions = random_actions(die, jax.vmap(game.legal)(states))
        return batching.step(game, keys, states, actions), actions

    (_, states), actions = jax.lax.scan(move, (keys, states), dice[:moves])
    return actions.T, jax.vmap(game.over)(states), jax.vmap(game.position)(states)


def seatings(game: Game, players: Sequence[str]) -> list[tuple[int, ...]]:
    """The seatings of one round, each with the index of the player in every seat.

    As many players as seats rotate through the seats. Two players in more than two seats play Schulte's sets (2021):
    each alone against copies of the other, from every seat; six games with three seats. A player against itself has
    one seating.

    >>> from tabia.games import make
    >>> seatings(make("connect4"), ["a", "b"])
    [(0, 1), (1, 0)]
    >>> seatings(make("chinese-checkers"), ["a", "b"])
    [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    """
    seats, count = game.num_players, len(players)
    if count > 1 and len(set(players)) == 1:
        return [(0,) * seats]
    if count == seats:
        rotated = [tuple((seat - turn) % seats for seat in range(seats)) for turn in range(seats)]
        return _distinct(rotated, players)
    if count == 2 and seats > 2:
        return [
            tuple(alone if seat == own else other for seat in range(seats))
            for alone, other in ((0, 1), (1, 0))
            for own in range(seats)
        ]
    wanted = f"{seats} players" if seats == 2 else f"{seats} players, or 2 players"
    hint = " A tournament takes any number: `tabia tournament`." if count > seats else ""
    raise MatchError(f"{game.id} has {seats} seats: a match needs {wanted}, not {count}.{hint}")


def _distinct(rotated: list[tuple[int, ...]], players: Sequence[str]) -> list[tuple[int, ...]]:
    """The seatings without those that look the same because some players are equal."""
    seen: dict[tuple[str, ...], tuple[int, ...]] = {}
    for seating in rotated:
        seen.setdefault(tuple(players[player] for player in seating), seating)
    return list(seen.values())
