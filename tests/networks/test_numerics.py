"""Convolutions of a device are compared with sums of matrix products, and wrong ones are found."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia.networks import numerics
from tabia.networks.layers import Layer
from tabia.training import limits
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tests.training.conftest import TINY

BOARD = (4, 5)


class Broken(Layer):
    """A convolution with a gradient of its own."""

    change: Callable[[Array, Array], tuple[Array, Array]]

    def product(self, x: Array, kernel: Array) -> Array:
        return _broken(self.change)(x, kernel)


def _broken(change: Callable[[Array, Array], tuple[Array, Array]]) -> Callable[[Array, Array], Array]:
    convolve = jax.custom_vjp(numerics.products)
    convolve.defvjp(lambda x, kernel: jax.vjp(numerics.products, x, kernel), lambda backward, dy: change(*backward(dy)))
    return convolve


@pytest.mark.parametrize(("kernel", "columns"), [pytest.param(1, 0, marks=pytest.mark.long), (3, 0), (3, 4)])
@pytest.mark.parametrize(("dtype", "most"), [(jnp.float32, 1e-5), (jnp.bfloat16, 0.02)])
def test_sums_of_products_are_convolutions(kernel: int, columns: int, dtype: np.dtype, most: float) -> None:
    assert numerics.error(Layer("conv", 3, 8, kernel=kernel, columns=columns), BOARD, 16, dtype) < most


@pytest.mark.parametrize(
    "change",
    [
        lambda dx, dkernel: (dx, jnp.zeros_like(dkernel)),
        lambda dx, dkernel: (dx, dkernel.at[..., -1].multiply(0.0)),  # one of eight filters
        lambda dx, dkernel: (jnp.roll(dx, 1, axis=1), dkernel),
        lambda dx, dkernel: (dx * jnp.nan, dkernel),
    ],
    ids=["no kernel", "one filter", "another row", "nan"],
)
def test_wrong_gradients_are_found(change: Callable[[Array, Array], tuple[Array, Array]]) -> None:
    layer = Broken("conv", 3, 8, kernel=3)
    object.__setattr__(layer, "change", change)
    assert numerics.error(layer, BOARD, 16, jnp.float32) > numerics.TOLERANCE


def test_a_run_on_a_device_with_wrong_convolutions_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(TINY.changed({"network.kind": "residual", "network.blocks": 1, "network.filters": 8}))
    asked: list[tuple[int, int]] = []

    def error(layer: Layer, board: tuple[int, int], batch: int, dtype: np.dtype) -> float:
        asked.append((layer.inputs, layer.outputs))
        assert batch == plan.config.learner.batch_size
        return 0.9 if layer.inputs == 8 else 0.001

    monkeypatch.setattr(limits, "_numerical_error", error)
    limits.check_numerics(plan)
    assert not asked  # nothing to check on a CPU
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    with pytest.raises(TrainingError, match=r"3 x 3 convolutions from 8 to 8 filters in bfloat16 wrongly: .* is 0\.90"):
        limits.check_numerics(plan)
    assert asked == [(plan.network.observation_shape[2], 8), (8, 8)]
