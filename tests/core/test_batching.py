"""Batching: padding to a few sizes, and batched games that equal single ones."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from jax import Array

from tabia.core import batching


@given(st.integers(0, 10**6), st.integers(0, 6), st.sampled_from([2, 4]))
def test_the_padded_size_is_the_smallest_allowed_one(count: int, exponent: int, base: int) -> None:
    smallest = base**exponent
    size = batching.padded_size(count, smallest=smallest, base=base)
    allowed = [base**power for power in range(exponent, 24)]
    assert size == next(candidate for candidate in allowed if candidate >= count)


def test_padding_repeats_the_first_row() -> None:
    rows = np.array([[3, 4], [5, 6]])
    assert batching.pad(rows, 4).tolist() == [[3, 4], [5, 6], [3, 4], [3, 4]]
    assert batching.pad(rows, 2).tolist() == rows.tolist()


@dataclass(frozen=True)
class Dice:
    """A game of chance: the state counts the actions and adds a roll per step."""

    def init(self, key: Array) -> tuple[Array, Array]:
        return jnp.int32(0), jax.random.randint(key, (), 1, 7)

    def step(self, state: tuple[Array, Array], action: Array, key: Array) -> tuple[Array, Array]:
        return state[0] + action, state[1] + jax.random.randint(key, (), 1, 7)


def test_a_batch_equals_single_games_with_the_same_keys() -> None:
    game, seeds, actions = Dice(), range(5), np.arange(15).reshape(3, 5)
    keys, states = batching.start(game, jax.vmap(jax.random.key)(jnp.arange(5)))
    for row in actions:
        keys, states = batching.step(game, keys, states, jnp.asarray(row))
    for index, seed in enumerate(seeds):
        key, used = jax.random.split(jax.random.key(seed))
        state = game.init(used)
        for action in actions[:, index]:
            key, used = jax.random.split(key)
            state = game.step(state, action, used)
        assert jax.tree.map(int, batching.take(states, index)) == jax.tree.map(int, state)
