"""Widening: the same function before and after, and networks that cannot be widened exactly."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia.networks import Network, NetworkConfig, NetworkError, Outputs, Tree, Variables
from tabia.networks.presets import any_size, dense, schulte, tower
from tabia.networks.widening import Widening

from .zoo import BOARD, boards, trained

KEY = jax.random.key(3)
# Sums have more terms, all zero, so XLA may add the others in another order: a few roundings of float32 (6e-8) per
# layer, relative to the largest term.
CLOSE: dict[str, Any] = {"rtol": 1e-4, "atol": 1e-4}

CASES: dict[str, tuple[NetworkConfig, dict[str, int], int]] = {
    "residual": (tower(8, 2), {"filters": 12, "blocks": 4}, 6),
    "pooling, columns": (any_size(8, 2, policy="columns").changed(pool_every=2), {"filters": 17, "blocks": 4}, 5),
    "pooling, cells and a pass": (any_size(8, 1, policy_extra=1).changed(pool_every=1), {"filters": 12}, 21),
    "leaky, no normalization": (
        tower(6, 1).changed(activation="leaky_relu", batch_norm=False, final_position=True),
        {"filters": 9},
        6,
    ),
    "blocks, no normalization": (tower(6, 1).changed(batch_norm=False), {"blocks": 2}, 6),
    "dense units": (schulte(1, 6).changed(units=(16, 16), dropout=0.0), {"filters": 9, "blocks": 2}, 6),
    "bottleneck": (tower(8, 1).changed(kind="bottleneck", pool_every=1), {"filters": 14, "blocks": 2}, 6),
    "mixer": (tower(8, 1).changed(kind="mixer", group_filters=4), {"filters": 12, "blocks": 2}, 6),
    "attention": (tower(8, 1).changed(kind="attention", head_filters=4), {"filters": 16, "blocks": 2}, 6),
    "gated, leaky": (
        tower(6, 1).changed(kind="gated", activation="leaky_relu"),
        {"filters": 9, "blocks": 2},
        6,
    ),
}


class Measured(NamedTuple):
    """What a network computes, and what it would learn."""

    outputs: tuple[Any, ...]  # in training, with running statistics, and folded
    updated: tuple[Tree, Tree]  # the statistics, and the gradient of a loss


@partial(jax.jit, static_argnums=0)
def measure(network: Network, variables: Variables, observations: Array) -> Measured:
    def loss(params: Tree) -> tuple[Array, tuple[Outputs, Tree]]:
        outputs, statistics = network.apply(Variables(params, variables.statistics), observations, train=True)
        return jnp.square(outputs.logits).mean() + jnp.square(outputs.values - 0.3).mean(), (outputs, statistics)

    gradient, (training, statistics) = jax.grad(loss, has_aux=True)(variables.params)
    playing, _ = network.apply(variables, observations)
    folded = network.forward(network.fold(variables), observations)
    return Measured((training, playing, folded), (statistics, gradient))


@pytest.mark.parametrize("name", CASES)
def test_the_function_and_the_gradient_of_old_weights_stay_the_same(name: str) -> None:
    config, sizes, actions = CASES[name]
    old, new = (Network(each, BOARD, actions, 2) for each in (config, config.changed(**sizes)))
    widening, variables, observations = Widening(old, new), trained(old), boards(old, 16)
    wide = jax.jit(widening.variables)(variables, KEY)
    assert jax.tree.map(jnp.shape, wide) == jax.tree.map(jnp.shape, jax.eval_shape(new.init, KEY))
    before, after = measure(old, variables, observations), measure(new, wide, observations)
    for one, other in zip(jax.tree.leaves(before.outputs), jax.tree.leaves(after.outputs), strict=True):
        np.testing.assert_allclose(one, other, **CLOSE)
    for one, other in zip(before.updated, after.updated, strict=True):
        placed = widening._placed(one, other)  # changes nothing if the old numbers are there already
        for expected, found in zip(jax.tree.leaves(placed), jax.tree.leaves(other), strict=True):
            np.testing.assert_allclose(found, expected, **CLOSE)
    assert _new_parts(old, new) <= _learned(after.updated[1])


def _new_parts(old: Network, new: Network) -> set[str]:
    """The new blocks, by name."""
    return {layer.name.split(".")[0] for layer in new.layers} - {layer.name.split(".")[0] for layer in old.layers}


def _learned(gradient: Tree) -> set[str]:
    """The blocks and heads with a gradient, by name."""
    return {path[0].key.split(".")[0] for path, leaf in jax.tree.leaves_with_path(gradient) if bool(jnp.any(leaf != 0))}


def test_new_filters_are_learned_once_they_are_read() -> None:
    """At first only the weights that read them have a gradient; one step later all weights have."""
    old, new = (Network(tower(filters, 1), BOARD, 6, 2) for filters in (4, 6))
    variables = Widening(old, new).variables(trained(old), KEY)
    observations = boards(old, 16)
    for whole in (False, True):
        gradient = measure(new, variables, observations).updated[1]
        assert bool(jnp.all(jnp.any(gradient["policy.conv"]["linear"]["kernel"][..., 4:, :] != 0, axis=-1)))
        assert bool(jnp.any(gradient["stem"]["linear"]["kernel"][..., 4:] != 0)) == whole
        params = jax.tree.map(lambda leaf, step: leaf - 0.1 * step, variables.params, gradient)
        variables = Variables(params, variables.statistics)


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
