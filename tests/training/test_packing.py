"""Packed parameters: every optimizer changes them as it changes the parameters one by one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.networks import Variables
from tabia.training.config.schema import LearnerSettings
from tabia.training.learning.optimizer import make_optimizer
from tabia.training.learning.packing import PackedVariables, Packing

KERNELS = {
    "first": (3, 3, 16, 16),
    "second": (3, 3, 16, 16),
    "depthwise": (3, 3, 1, 16),
    "dense": (40, 18),
    "cells": (2, 20, 20),
    "more cells": (2, 20, 20),
    "thin": (40, 3),
    "also thin": (40, 3),
}
"""Of every kind that Muon treats differently; some of equal shape."""


def _tree(key: jax.Array) -> dict:
    keys = iter(jax.random.split(key, 3 * len(KERNELS)))
    return {
        name: {
            "linear": {"kernel": jax.random.normal(next(keys), shape)},
            "norm": {one: jax.random.normal(next(keys), shape[-1:]) for one in ("bias", "scale")},
        }
        for name, shape in KERNELS.items()
    }


def test_equal_kernels_are_stacked_and_the_rest_is_one_vector() -> None:
    packed = Packing.of(tree := _tree(jax.random.key(0))).pack(tree)
    assert packed["3 x 3 x 16 x 16"]["kernels"].shape == (2, 3, 3, 16, 16)
    assert packed["40 x 18"]["kernels"].shape == (1, 40, 18)
    assert packed["vectors"].shape == (2 * sum(shape[-1] for shape in KERNELS.values()),)
    assert len(jax.tree.leaves(packed)) == 6


def test_what_is_packed_is_unpacked() -> None:
    variables = Variables(_tree(jax.random.key(0)), {"first": {"norm": {"mean": jnp.ones(3), "var": jnp.zeros(2)}}})
    form = PackedVariables.of(variables)
    jax.tree.map(np.testing.assert_array_equal, form.unpack(form.pack(variables)), variables)
    bare = Variables({"dense": {"linear": {"kernel": jnp.ones((2, 3))}}}, {})  # without biases and normalization
    form = PackedVariables.of(bare)
    jax.tree.map(np.testing.assert_array_equal, form.unpack(form.pack(bare)), bare)


@pytest.mark.parametrize("optimizer", ["adam", "adamw", "sgd", "muon"])
def test_optimizers_change_packed_parameters_alike(optimizer: str) -> None:
    """In each of three steps, the updates and the state after it are those of parameters that are not packed."""
    transform = make_optimizer(LearnerSettings(optimizer=optimizer, weight_decay=0.1, gradient_clip=1.0))
    params = _tree(jax.random.key(0))
    packing, state = Packing.of(params), transform.init(params)
    for number in range(3):
        gradient = _tree(jax.random.key(1 + number))
        packed_state = packing.pack_state(state)
        jax.tree.map(np.testing.assert_array_equal, packing.unpack_state(packed_state), state)
        found, packed_state = transform.update(packing.pack(gradient), packed_state, packing.pack(params))
        updates, state = transform.update(gradient, state, params)
        jax.tree.map(_almost_equal, packing.unpack(found), updates)
        jax.tree.map(_almost_equal, packing.unpack_state(packed_state), state)


def _almost_equal(one: jax.Array, other: jax.Array) -> None:
    """Up to the rounding of products of matrices and of the gradient's norm, which are summed in another order."""
    np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
