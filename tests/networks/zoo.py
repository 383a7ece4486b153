"""Networks for tests: every preset, small, and every option at least once."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.networks import Network, Variables
from tabia.networks.presets import (
    any_size,
    dense,
    glimmerfors,
    goldberg_ishay,
    mlp,
    sanz_villanueva,
    schulte,
    tower,
    wandhoven,
)

BOARD = (4, 5, 2)

ZOO: dict[str, Network] = {
    "sanz_villanueva": Network(sanz_villanueva(1, 8), BOARD, 6, 2),
    "wandhoven": Network(wandhoven(1, 7), BOARD, 6, 2),
    "schulte": Network(schulte(1, 8).changed(units=(16, 16)), BOARD, 11, 3),
    "glimmerfors": Network(glimmerfors(8, 1), BOARD, 6, 2),
    "tower": Network(tower(8, 2), BOARD, 6, 2),
    "tower, wdl": Network(tower(8, 1, value="wdl"), BOARD, 6, 2),
    "tower, final position": Network(tower(8, 1).changed(final_position=True), BOARD, 6, 2),
    "tower, no normalization": Network(tower(8, 2).changed(batch_norm=False), BOARD, 6, 2),
    "tower, 5 x 5, dropout": Network(tower(8, 1).changed(kernel=5, dropout=0.4), BOARD, 6, 4),
    "tower, no bias, no hidden": Network(tower(8, 1).changed(bias=False, value_units=0), BOARD, 6, 1),
    "cells": Network(any_size(8, 2).changed(pool_every=2), BOARD, 20, 2),
    "cells, planes and pass": Network(any_size(8, 1, policy_planes=3, policy_extra=2), BOARD, 62, 3),
    "columns": Network(
        any_size(8, 1, policy="columns", value="wdl").changed(activation="leaky_relu", pool_every=1), BOARD, 5, 2
    ),
    "columns, plain heads": Network(any_size(8, 1, policy="columns").changed(head_norm=False), BOARD, 5, 2),
    "mlp": Network(mlp(16, 12), BOARD, 6, 2),
    "mlp, no normalization": Network(mlp(16, value="wdl", batch_norm=False), BOARD, 6, 2),
    "goldberg_ishay": Network(goldberg_ishay().changed(convolutions=(3, 5), units=(16,)), (4, 5, 1), 6, 2),
    "tower, 3 x 4": Network(tower(8, 1).changed(kernel_columns=4), BOARD, 6, 2),
    "bottleneck": Network(tower(16, 2).changed(kind="bottleneck", pool_every=2), BOARD, 6, 2),
    "bottleneck, columns, no normalization": Network(
        any_size(9, 1, policy="columns").changed(kind="bottleneck", inner_blocks=1, pool_every=1, batch_norm=False),
        BOARD,
        5,
        2,
    ),
    "mixer": Network(tower(16, 2).changed(kind="mixer"), BOARD, 6, 2),
    "mixer, leaky, no normalization": Network(
        tower(6, 1, value="wdl").changed(kind="mixer", group_filters=2, activation="leaky_relu", batch_norm=False),
        BOARD,
        6,
        2,
    ),
    "attention": Network(tower(16, 2).changed(kind="attention", head_filters=8), BOARD, 6, 2),
    "attention, no normalization": Network(
        tower(6, 1).changed(kind="attention", head_filters=6, expansion=1, batch_norm=False, bias=False), BOARD, 6, 2
    ),
    "gated": Network(tower(8, 2).changed(kind="gated", expansion=3), BOARD, 6, 2),
    "gated, columns, 5 x 4, no normalization": Network(
        any_size(6, 1, policy="columns").changed(kind="gated", kernel=5, kernel_columns=4, batch_norm=False),
        BOARD,
        5,
        2,
    ),
    "dense": Network(dense(4, 16, 3), BOARD, 6, 2),
}


def trained(network: Network, seed: int = 7) -> Variables:
    """Random variables like those of a trained network: no zeros, no ones, very different variances."""
    generator = np.random.default_rng(seed)
    shapes = jax.eval_shape(network.init, jax.random.key(0))
    return jax.tree.map_with_path(lambda path, leaf: _random(path[-1].key, leaf.shape, generator), shapes)


def _random(name: str, shape: tuple[int, ...], generator: np.random.Generator) -> Array:
    draws = generator.normal(size=shape).astype(np.float32)
    match name:
        case "kernel":
            return jnp.asarray(draws * np.sqrt(2.0 * shape[-1] / draws.size, dtype=np.float32))
        case "var":
            return jnp.asarray(np.exp(draws))
        case "scale":
            return jnp.asarray(1.0 + 0.3 * draws)
        case _:
            return jnp.asarray(0.5 * draws)


def boards(network: Network, count: int, seed: int = 7) -> Array:
    """Random boards with most cells empty."""
    stones = np.random.default_rng(seed).random((count, *network.observation_shape)) < 0.4
    return jnp.asarray(stones.astype(np.float32))
