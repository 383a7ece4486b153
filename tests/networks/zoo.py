"""The networks the tests look at: every preset, small, and every option at least once."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tabia.networks import Network, NetworkConfig, Variables
from tabia.networks.presets import any_size, dense, mlp, s1, s2, s3, s5, tower

BOARD = (4, 5, 2)

ZOO: dict[str, Network] = {
    "s1": Network(s1(2, 8), BOARD, 6, 2),
    "s2": Network(s2(2, 7), BOARD, 6, 2),
    "s3": Network(s3(2, 8).changed(units=(16, 16)), BOARD, 11, 3),
    "s5": Network(s5(8, 2), BOARD, 6, 2),
    "tower": Network(tower(8, 2), BOARD, 6, 2),
    "tower, wdl": Network(tower(8, 2, value="wdl"), BOARD, 6, 2),
    "tower, no normalisation": Network(tower(8, 3).changed(batch_norm=False), BOARD, 6, 2),
    "tower, 5 x 5, dropout": Network(tower(8, 1).changed(kernel=5, dropout=0.4), BOARD, 6, 4),
    "tower, no bias, no hidden": Network(tower(8, 1).changed(bias=False, value_units=0), BOARD, 6, 1),
    "cells": Network(any_size(8, 3), BOARD, 20, 2),
    "cells, planes and pass": Network(any_size(8, 2, policy_planes=3, policy_extra=2), BOARD, 62, 3),
    "columns": Network(any_size(8, 3, policy="columns", value="wdl").changed(activation="leaky_relu"), BOARD, 5, 2),
    "columns, plain heads": Network(any_size(8, 1, policy="columns").changed(head_norm=False), BOARD, 5, 2),
    "mlp": Network(mlp(16, 12), BOARD, 6, 2),
    "mlp, no normalisation": Network(mlp(16, value="wdl", batch_norm=False), BOARD, 6, 2),
    "dense": Network(dense(4, 16, 3), BOARD, 6, 2),
}  # fmt: skip


def lived_in(network: Network, key: Array) -> Variables:
    """Variables as after much training: nothing is zero, nothing is one, variances are far from each other."""
    variables = network.init(key)
    leaves, tree = jax.tree.flatten_with_path(variables)
    keys = jax.random.split(key, len(leaves))
    return jax.tree.unflatten(tree, [_lived(path, leaf, k) for (path, leaf), k in zip(leaves, keys, strict=True)])


def _lived(path: tuple[jax.tree_util.KeyEntry, ...], leaf: Array, key: Array) -> Array:
    match str(path[-1].key):  # type: ignore[attr-defined]
        case "kernel":
            return jax.random.normal(key, leaf.shape) * (2.0 / (leaf.size / leaf.shape[-1])) ** 0.5
        case "var":
            return jnp.exp(jax.random.normal(key, leaf.shape))
        case "scale":
            return 1.0 + 0.3 * jax.random.normal(key, leaf.shape)
        case _:
            return 0.5 * jax.random.normal(key, leaf.shape)


def boards(network: Network, count: int, key: Array) -> Array:
    """Boards of stones, half of the cells empty."""
    return jax.random.bernoulli(key, 0.4, (count, *network.observation_shape)).astype(jnp.float32)


def config_of(name: str) -> NetworkConfig:
    return ZOO[name].config
