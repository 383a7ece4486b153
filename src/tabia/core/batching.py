"""Batches of games: padding to a few sizes, and the batched start and step.

A compiled program has fixed shapes, so a batch of a new size compiles a new program. Padding to powers of two keeps
the number of programs small. Axis letter: B games.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

import jax
import numpy as np
from jax import Array

State = TypeVar("State")


class Rules(Protocol[State]):
    """The part of a game that starting and stepping needs."""

    def init(self, key: Array) -> State: ...

    def step(self, state: State, action: Array, key: Array) -> State: ...


def padded_size(count: int, *, smallest: int = 1, base: int = 2) -> int:
    """The smallest power of `base`, times `smallest`, that is at least `count`.

    >>> [padded_size(count) for count in (0, 1, 5, 64)], padded_size(5, smallest=8), padded_size(65, base=4)
    ([1, 1, 8, 64], 8, 256)
    """
    size = smallest
    while size < count:
        size *= base
    return size


def pad(rows: np.ndarray, size: int) -> np.ndarray:
    """The rows [B, ...] padded to `size` with copies of the first one."""
    return np.concatenate([rows, np.repeat(rows[:1], size - len(rows), axis=0)])


def take(states: State, rows: int | np.ndarray | Array) -> State:
    """The states at the given rows of a batch."""
    return jax.tree.map(lambda leaf: leaf[rows], states)


def start(rules: Rules[State], keys: Array) -> tuple[Array, State]:
    """Start one game per key [B]; returns the keys of the games and their first states.

    A game splits its key once for the start and once for every step, so its seed and its actions determine it.
    """
    keys, used = _split(keys)
    return keys, jax.vmap(rules.init)(used)


def step(rules: Rules[State], keys: Array, states: State, actions: Array) -> tuple[Array, State]:
    """Play one action [B] in every game; returns the new keys and states."""
    keys, used = _split(keys)
    return keys, jax.vmap(rules.step)(states, actions, used)


def _split(keys: Array) -> tuple[Array, Array]:
    both = jax.vmap(jax.random.split)(keys)
    return both[:, 0], both[:, 1]
