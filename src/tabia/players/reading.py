"""Many positions from move texts at once: all games advance together, and a bad line never stops the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.errors import GameError
from tabia.games.game import Game, State
from tabia.games.moves import keys, legal_names, next_move, row


class Refused(NamedTuple):
    """Why a line names no position."""

    reason: str
    legal: list[str]  # what could have been played


class Positions(NamedTuple):
    """The positions of some lines; rows of refused lines stand where their last legal move led."""

    states: State  # [B, ...] with B a power of two, rows beyond the last line at the start of a game
    plies: np.ndarray  # int32[B]
    refused: dict[int, Refused]  # by index of the line


def read(game: Game, lines: Sequence[str], *, seed: int = 0, width: int | None = None) -> Positions:
    """The positions that lines of moves lead to, as `Session.from_moves` reaches them; an empty line is the start.

    The batch is `width` rows wide, or as few as a power of two allows: callers with several parts of a file give them
    all one width, so that programs are compiled once.
    """
    drawn = keys(seed)
    width = width or power_of_two(len(lines))
    states = _start(game, width, next(drawn))
    words = [line.replace(",", " ").split() for line in lines]
    plies, refused = np.zeros(width, np.int32), dict[int, Refused]()
    while going := [index for index, left in enumerate(words) if left and index not in refused]:
        host, legal = jax.device_get((states, _legal(game, states)))
        actions = np.full(width, -1, np.int32)
        for index in going:
            left, state = words[index], row(game, host, index)
            try:
                actions[index], rest = next_move(game, left[0], state, int(plies[index]) + 1, legal[index])
                words[index] = [rest, *left[1:]] if rest else left[1:]
            except GameError as error:
                refused[index] = Refused(str(error), list(legal_names(game, legal[index], state).values()))
        states = _step(game, states, jnp.asarray(actions), next(drawn))
        plies += actions >= 0
    return Positions(states, plies, refused)


def power_of_two(count: int) -> int:
    """The next power of two: programs are compiled for few sizes.

    >>> [power_of_two(count) for count in (0, 1, 5, 64)]
    [1, 1, 8, 64]
    """
    return 1 << max(count - 1, 0).bit_length()


@partial(jax.jit, static_argnums=(0, 1))
def _start(game: Game, width: int, key: Array) -> State:
    return jax.vmap(lambda _: game.init(key))(jnp.arange(width))


@partial(jax.jit, static_argnums=0)
def _legal(game: Game, states: State) -> Array:
    return jax.vmap(game.legal)(states)


@partial(jax.jit, static_argnums=0)
def _step(game: Game, states: State, actions: Array, key: Array) -> State:
    """Play the actions; -1 leaves a game as it is."""

    def one(state: State, action: Array) -> State:
        after = game.step(state, jnp.maximum(action, 0), key)
        return jax.tree.map(lambda new, old: jnp.where(action >= 0, new, old), after, state)

    return jax.vmap(one)(states, actions)
