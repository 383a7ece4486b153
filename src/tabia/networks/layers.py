"""A layer: one convolution or dense product with its bias and batch normalization. Others are in `cell_layers.py`.

A layer declares the shapes of its parameters, draws its first weights, applies itself in training (Flax), and folds
its normalization away for inference:

scale * (W x + b - mean) / sqrt(var + e) + shift  =  W' x + b'
W' = W * r,  b' = (b - mean) * r + shift,  r = scale / sqrt(var + e)
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array, lax
from jax.typing import DTypeLike

from tabia.networks.normalization import EPSILON, along_channels, normalize, with_statistics

Shape = tuple[int, ...]
LayerTree = dict[str, dict[str, Array]]  # "linear" or "norm" -> name -> array
Tree = dict[str, LayerTree]  # layer's name -> its arrays
FoldedLayer = dict[str, Array]  # "kernel", "bias", and POINTS after `Network.prepare`
POINTS = "points"
"""The kernel of a convolution as `winograd.py` uses it."""
Folded = dict[str, FoldedLayer]  # layer's name -> its arrays


def without_points(folded: Folded) -> Folded:
    """The same weights for plain convolutions, whose sums are the most exact."""
    return {name: {leaf: array for leaf, array in leaves.items() if leaf != POINTS} for name, leaves in folded.items()}


@dataclass(frozen=True)
class Layer:
    """The declaration of one layer; it holds no weights."""

    name: str  # also the prefix of its tensors in weights files
    inputs: int
    outputs: int
    kernel: int = 0  # rows of a convolution's kernel; 0: a dense layer
    norm: bool = False  # batch normalization follows
    bias: bool = True
    exact: bool = False  # computes in float32 where the rest runs in half precision
    gain: float = 2.0  # variance of the first weights times the number of inputs; 2 is He's, for rectified features
    columns: int = 0  # of the kernel; 0: as many as rows
    is_plain: ClassVar[bool] = True
    """A convolution or a dense product; Winograd's method and 8 bits are for networks of such layers alone."""

    @property
    def window(self) -> tuple[int, ...]:
        """Rows and columns of the kernel; empty for a dense layer."""
        return (self.kernel, self.columns or self.kernel) if self.kernel else ()

    @property
    def kernel_shape(self) -> Shape:
        """Shape of the weights: [rows, columns, inputs, outputs] or [inputs, outputs]."""
        return (*self.window, self.inputs, self.outputs)

    def params(self) -> dict[str, Shape]:
        """Names and shapes of what the optimizer changes."""
        shapes = {"linear.kernel": self.kernel_shape}
        if self.bias:
            shapes["linear.bias"] = (self.outputs,)
        if self.norm:
            shapes |= {"norm.bias": (self.outputs,), "norm.scale": (self.outputs,)}
        return shapes

    def statistics(self) -> dict[str, Shape]:
        """Names and shapes of the running mean and variance of batch normalization."""
        return {"norm.mean": (self.outputs,), "norm.var": (self.outputs,)} if self.norm else {}

    def folded(self) -> dict[str, Shape]:
        """Names and shapes of what inference needs."""
        return {"kernel": self.kernel_shape, "bias": (self.outputs,)}

    def multiplications(self, output_shape: Shape) -> int:
        """Multiplications per position, where the layer's output has this shape."""
        return math.prod(self.kernel_shape) * math.prod(output_shape[:-1])

    def numbers(self, cells: int) -> int:
        """Numbers that it computes per position, on a board with so many cells."""
        return self.outputs * (cells if self.kernel else 1)

    def describe(self) -> str:
        """The layer in a few words."""
        return self.kind + (", normalized" if self.norm else "" if self.bias else ", no bias")

    @property
    def kind(self) -> str:
        """What it is without its size, such as `3 x 3 convolution`."""
        return f"{' x '.join(map(str, self.window))} convolution" if self.kernel else "dense"

    def init(self, draws: Array) -> tuple[LayerTree, LayerTree]:
        """First parameters, from as many standard normal draws as the kernel has weights, and statistics."""
        deviation = math.sqrt(self.gain * self.outputs / draws.size)
        params = {"linear": {"kernel": (deviation * draws).reshape(self.kernel_shape)}}
        if self.bias:
            params["linear"]["bias"] = jnp.zeros(self.outputs)
        if not self.norm:
            return params, {}
        params["norm"] = {"scale": jnp.ones(self.outputs), "bias": jnp.zeros(self.outputs)}
        return params, {"norm": {"mean": jnp.zeros(self.outputs), "var": jnp.ones(self.outputs)}}

    def apply(
        self, params: LayerTree, statistics: LayerTree, x: Array, *, dtype: DTypeLike, momentum: float, train: bool
    ) -> tuple[Array, LayerTree]:
        """The output for x [B, ..., inputs], and the statistics, updated if `train`."""
        graph, empty = _blueprint(self, jnp.dtype(jnp.float32 if self.exact else dtype))
        state = jax.tree.map(lambda leaf: leaf, empty)  # a copy: the blueprint is shared
        nnx.replace_by_pure_dict(state, params["linear"])
        y = nnx.merge(graph, state)(x)
        if not self.norm:
            return y, {}
        norm, running = params["norm"], statistics["norm"]
        if not train:
            return with_statistics(y, **running, **norm), statistics
        y, mean, var = normalize(y, norm["scale"], norm["bias"])
        updated = {
            "mean": momentum * running["mean"] + (1 - momentum) * mean,
            "var": momentum * running["var"] + (1 - momentum) * var,
        }
        return y, {"norm": updated}

    def fold(self, params: LayerTree, statistics: LayerTree, dtype: DTypeLike) -> FoldedLayer:
        """Kernel and bias for inference, computed in float32 and stored in `dtype` (float32 if `exact`)."""
        kernel = params["linear"]["kernel"].astype(jnp.float32)
        scale, bias = self.scale_and_bias(params, statistics)
        if self.norm:
            kernel = kernel * along_channels(scale, kernel.ndim)
        stored = jnp.float32 if self.exact else dtype
        return {"kernel": kernel.astype(stored), "bias": bias.astype(stored)}

    def scale_and_bias(self, params: LayerTree, statistics: LayerTree) -> tuple[Array, Array]:
        """What normalization and the layer's bias make of a product at inference: product * scale + bias."""
        bias = params["linear"]["bias"] if self.bias else jnp.zeros(self.outputs, jnp.float32)
        if not self.norm:
            return jnp.ones(self.outputs, jnp.float32), bias
        norm, running = params["norm"], statistics["norm"]
        ratio = norm["scale"] * lax.rsqrt(running["var"] + EPSILON)
        return ratio, (bias - running["mean"]) * ratio + norm["bias"]

    def infer(self, folded: FoldedLayer, x: Array) -> Array:
        """The output for x [B, ..., inputs], in the type of the folded kernel."""
        kernel, bias = folded["kernel"], folded["bias"]
        y = self.product(x.astype(kernel.dtype), kernel)
        return y + along_channels(bias, y.ndim)

    def product(self, x: Array, kernel: Array) -> Array:
        """The linear part of the layer."""
        return _convolve(x, kernel) if self.kernel else x @ kernel

    def module(self, dtype: np.dtype, rngs: nnx.Rngs) -> Linear:
        """The linear part and its bias as Flax computes them in training."""
        if self.kernel:
            return nnx.Conv(self.inputs, self.outputs, self.window, use_bias=self.bias, dtype=dtype, rngs=rngs)
        return nnx.Linear(self.inputs, self.outputs, use_bias=self.bias, dtype=dtype, rngs=rngs)


class Product(nnx.Module):
    """The linear part of a layer that Flax does not know, as `Layer.product` computes it."""

    def __init__(self, layer: Layer, dtype: np.dtype) -> None:
        self._layer, self._dtype = layer, dtype
        self.kernel = nnx.Param(jnp.zeros(layer.kernel_shape))
        self.bias = nnx.Param(jnp.zeros(layer.outputs)) if layer.bias else None

    def __call__(self, x: Array) -> Array:
        y = self._layer.product(x.astype(self._dtype), self.kernel[...].astype(self._dtype))
        return y if self.bias is None else y + along_channels(self.bias[...].astype(self._dtype), y.ndim)


Linear = nnx.Conv | nnx.Linear | Product


@lru_cache(maxsize=1024)
def _blueprint(layer: Layer, dtype: np.dtype) -> tuple[nnx.GraphDef[Linear], nnx.State[str, Array]]:
    module = nnx.eval_shape(lambda: layer.module(dtype, nnx.Rngs(params=0)))
    graph, empty = nnx.split(module, ...)
    return graph, empty


def _convolve(x: Array, kernel: Array) -> Array:
    return lax.conv_general_dilated(
        x, kernel, window_strides=(1, 1), padding="SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")
    )
