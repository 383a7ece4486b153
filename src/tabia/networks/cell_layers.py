"""Layers that convolutions and dense products do not cover: each channel alone, or all cells of a board together.

`DepthwiseLayer` convolves each channel with a kernel of its own. `CellLayer` multiplies the cells of the board by a
matrix. `AttentionLayer` weighs the values of all cells for each cell; it learns a bias for each pair of cells.
Axis letters: B batch, H rows, W columns, F features, T cells, N heads, D features per head.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jax.typing import DTypeLike

from tabia.networks.layers import FoldedLayer, Layer, LayerTree, Linear, Product, Shape
from tabia.networks.normalization import along_channels


@dataclass(frozen=True)
class DepthwiseLayer(Layer):
    """A convolution of each channel with a kernel of its own; as many outputs as inputs."""

    is_plain: ClassVar[bool] = False

    @property
    def kernel_shape(self) -> Shape:
        """Shape of the weights: [rows, columns, 1, outputs]."""
        return (*self.window, 1, self.outputs)

    @property
    def kind(self) -> str:
        return f"{' x '.join(map(str, self.window))} depthwise convolution"

    def product(self, x: Array, kernel: Array) -> Array:
        """A sum over the cells of the window; XLA computes it in one loop."""
        (height, width), (rows, columns) = x.shape[1:3], self.window
        wide = jnp.pad(x, [(0, 0), *(((size - 1) // 2, size // 2) for size in self.window), (0, 0)])
        y = jnp.zeros_like(x)
        for row, column in itertools.product(range(rows), range(columns)):
            y += wide[:, row : row + height, column : column + width] * kernel[None, None, row, column]
        return y

    def module(self, dtype: np.dtype, rngs: nnx.Rngs) -> Linear:
        return Product(self, dtype)


@dataclass(frozen=True)
class CellLayer(Layer):
    """A matrix from all cells of the board to all cells, one for each group of channels.

    Normalization is per channel and the channels of a group share their matrix, so it cannot be folded into the
    matrix: inference multiplies by a scale.
    """

    cells: int = 1
    groups: int = 1
    is_plain: ClassVar[bool] = False

    @property
    def kernel_shape(self) -> Shape:
        """Shape of the weights: [groups, cells, cells], the last axis for outputs."""
        return (self.groups, self.cells, self.cells)

    @property
    def kind(self) -> str:
        return f"{self.cells} x {self.cells} matrices of cells, {self.groups} groups"

    def folded(self) -> dict[str, Shape]:
        return super().folded() | {"scale": (self.outputs,)}

    def multiplications(self, output_shape: Shape) -> int:
        return self.cells * math.prod(output_shape)

    def init(self, draws: Array) -> tuple[LayerTree, LayerTree]:
        """First parameters and statistics; the inputs of a sum are the cells."""
        params, statistics = super().init(draws)
        params["linear"]["kernel"] = math.sqrt(self.gain / self.cells) * draws.reshape(self.kernel_shape)
        return params, statistics

    def fold(self, params: LayerTree, statistics: LayerTree, dtype: DTypeLike) -> FoldedLayer:
        """Kernel, scale and bias for inference in `dtype`."""
        scale, bias = self.scale_and_bias(params, statistics)
        folded = {"kernel": params["linear"]["kernel"], "scale": scale, "bias": bias}
        return {name: array.astype(dtype) for name, array in folded.items()}

    def infer(self, folded: FoldedLayer, x: Array) -> Array:
        y = self.product(x.astype(folded["kernel"].dtype), folded["kernel"])
        return y * along_channels(folded["scale"], y.ndim) + along_channels(folded["bias"], y.ndim)

    def product(self, x: Array, kernel: Array) -> Array:
        """The sums over all cells, [B, H, W, F] -> [B, H, W, F]."""
        grouped = x.reshape(x.shape[0], self.cells, self.groups, -1)
        return jnp.einsum("bsgf,gst->btgf", grouped, kernel).reshape(x.shape)

    def module(self, dtype: np.dtype, rngs: nnx.Rngs) -> Linear:
        return Product(self, dtype)


@dataclass(frozen=True)
class AttentionLayer(Layer):
    """Attention over the cells, with a learned bias for each head and pair of cells."""

    cells: int = 1
    heads: int = 1
    is_plain: ClassVar[bool] = False

    @property
    def kernel_shape(self) -> Shape:
        """Shape of the biases: [heads, cells that attend, cells attended to]."""
        return (self.heads, self.cells, self.cells)

    @property
    def kind(self) -> str:
        return f"attention over {self.cells} cells, {self.heads} heads"

    def describe(self) -> str:
        return self.kind

    def params(self) -> dict[str, Shape]:
        return {"positions.bias": self.kernel_shape}

    def folded(self) -> dict[str, Shape]:
        return {"positions": self.kernel_shape}

    def numbers(self, cells: int) -> int:
        """Its output, and the weights of all pairs of cells."""
        return super().numbers(cells) + self.heads * cells**2

    def multiplications(self, output_shape: Shape) -> int:
        """Those of queries with keys, and of the weights with the values."""
        return 2 * self.cells * math.prod(output_shape)

    def init(self, draws: Array) -> tuple[LayerTree, LayerTree]:
        """Biases of zero: a new network attends by content alone."""
        return {"positions": {"bias": jnp.zeros(self.kernel_shape)}}, {}

    def fold(self, params: LayerTree, statistics: LayerTree, dtype: DTypeLike) -> FoldedLayer:
        return {"positions": params["positions"]["bias"].astype(dtype)}

    def attend(self, positions: Array, queries: Array, keys: Array, values: Array) -> Array:
        """The values of all cells, weighted for each cell, [B, H, W, F]; the weights are computed in float32."""
        batch, features = queries.shape[0], queries.shape[-1]
        q, k, v = (x.reshape(batch, self.cells, self.heads, -1) for x in (queries, keys, values))
        scores = jnp.einsum("btnd,bsnd->bnts", q, k) / math.sqrt(features // self.heads)
        weights = jax.nn.softmax((scores + positions[None]).astype(jnp.float32)).astype(v.dtype)
        return jnp.einsum("bnts,bsnd->btnd", weights, v).reshape(queries.shape)
