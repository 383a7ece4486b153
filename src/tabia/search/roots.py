"""Noise at the root, so that self-play does not always see the same games."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.tree import ILLEGAL, LOGIT


@dataclass(frozen=True)
class Noise:
    """Dirichlet noise over the legal moves: p becomes (1 - fraction) p + fraction * Dir(alpha).

    If `alpha` is None it is `total` divided by the number of legal moves (AlphaZero: about 10).
    """

    alpha: float | None = None
    fraction: float = 0.25
    total: float = 10.0

    def stir(self, records: Array, key: Array) -> Array:
        """Stir the priors in the roots' records [B, A + 1, 4]."""
        logits = records[:, :-1, LOGIT]
        legal = logits > ILLEGAL / 2
        count = jnp.maximum(legal.sum(axis=-1, keepdims=True), 1)
        alpha = jnp.broadcast_to(self.total / count if self.alpha is None else self.alpha, logits.shape)
        # A Dirichlet draw is a share of gamma draws; their logarithms survive where a small alpha makes them all 0.
        drawn = jax.nn.softmax(jnp.where(legal, jax.random.loggamma(key, alpha), ILLEGAL), axis=-1)
        stirred = (1.0 - self.fraction) * jnp.exp(logits) + self.fraction * drawn
        return records.at[:, :-1, LOGIT].set(jnp.where(legal, jnp.log(jnp.maximum(stirred, 1e-30)), ILLEGAL))
