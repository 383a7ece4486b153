"""One position's way through a network: written once, used by training, by inference and by the summary.

`walk` only knows the order of layers. What a layer does comes in as a function `(name, x) -> y`: a Flax layer with
batch normalization, a folded convolution, or one that notes shapes. Axis letters: B batch, H rows, W columns,
F filters, A actions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax.numpy as jnp
from jax import Array

from tabia.networks.config import NetworkConfig
from tabia.networks.layers import has_pool

Apply = Callable[[str, Array], Array]  # (layer's name, x [B, ...]) -> y [B, ...]
Drop = Callable[[Array], Array]


class Heads(NamedTuple):
    """What the heads give, before it is brought to its range."""

    logits: Array  # [B, A]
    value: Array  # [B, P], or [B, 3] for `wdl`
    board: Array | None  # [B, H, W, C] the last position's planes, where the configuration tells them


def walk(config: NetworkConfig, apply: Apply, observations: Array, drop: Drop = lambda x: x) -> Heads:
    """From the board to the heads."""
    x = _tower(config, apply, observations) if config.kind == "residual" else observations
    if config.units:
        x = _dense(config, apply, _flat(x), drop)
        return Heads(apply("policy.out", x), _value(config, apply, x, drop), None)
    return Heads(_policy_head(config, apply, x, drop), *_value_head(config, apply, x, drop))


def rectified(config: NetworkConfig, x: Array) -> Array:
    """The activation."""
    if config.activation == "relu":
        return jnp.maximum(x, 0)
    return jnp.where(x >= 0, x, config.slope * x)


def pooled(x: Array) -> Array:
    """Mean and maximum over the board, [B, H, W, F] -> [B, 2F]: all that is left has no size."""
    return jnp.concatenate([x.mean(axis=(1, 2)), x.max(axis=(1, 2))], axis=-1)


def _flat(x: Array) -> Array:
    return x.reshape(x.shape[0], -1)


def _tower(config: NetworkConfig, apply: Apply, x: Array) -> Array:
    x = rectified(config, apply("stem", x))
    for block in range(1, config.blocks + 1):
        x = _block(config, apply, block, x)
    return x


def _block(config: NetworkConfig, apply: Apply, block: int, x: Array) -> Array:
    y = apply(f"block{block}.first", x)
    if has_pool(config, block):  # KataGo's: some filters are pooled, and shift all others on the whole board
        seen = pooled(rectified(config, apply(f"block{block}.look", x)))
        y = y + apply(f"block{block}.tell", seen)[:, None, None, :]
    return rectified(config, x + apply(f"block{block}.second", rectified(config, y)))


def _dense(config: NetworkConfig, apply: Apply, x: Array, drop: Drop) -> Array:
    for index in range(1, len(config.units) + 1):
        y = apply(f"dense{index}", x)
        if config.skips and y.shape == x.shape:
            y = x + y
        x = drop(rectified(config, y))
    return x


def _policy_head(config: NetworkConfig, apply: Apply, x: Array, drop: Drop) -> Array:
    x = apply("policy.conv", x)
    if config.policy == "dense":
        return apply("policy.out", drop(_flat(_head_features(config, x))))
    seen = pooled(_head_features(config, x))
    x = drop(rectified(config, x + apply("policy.tell", seen)[:, None, None, :]))
    if config.policy == "columns":
        columns = jnp.concatenate([x.mean(axis=1), x.max(axis=1)], axis=-1)  # [B, W, 2F]
        return _flat(apply("policy.out", columns))
    logits = _flat(apply("policy.out", x))
    return jnp.concatenate([logits, apply("policy.extra", seen)], axis=-1) if config.policy_extra else logits


def _value_head(config: NetworkConfig, apply: Apply, x: Array, drop: Drop) -> tuple[Array, Array | None]:
    x = _head_features(config, apply("value.conv", x))
    value = _value(config, apply, pooled(x) if config.value_pool else _flat(x), drop)
    return value, apply("value.board", x) if config.last_board else None


def _head_features(config: NetworkConfig, x: Array) -> Array:
    return rectified(config, x) if config.head_norm else x


def _value(config: NetworkConfig, apply: Apply, x: Array, drop: Drop) -> Array:
    if config.value_units:
        x = drop(rectified(config, apply("value.hidden", x)))
    return apply("value.out", x)
