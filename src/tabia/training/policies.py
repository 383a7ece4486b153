"""Policies as the replay keeps them: of many actions the likeliest alone, which is nearly always all that are legal.

A policy over the 4,448 actions of the large star takes 9 kilobytes in half precision, and hardly ever has more than a
hundred legal moves in it. Axis letters: A actions, K kept.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

MOST = 128
"""So many shares of a policy are kept; of games with no more actions than that, all."""


def keep(policy: Array) -> tuple[Array, Array | None]:
    """The largest shares float16[..., K] of a policy [..., A], and whose they are, where that is not all in order."""
    if policy.shape[-1] <= MOST:
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
