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
from tabia.games.moves import keys, next_move


class Refused(NamedTuple):
    """Why a line names no position."""

    reason: str
    legal: list[str]  # what could have been played


class Positions(NamedTuple):
    """The positions of some lines; rows of refused lines stand where their last legal move led."""

    states: State  # [B, ...] with B a power of two, rows beyond the last line at the start of a game
    plies: np.ndarray  # int32[B]
    refused: dict[int, Refused]  # by index of the line


def read(game: Game, lines: Sequence[str], *, seed: int = 0) -> Positions:
    """The positions that lines of moves lead to; an empty line is the start of a game."""
    drawn = keys(seed)
    width = power_of_two(len(lines))
    states = _start(game, width, next(drawn))
    words = [line.replace(",", " ").split() for line in lines]
    plies, refused = np.zeros(width, np.int32), dict[int, Refused]()
    while any(left and index not in refused for index, left in enumerate(words)):
        legal = np.asarray(_legal(game, states))
        host = jax.device_get(states)
        actions = np.full(width, -1, np.int32)
        for index, left in enumerate(words):
            if left and index not in refused:
                state = row(host, index)
                try:
                    actions[index], rest = next_move(game, left[0], state, int(plies[index]) + 1, legal[index])
                    words[index] = [rest, *left[1:]] if rest else left[1:]
                except GameError as error:
                    names = [game.move_name(int(action), state) for action in np.flatnonzero(legal[index])]
                    refused[index] = Refused(str(error), names)
        states = _step(game, states, jnp.asarray(actions), next(drawn))
        plies += actions >= 0
    return Positions(states, plies, refused)


def row(states: State, index: int) -> State:
    """One state of a batch that lies in the host's memory."""
    return jax.tree.map(lambda leaf: jnp.asarray(leaf[index]), states)


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
