"""A table of positions that compiled code can look things up in.

Positions are sorted by fingerprint, 64 bits in two words. The top bits of a fingerprint name a bucket; fingerprints
are evenly spread, so a bucket holds about one position and a few steps of binary search end the matter. The
position's own words are compared last, so that an answer is never another position's.

Axis letters: B batch, N positions, K words of a position.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.search.leaves import fingerprint


class Index(NamedTuple):
    """Where each of N positions stands."""

    prints: Array  # uint32[N, 2] in ascending order
    buckets: Array  # int32[2^bits + 1] where each bucket begins
    words: Array  # uint32[N, K]

    def find(self, game: Game, states: State, *, steps: int) -> Array:
        """int32[B]: the row of each position, -1 where it is not in the table; for compiled code.

        `steps` is what `steps_needed` says of this table.
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
        """How many halvings the fullest bucket needs."""
        return int(np.diff(np.asarray(self.buckets)).max()).bit_length()


def index(prints: np.ndarray, words: np.ndarray) -> tuple[Index, np.ndarray]:
    """The index of positions with fingerprints uint64[N], all different, and the order [N] it puts them in."""
    order = np.argsort(prints)
    prints = prints[order]
    bits = max(1, min(24, len(prints).bit_length()))
    edges = np.arange(2**bits, dtype=np.uint64) << np.uint64(64 - bits)
    buckets = np.append(np.searchsorted(prints, edges), len(prints)).astype(np.int32)
    return Index(jnp.asarray(_halves(prints)), jnp.asarray(buckets), jnp.asarray(words[order])), order


def whole(prints: np.ndarray) -> np.ndarray:
    """Fingerprints uint32[N, 2] as one number each, uint64[N]."""
    return prints[:, 0].astype(np.uint64) << np.uint64(32) | prints[:, 1].astype(np.uint64)


def _halves(prints: np.ndarray) -> np.ndarray:
    return np.stack([prints >> np.uint64(32), prints & np.uint64(0xFFFFFFFF)], axis=1).astype(np.uint32)


def _less(one: Array, two: Array) -> Array:
    return (one[:, 0] < two[:, 0]) | ((one[:, 0] == two[:, 0]) & (one[:, 1] < two[:, 1]))
