"""An index of positions that compiled code can search.

Positions are sorted by fingerprint, 64 bits in two words. The top bits of a fingerprint choose a bucket. Fingerprints
are uniform, so a bucket holds about one position, and a few steps of binary search find it. The words of the position
are compared at the end: a collision of fingerprints never gives a wrong answer.

Axis letters: B batch, N positions, K words of a position.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State


class Index(NamedTuple):
    """The row of each of N positions."""

    prints: Array  # uint32[N, 2] ascending
    buckets: Array  # int32[2^bits + 1] first row of each bucket
    words: Array  # uint32[N, K]

    def find(self, game: Game, states: State, *, steps: int) -> Array:
        """int32[B]: the row of each position, -1 if it is not in the index; for compiled code.

        `steps` is the `steps_needed` of this index.
        """
        prints = jax.vmap(lambda state: fingerprint(game, state))(states)
        bits = (self.buckets.shape[0] - 1).bit_length() - 1
        bucket = (prints[:, 0] >> (32 - bits)).astype(jnp.int32)
        low, end = self.buckets[bucket], self.buckets[bucket + 1]
        high = end
        for _ in range(steps):
            middle = (low + high) // 2
            before = _less(self.prints[middle], prints) & (middle < high)
            low, high = jnp.where(before, middle + 1, low), jnp.where(before, high, middle)
        row = jnp.minimum(low, self.prints.shape[0] - 1)
        same = jnp.all(self.words[row] == jax.vmap(game.position)(states), axis=-1)
        return jnp.where((low < end) & same, row, -1)

    @property
    def steps_needed(self) -> int:
        """Steps of binary search that the fullest bucket needs."""
        return int(np.diff(np.asarray(self.buckets)).max()).bit_length()


def build_index(prints: np.ndarray, words: np.ndarray) -> tuple[Index, np.ndarray]:
    """The index of positions with distinct fingerprints uint64[N], and their order [N] in it."""
    order = np.argsort(prints)
    prints = prints[order]
    bits = max(1, min(24, len(prints).bit_length()))
    edges = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
    buckets = np.append(np.searchsorted(prints, edges), len(prints)).astype(np.int32)
    return Index(*jax.device_put((_split(prints), buckets, words[order]))), order


def join(prints: np.ndarray) -> np.ndarray:
    """Fingerprints uint32[N, 2] as uint64[N]."""
    return prints[:, 0].astype(np.uint64) << np.uint64(32) | prints[:, 1].astype(np.uint64)


def _split(prints: np.ndarray) -> np.ndarray:
    return np.stack([prints >> np.uint64(32), prints & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)


def _less(one: Array, two: Array) -> Array:
    return (one[:, 0] < two[:, 0]) | ((one[:, 0] == two[:, 0]) & (one[:, 1] < two[:, 1]))
