"""Whether a device computes convolutions and their gradients correctly.

Libraries for GPUs choose among many programs for a convolution, by its sizes and type, and releases of them have had
programs with wrong results that raise no error: a network then plays, but hardly learns. Here a convolution is compared
with a sum of matrix products, which does not use those programs.
Axis letters: B batch, H rows, W columns, I inputs, O outputs.
"""

from __future__ import annotations

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array, lax
from jax.typing import DTypeLike

from tabia.networks.layers import Layer

TOLERANCE = 0.1
"""The largest relative error of a correct program; half precision makes errors below 0.01, wrong programs about 1."""
_MOST_NUMBERS = 2**26  # of a feature map: a quarter of a gigabyte in float32


def error(layer: Layer, board: tuple[int, int], batch: int, dtype: DTypeLike) -> float:
    """The largest relative error of the convolution and of its gradients, for random features in `dtype`."""
    most = _MOST_NUMBERS // (math.prod(board) * max(layer.inputs, layer.outputs))
    return float(_error(layer, board, max(1, min(batch, most)), jnp.dtype(dtype)))


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _error(layer: Layer, board: tuple[int, int], batch: int, dtype: DTypeLike) -> Array:
    keys = jax.random.split(jax.random.key(0), 3)
    shapes = (batch, *board, layer.inputs), layer.kernel_shape, (batch, *board, layer.outputs)
    x, kernel, gradient = (jax.random.normal(key, shape).astype(dtype) for key, shape in zip(keys, shapes, strict=True))
    y, backward = jax.vjp(layer.product, x, kernel)
    wide = (x.astype(jnp.float32), kernel.astype(jnp.float32))
    expected, expected_backward = jax.vjp(products, *wide)
    pairs = [(y, expected), *zip(backward(gradient), expected_backward(gradient.astype(jnp.float32)), strict=True)]
    return jnp.max(jnp.stack([_relative(found, right) for found, right in pairs]))


def products(x: Array, kernel: Array) -> Array:
    """A convolution of x [B, H, W, I] as a sum of products with the matrices [I, O] of its kernel."""
    (height, width), (rows, columns) = x.shape[1:3], kernel.shape[:2]
    wide = jnp.pad(x, [(0, 0), *(((size - 1) // 2, size // 2) for size in (rows, columns)), (0, 0)])
    y = jnp.zeros((*x.shape[:-1], kernel.shape[-1]), x.dtype)
    for row, column in itertools.product(range(rows), range(columns)):
        part = wide[:, row : row + height, column : column + width]
        y += jnp.einsum("bhwi,io->bhwo", part, kernel[row, column], precision=lax.Precision.HIGHEST)
    return y


def _relative(found: Array, expected: Array) -> Array:
    difference = jnp.linalg.norm((found.astype(jnp.float32) - expected).ravel())
    return jnp.nan_to_num(difference / jnp.linalg.norm(expected.ravel()), nan=jnp.inf)
