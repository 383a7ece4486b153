"""Policies as the replay keeps them: of very many actions the likeliest alone.

A policy over the 4,448 actions of the large star takes 9 kilobytes in half precision, and hardly ever has more than a
hundred legal moves in it. Where more are legal, as in shogi with pieces in hand, the least likely are lost.
Axis letters: A actions, K kept.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

MANY, MOST = 512, 128
"""Of policies over more than `MANY` actions the `MOST` largest shares are kept; others are hardly larger whole."""


def keep(policy: Array) -> tuple[Array, Array | None]:
    """The largest shares float16[..., K] of a policy [..., A], and whose they are, where that is not all in order."""
    if policy.shape[-1] <= MANY:
        return policy.astype(jnp.float16), None
    shares, actions = jax.lax.top_k(policy, MOST)
    return shares.astype(jnp.float16), actions.astype(jnp.int16 if policy.shape[-1] < 2**15 else jnp.int32)


def spread(shares: Array, actions: Array | None, num_actions: int) -> Array:
    """The policy float32[N, A] of shares [N, K] that were kept; what was not has none."""
    shares = shares.astype(jnp.float32)
    if actions is None:
        return shares
    rows = jnp.arange(shares.shape[0])[:, None]
    return jnp.zeros((shares.shape[0], num_actions)).at[rows, actions.astype(jnp.int32)].set(shares)
