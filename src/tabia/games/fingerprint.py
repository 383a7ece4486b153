"""64-bit fingerprints of positions, for search, solvers and the laws."""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State


def fingerprint(game: Game, state: State) -> Array:
    """uint32[2]: a 64-bit hash of a position and its mover; equal positions have equal fingerprints."""
    return hash_words(jnp.append(game.position(state).astype(jnp.uint32), game.mover(state).astype(jnp.uint32)))


def hash_words(words: Array) -> Array:
    """uint32[2]: a 64-bit hash of words uint32[K]."""
    places = jnp.arange(words.shape[0], dtype=jnp.uint32)

    def mix(seed: int) -> Array:
        # MurmurHash3's finalizer scrambles each word with its index; the sum of the results is the hash.
        x = words + (places + jnp.uint32(seed)) * jnp.uint32(0x9E3779B9)
        x = (x ^ (x >> 16)) * jnp.uint32(0x85EBCA6B)
        x = (x ^ (x >> 13)) * jnp.uint32(0xC2B2AE35)
        return jnp.sum(x ^ (x >> 16), dtype=jnp.uint32)

    return jnp.stack([mix(0x51ED270B), mix(0x2545F491)])
