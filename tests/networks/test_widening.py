"""Widening: the same function before and after, and networks that cannot be widened exactly."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia.networks import Network, NetworkConfig, NetworkError, Tree, Variables
from tabia.networks.presets import any_size, dense, schulte, tower
from tabia.networks.widening import Widening

from .zoo import BOARD, boards, trained

KEY = jax.random.key(3)
# Sums have more terms, all zero, so XLA may add the others in another order: a few roundings of float32 (6e-8) per
# layer, relative to the largest term.
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-4}

CASES: dict[str, tuple[NetworkConfig, dict[str, int], int]] = {
    "residual, columns": (any_size(8, 1, policy="columns").changed(pool_every=1), {"filters": 17, "blocks": 2}, 5),
    "leaky, no normalization": (
        tower(6, 1).changed(activation="leaky_relu", batch_norm=False, final_position=True),
        {"filters": 9},
        6,
    ),
    "dense units": (schulte(0, 6).changed(units=(16, 16), dropout=0.0), {"filters": 9}, 6),
    "bottleneck": (tower(8, 1).changed(kind="bottleneck", batch_norm=False), {"filters": 14, "blocks": 2}, 6),
    "mixer": (tower(8, 1).changed(kind="mixer", group_filters=4), {"filters": 12, "blocks": 2}, 6),
    "attention": (tower(8, 1).changed(kind="attention", head_filters=4), {"filters": 16, "blocks": 2}, 6),
    "gated, leaky": (tower(6, 1).changed(kind="gated", activation="leaky_relu"), {"filters": 9, "blocks": 2}, 6),
}


@partial(jax.jit, static_argnums=0)
def compute(network: Network, variables: Variables, observations: Array) -> tuple[Any, Tree]:
    """The outputs in training, with running statistics, and folded; and the new statistics."""
    training, statistics = network.apply(variables, observations, train=True)
    playing, _ = network.apply(variables, observations)
    return (training, playing, network.forward(network.fold(variables), observations)), statistics


@pytest.mark.parametrize("name", CASES)
def test_the_wider_network_computes_the_same(name: str) -> None:
    config, sizes, actions = CASES[name]
    old, new = (Network(each, BOARD, actions, 2) for each in (config, config.changed(**sizes)))
    widening, variables, observations = Widening(old, new), trained(old), boards(old, 16)
    wide = jax.jit(widening.variables)(variables, KEY)
    assert jax.tree.map(jnp.shape, wide) == jax.tree.map(jnp.shape, jax.eval_shape(new.init, KEY))
    (before, statistics), (after, updated) = (compute(*each, observations) for each in ((old, variables), (new, wide)))
    for one, other in zip(jax.tree.leaves(before), jax.tree.leaves(after), strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)
    _assert_contains(widening, updated, statistics)


def _assert_contains(widening: Widening, new: Tree, old: Tree) -> None:
    """The arrays of the old network are in their places: putting them there changes nothing."""
    for expected, found in zip(jax.tree.leaves(widening._placed(old, new)), jax.tree.leaves(new), strict=True):
        np.testing.assert_allclose(found, expected, **CLOSE)


@partial(jax.jit, static_argnums=0)
def gradient_of(network: Network, variables: Variables, observations: Array) -> Tree:
    def loss(params: Tree) -> Array:
        outputs, _ = network.apply(Variables(params, variables.statistics), observations, train=True)
        return jnp.square(outputs.logits).mean() + jnp.square(outputs.values - 0.3).mean()

    return jax.grad(loss)(variables.params)


def test_old_weights_keep_their_gradient_and_new_ones_are_learned() -> None:
    """At first only the weights that read new filters have a gradient; one step later all new weights have one."""
    old, new = (Network(tower(filters, filters // 4), BOARD, 6, 2) for filters in (4, 8))
    widening, variables, observations = Widening(old, new), trained(old), boards(old, 16)
    wide = jax.jit(widening.variables)(variables, KEY)
    gradient = gradient_of(new, wide, observations)
    _assert_contains(widening, gradient, gradient_of(old, variables, observations))
    assert bool(jnp.all(jnp.any(gradient["policy.conv"]["linear"]["kernel"][..., 4:, :] != 0, axis=-1)))
    assert not bool(jnp.any(gradient["stem"]["linear"]["kernel"][..., 4:] != 0))
    params = jax.tree.map(lambda leaf, step: leaf - 0.1 * step, wide.params, gradient)
    later = gradient_of(new, Variables(params, wide.statistics), observations)
    assert bool(jnp.any(later["stem"]["linear"]["kernel"][..., 4:] != 0))
    assert bool(jnp.any(later["block2.first"]["linear"]["kernel"] != 0))


@pytest.mark.parametrize(
    ("config", "changes", "sentence"),
    [
        (tower(8, 2), {"filters": 6}, "not narrowed: it has 8 filters, not 6"),
        (tower(8, 2), {"blocks": 1}, "not narrowed: it has 2 blocks, not 1"),
        (tower(8, 2), {"filters": 16, "kernel": 5}, "to more filters and blocks; nothing else may change"),
        (tower(8, 2).changed(activation="leaky_relu"), {"blocks": 3}, "end with leaky_relu cannot be added exactly"),
        (dense(4, 80, 2), {"filters": 8}, "a dense layer with a skip would lose it"),
    ],
)
def test_what_cannot_be_widened_exactly_is_refused(
    config: NetworkConfig, changes: dict[str, int], sentence: str
) -> None:
    with pytest.raises(NetworkError, match=sentence):
        Widening(Network(config, BOARD, 6, 2), Network(config.changed(**changes), BOARD, 6, 2))
