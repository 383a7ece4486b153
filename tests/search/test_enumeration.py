"""Enumerating positions: what is asked for ahead of time has ended when the enumeration has."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp

from tabia.search.enumeration import _one_ahead


def test_closing_waits_for_the_item_asked_for_ahead() -> None:
    """Its program may call back into Python, which aborts if it exits meanwhile."""
    finished: list[float] = []

    def slow(number: jax.Array) -> jax.Array:
        time.sleep(0.5 * float(number))  # the first is ready long before the second
        finished.append(float(number))
        return number

    program = jax.jit(lambda number: jax.pure_callback(slow, jax.ShapeDtypeStruct((), jnp.float32), number))
    items = _one_ahead(program(jnp.float32(number)) for number in range(5))
    jax.block_until_ready(next(items))
    items.close()
    assert finished == [0.0, 1.0]
