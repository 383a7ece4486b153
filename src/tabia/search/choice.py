"""Final-move rules: which move to play once the search is done (Sanz & Villanueva 2021, section 2.3.2), and by which odds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.roots import Result
from tabia.search.selection import choose


def most_visits(result: Result) -> Array:
    """Robust child: the move tried most."""
    return choose(result.visits, result.visits > 0)


def best_value(result: Result) -> Array:
    """Max child: the move with the highest mean value."""
    return choose(result.means, result.visits > 0)


def secure(result: Result, *, a: float = 1.0) -> Array:
    """Secure child: the highest v + A / sqrt(n), Sanz & Villanueva's formula as printed.

    Sanz & Villanueva 2021 calls it a lower confidence bound, which it is for a negative `a`.
    """
    return choose(result.means + a / jnp.sqrt(jnp.maximum(result.visits, 1.0)), result.visits > 0)


def agreed(result: Result) -> Array:
    """bool[B]: whether one move has both the most visits and the highest value (max-robust child exists)."""
    tried = result.visits > 0
    most = result.visits == result.visits.max(axis=-1, keepdims=True)
    best = result.means == jnp.where(tried, result.means, -jnp.inf).max(axis=-1, keepdims=True)
    return jnp.any(most & best & tried, axis=-1)


def max_robust(result: Result) -> Array:
    """The move with most visits and highest value, or the most visited one where no move has both."""
    tried = result.visits > 0
    most = result.visits == result.visits.max(axis=-1, keepdims=True)
    return choose(jnp.where(most, result.means, -2.0), tried)


def visit_policy(visits: Array, temperature: float | Array) -> Array:
    """N^(1 / temperature), normalized [B, A]; the most visited move alone as the temperature goes to 0."""
    tried = visits > 0
    logits = jnp.where(tried, jnp.log(jnp.maximum(visits, 1.0)), -jnp.inf) / jnp.maximum(temperature, 1e-3)
    return jax.nn.softmax(logits, axis=-1)


def sample(key: Array, policy: Array) -> Array:
    """Draw one action a row from a policy [B, A]."""
    return jax.random.categorical(key, jnp.log(policy), axis=-1).astype(jnp.int32)
