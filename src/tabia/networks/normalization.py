"""Batch normalization in training, with a gradient of its own that passes over the features only twice.

y = scale * z + bias,  z = (x - mean) / sqrt(var + e)

The gradient of the loss L with respect to x follows from two sums over the batch (Ioffe & Szegedy 2015):

dL/dbias = sum dL/dy,  dL/dscale = sum z dL/dy
dL/dx = scale / sqrt(var + e) * (dL/dy - dL/dbias / n - z dL/dscale / n)

Axis letters: F features, the last axis; all axes before it are the batch.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array, lax

from tabia.core import devices

EPSILON = 1e-5
"""Added to a variance before the square root."""


class Normalized(NamedTuple):
    """Normalized features, and the statistics of their batch."""

    features: Array  # [..., F] in the type of x
    mean: Array  # float32[F]
    var: Array  # float32[F]


def along_channels(vector: Array, ndim: int) -> Array:
    """A vector of channels in the shape of an array with its channels last, for sums and products with it."""
    return vector.reshape((1,) * (ndim - 1) + (-1,))


def with_statistics(x: Array, mean: Array, var: Array, scale: Array, bias: Array) -> Array:
    """The features x [..., F] normalized by this mean and variance, in the type of x."""
    ratio = lax.rsqrt(var + EPSILON) * scale
    y = (x.astype(jnp.float32) - along_channels(mean, x.ndim)) * along_channels(ratio, x.ndim) + along_channels(
        bias, x.ndim
    )
    return y.astype(x.dtype)


@jax.custom_vjp
def normalize(x: Array, scale: Array, bias: Array) -> Normalized:
    """The features x [..., F] with mean `bias` and deviation `scale`; sums are in float32.

    The statistics have no gradient: they are for inference, not for the loss.
    """
    return _forward(x, scale, bias)[0]


_Saved = tuple[Array, Array, Array, Array]  # x, mean, 1 / sqrt(var + e), scale


def _forward(x: Array, scale: Array, bias: Array) -> tuple[Normalized, _Saved]:
    wide = x.astype(jnp.float32)
    count = _count(x)
    total, squares = _sums(wide, wide * wide)
    mean = total / count
    var = jnp.maximum(squares / count - mean * mean, 0.0)
    return Normalized(with_statistics(x, mean, var, scale, bias), mean, var), (x, mean, lax.rsqrt(var + EPSILON), scale)


def _backward(saved: _Saved, gradient: Normalized) -> tuple[Array, Array, Array]:
    x, mean, inverse, scale = saved
    dy = gradient.features.astype(jnp.float32)
    z = (x.astype(jnp.float32) - along_channels(mean, x.ndim)) * along_channels(inverse, x.ndim)
    bias_gradient, scale_gradient = _sums(dy, dy * z)
    centered = (
        dy - along_channels(bias_gradient / _count(x), x.ndim) - z * along_channels(scale_gradient / _count(x), x.ndim)
    )
    return (along_channels(scale * inverse, x.ndim) * centered).astype(x.dtype), scale_gradient, bias_gradient


normalize.defvjp(_forward, _backward)


def _sums(one: Array, other: Array) -> tuple[Array, Array]:
    """The sums over the batch of two arrays of one shape.

    On a GPU in one pass, which starts fewer kernels; on a CPU as products with ones, which take a third of the time.
    Several devices would first gather what each of them has.
    """
    if devices.count() > 1:
        return jnp.sum(one, _batch_axes(one)), jnp.sum(other, _batch_axes(other))
    if jax.default_backend() == "cpu":
        ones = jnp.ones(_count(one), one.dtype)
        return ones @ one.reshape(-1, one.shape[-1]), ones @ other.reshape(-1, other.shape[-1])
    zero = jnp.zeros((), one.dtype)
    return lax.reduce((one, other), (zero, zero), lambda x, y: (x[0] + y[0], x[1] + y[1]), _batch_axes(one))


def _batch_axes(x: Array) -> tuple[int, ...]:
    return tuple(range(x.ndim - 1))


def _count(x: Array) -> int:
    return math.prod(x.shape[:-1])
