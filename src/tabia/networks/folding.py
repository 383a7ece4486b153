"""Networks for inference: batch normalization folded into the layer before it, nothing left but multiply and add.

scale * (W x + b - mean) / sqrt(var + e) + shift  =  W' x + b'
W' = W * r,  b' = (b - mean) * r + shift,  r = scale / sqrt(var + e)
"""

from __future__ import annotations

import jax.numpy as jnp
from jax import Array, lax
from jax.typing import DTypeLike

from tabia.networks.layers import Layer
from tabia.networks.training_layers import EPSILON, Tree

Folded = dict[str, dict[str, Array]]  # layer's name -> kernel, bias


def fold(layers: tuple[Layer, ...], params: Tree, statistics: Tree, dtype: DTypeLike) -> Folded:
    """Every layer's kernel and bias, computed in float32 and then kept in `dtype` (heads' last steps in float32)."""
    return {layer.name: _fold(layer, params[layer.name], statistics.get(layer.name, {}), dtype) for layer in layers}


def _fold(layer: Layer, params: Tree, statistics: Tree, dtype: DTypeLike) -> dict[str, Array]:
    kernel = params["linear"]["kernel"].astype(jnp.float32)
    bias = params["linear"]["bias"] if layer.bias else jnp.zeros(layer.outputs, jnp.float32)
    if layer.norm:
        norm, moving = params["norm"], statistics["norm"]
        ratio = norm["scale"] * lax.rsqrt(moving["var"] + EPSILON)
        kernel = kernel * ratio.reshape((1,) * (kernel.ndim - 1) + (-1,))
        bias = (bias - moving["mean"]) * ratio + norm["bias"]
    kept = jnp.float32 if layer.exact else dtype
    return {"kernel": kernel.astype(kept), "bias": bias.astype(kept)}


def apply(folded: Folded, name: str, x: Array) -> Array:
    """One folded layer, in the type of its kernel."""
    kernel, bias = folded[name]["kernel"], folded[name]["bias"]
    x = x.astype(kernel.dtype)
    y = _convolved(x, kernel) if kernel.ndim == 4 else x @ kernel
    return y + bias.reshape((1,) * (y.ndim - 1) + (-1,))


def _convolved(x: Array, kernel: Array) -> Array:
    return lax.conv_general_dilated(
        x, kernel, window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
