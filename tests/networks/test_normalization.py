"""Batch normalization against Flax: features, statistics and gradients."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from flax import nnx
from jax import Array
from jax.typing import DTypeLike

from tabia.networks.normalization import EPSILON, normalize, with_statistics

Gradients = tuple[Array, Array, Array]  # of x, scale and bias


def flax(x: Array, scale: Array, bias: Array) -> tuple[Array, nnx.BatchNorm]:
    module = nnx.BatchNorm(
        len(scale), momentum=0.0, epsilon=EPSILON, dtype=x.dtype, use_fast_variance=False, rngs=nnx.Rngs(0)
    )
    module.scale, module.bias = nnx.Param(scale), nnx.Param(bias)
    return module(x, use_running_average=False), module


@pytest.mark.parametrize(
    ("dtype", "tolerance"),
    [(jnp.float32, 2e-5), (jnp.bfloat16, 2**-7)],  # rounding errors of sums; of the last digit of bfloat16, twice
)
@pytest.mark.parametrize(
    ("shape", "backend"),
    [((16, 5, 4, 3), "cpu"), ((16, 5, 4, 3), "gpu"), pytest.param((32, 3), "cpu", marks=pytest.mark.long)],
)
def test_equals_flax(
    shape: tuple[int, ...], backend: str, dtype: DTypeLike, tolerance: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jax, "default_backend", lambda: backend)  # which decides how the sums are computed
    keys = jax.random.split(jax.random.key(0), 4)
    x = (2.0 + 3.0 * jax.random.normal(keys[0], shape)).astype(dtype)
    scale, bias = jax.random.normal(keys[1], (3,)), jax.random.normal(keys[2], (3,))
    weights = jax.random.normal(keys[3], shape)

    def ours(x: Array, scale: Array, bias: Array) -> Array:
        return jnp.sum(weights * normalize(x, scale, bias).features.astype(jnp.float32))

    def theirs(x: Array, scale: Array, bias: Array) -> Array:
        return jnp.sum(weights * flax(x, scale, bias)[0].astype(jnp.float32))

    found, (expected, module) = normalize(x, scale, bias), flax(x, scale, bias)
    assert found.features.dtype == dtype and found.mean.dtype == jnp.float32
    close(found.features, expected, tolerance)
    close(found.mean, module.mean[...], 1e-5)
    close(found.var, module.var[...], 1e-5)
    close(with_statistics(x, found.mean, found.var, scale, bias), expected, tolerance)
    gradients: tuple[Gradients, Gradients] = tuple(
        jax.grad(loss, argnums=(0, 1, 2))(x, scale, bias) for loss in (ours, theirs)
    )
    for one, other in zip(*gradients, strict=True):
        assert one.dtype == other.dtype
        close(one, other, tolerance)


def test_features_that_never_vary_become_their_bias() -> None:
    """The variance is not negative by rounding, and neither features nor gradients are NaN."""
    x, scale, bias = jnp.full((64, 2), 1234.567), jnp.ones(2), jnp.array([0.5, -0.5])
    found, backward = jax.vjp(lambda x: normalize(x, scale, bias).features, x)
    assert float(normalize(x, scale, bias).var.min()) >= 0.0
    np.testing.assert_allclose(found, jnp.broadcast_to(bias, x.shape), atol=0.1)  # (x - mean) / sqrt(1e-5)
    assert np.isfinite(np.asarray(backward(jnp.ones_like(found))[0])).all()


def close(one: Array, other: Array, tolerance: float) -> None:
    """Equal up to this part of the largest number."""
    one, other = np.asarray(one, np.float64), np.asarray(other, np.float64)
    np.testing.assert_allclose(one, other, rtol=tolerance, atol=tolerance * float(np.abs(other).max()))
