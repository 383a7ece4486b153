"""The area of both colors in Go, in a fixed number of steps; pgx fills each region cell by cell until nothing changes.

A loop whose length depends on the positions makes a GPU wait for the host in every round of it, and pgx runs one after
every move. Here a row is a word with a bit per column, and a sweep down and up the board fills whole rows.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

State = Any  # pgx's own state


def step(library: Any, state: State, action: Array) -> State:
    """The state after a legal action, as pgx makes it."""
    game = library._game
    x = game.step(state._x, action)
    over = game.is_terminal(x)
    black, white = areas(x.board, game.size)
    won = jnp.where(black - game.komi > white, jnp.float32([1, -1]), jnp.float32([-1, 1]))
    won = jnp.where(x.is_psk, jnp.float32([-1, -1]).at[x.color].set(1.0), won)
    return state.replace(
        current_player=state._player_order[x.color],
        legal_action_mask=game.legal_action_mask(x),
        rewards=jnp.where(over, won, 0.0)[state._player_order],
        terminated=over,
        _step_count=state._step_count + 1,
        _x=x,
    )


def areas(board: Array, size: int) -> tuple[Array, Array]:
    """The stones of black (positive) and of white, each with the empty cells that the other does not reach."""
    black, white = (_words(sign * board > 0, size) for sign in (1, -1))
    empty = ~(black | white) & jnp.uint32(2**size - 1)
    reached = [_reached(stones, empty, size) for stones in (black, white)]

    def area(stones: Array, by_other: Array) -> Array:
        return jnp.bitwise_count(stones | empty & ~by_other).sum(dtype=jnp.int32)

    return area(black, reached[1]), area(white, reached[0])


def _words(cells: Array, size: int) -> Array:
    """uint32[size]: the rows of a board."""
    bits = jnp.uint32(1) << jnp.arange(size, dtype=jnp.uint32)
    return (cells.reshape(size, size) * bits[None, :]).sum(axis=1, dtype=jnp.uint32)


def _reached(stones: Array, empty: Array, size: int) -> Array:
    """The cells that stones reach over empty ones, and the stones.

    A shortest path never touches itself, so it has at most about two thirds of the cells, and going down and up once
    takes at least six of them: hence the number of sweeps.
    """
    blank = [empty[row] for row in range(size)]

    def sweep(_: Array, rows: list[Array]) -> list[Array]:
        for order in (range(size), range(size - 1, -1, -1)):
            before = jnp.uint32(0)
            for row in order:
                before = rows[row] = _along(rows[row] | blank[row] & before, blank[row], size)
        return rows

    return jnp.stack(jax.lax.fori_loop(0, size * size // 8 + 1, sweep, [stones[row] for row in range(size)]))


def _along(cells: Array, blank: Array, size: int) -> Array:
    """A row with everything that its cells reach over blank ones, twice as far in every step."""
    left = right = cells
    left_blank = right_blank = blank
    distance = 1
    while distance < size:
        left, right = left | left_blank & left << distance, right | right_blank & right >> distance
        left_blank, right_blank = left_blank & left_blank << distance, right_blank & right_blank >> distance
        distance *= 2
    return left | right
