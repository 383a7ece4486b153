"""Closing an enumeration waits for the chunk computed ahead."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from tabia.solvers.enumeration import _one_ahead


def test_closing_waits_for_the_item_fetched_ahead() -> None:
    """Its program may call back into a plain Python game, and Python aborts if it exits before that ends."""
    square = jax.jit(lambda matrix: matrix @ matrix)
    matrices = jax.block_until_ready([jnp.ones((size, size)) for size in (2, 2000)])
    jax.block_until_ready([square(matrix) for matrix in matrices])  # compiled
    made: list[jax.Array] = []

    def make(matrix: jax.Array) -> jax.Array:
        made.append(square(matrix))
        return made[-1]

    items = _one_ahead(map(make, matrices))
    next(items)
    items.close()
    assert [item.is_ready() for item in made] == [True, True]
