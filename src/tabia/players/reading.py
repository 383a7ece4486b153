"""Read many positions from lines of moves at once; an invalid line does not affect the others."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core.batching import padded_size
from tabia.games.errors import GameError
from tabia.games.game import Game, State
from tabia.games.moves import keys, legal_names, next_move, row


class Refused(NamedTuple):
    """Why a line does not describe a position."""

    reason: str
    legal: list[str]  # the legal moves instead


class Positions(NamedTuple):
    """The positions of lines of moves; rows of refused lines hold the position after their last legal move."""

    states: State  # [B, ...] with B a power of two; rows beyond the last line are padding
    plies: np.ndarray  # int32[B]
    refused: dict[int, Refused]  # by index of the line


def read(game: Game, lines: Sequence[str], *, seed: int = 0, width: int | None = None) -> Positions:
    """The positions after lines of moves, as `Session.from_moves` plays them; an empty line is the first position.

    The batch has `width` rows, by default the next power of two. Callers that read a file in parts use one width for
    all, so that programs are compiled once.
    """
    drawn = keys(seed)
    width = width or padded_size(len(lines))
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
        states = _step(game, states, jax.device_put(actions), next(drawn))
        plies += actions >= 0
    return Positions(states, plies, refused)


@partial(jax.jit, static_argnums=(0, 1))
def _start(game: Game, width: int, key: Array) -> State:
    return jax.vmap(lambda _: game.init(key))(jnp.arange(width))


@partial(jax.jit, static_argnums=0)
def _legal(game: Game, states: State) -> Array:
    return jax.vmap(game.legal)(states)


@partial(jax.jit, static_argnums=0)
def _step(game: Game, states: State, actions: Array, key: Array) -> State:
    """Play the actions; -1 leaves a game unchanged."""

    def one(state: State, action: Array) -> State:
        after = game.step(state, jnp.maximum(action, 0), key)
        return jax.tree.map(lambda new, old: jnp.where(action >= 0, new, old), after, state)

    return jax.vmap(one)(states, actions)
