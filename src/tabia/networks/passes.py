"""One pass of a batch through a network: in training, at inference, by shape alone, or into a graph of ONNX.

Blocks and heads are written once. They call `run(layer, x)`, `run.dropout(x)` and the few operations of `Pass`; the
pass decides what features are and what a layer computes with. `onnx_graph.py` holds the pass that writes a graph.
Axis letters: B batch, H rows, W columns, F features.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jax.typing import DTypeLike

from tabia.networks import winograd
from tabia.networks.cell_layers import AttentionLayer, CellLayer, DepthwiseLayer
from tabia.networks.errors import NetworkError
from tabia.networks.layers import POINTS, Folded, Layer, Shape, Tree


class Variables(NamedTuple):
    """The weights of a network in training: nested dictionaries of float32 arrays."""

    params: Tree  # what the optimizer changes
    statistics: Tree  # running means and variances of batch normalization


def compute_type(precision: str) -> np.dtype:
    """The type for `auto`, `float32` or `bfloat16`; `auto` is float32 on CPUs, where half precision is slower."""
    if precision == "auto":
        precision = "float32" if jax.default_backend() == "cpu" else "bfloat16"
    return jnp.dtype(precision)


def inference_type() -> np.dtype:
    """The type that players compute in: half precision where it is faster.

    On GPUs float16 keeps as many digits as the TF32 in which they compute float32 convolutions.
    """
    return jnp.dtype({"cpu": jnp.float32, "gpu": jnp.float16}.get(jax.default_backend(), jnp.bfloat16))


Features = TypeVar("Features")  # arrays, or what a pass uses instead


class Pass(Protocol[Features]):
    """How layers, and what is between them, are computed."""

    def __call__(self, layer: Layer, x: Features) -> Features:
        """The layer's output for x [B, ...]."""

    def depthwise(self, layer: DepthwiseLayer, x: Features) -> Features:
        """The layer's output for a board [B, H, W, F]."""

    def mix_cells(self, layer: CellLayer, x: Features) -> Features:
        """The layer's output for a board [B, H, W, F]."""

    def attend(self, layer: AttentionLayer, queries: Features, keys: Features, values: Features) -> Features:
        """Attention over the cells of a board, [B, H, W, F] each."""

    def dropout(self, x: Features) -> Features:
        """The features x, some of them dropped in training."""

    def relu(self, x: Features) -> Features:
        """max(x, 0)"""

    def leaky_relu(self, x: Features, slope: float) -> Features:
        """x, times `slope` where it is negative."""

    def silu(self, x: Features) -> Features:
        """The sigmoid linear unit, x * sigmoid(x)."""

    def multiply(self, x: Features, y: Features) -> Features:
        """The product of features of one shape, number by number."""

    def add(self, x: Features, y: Features) -> Features:
        """The sum of features of one shape."""

    def add_to_cells(self, x: Features, y: Features) -> Features:
        """Features of cells [B, H, W, F], each plus features of the whole board [B, F]."""

    def pool(self, x: Features) -> Features:
        """Mean and maximum over the board, [B, H, W, F] -> [B, 2F]."""

    def pool_columns(self, x: Features) -> Features:
        """Mean and maximum over each column, [B, H, W, F] -> [B, W, 2F]."""

    def flatten(self, x: Features) -> Features:
        """All features of a position in one axis, [B, ...] -> [B, F]."""

    def join(self, x: Features, y: Features) -> Features:
        """[B, F] and [B, G] side by side, [B, F + G]."""

    def tanh(self, x: Features) -> Features:
        """The hyperbolic tangent."""

    def wins_less_losses(self, x: Features) -> Features:
        """The chance to win less the chance to lose, and its negative [B, 2], from logits of win, draw and loss."""

    def to_float32(self, x: Features) -> Features:
        """The same numbers in float32."""


class _ArrayOperations:
    """What is between layers, for passes over arrays."""

    def __call__(self, layer: Layer, x: Array) -> Array:
        raise NotImplementedError

    def depthwise(self, layer: DepthwiseLayer, x: Array) -> Array:
        return self(layer, x)

    def mix_cells(self, layer: CellLayer, x: Array) -> Array:
        return self(layer, x)

    def dropout(self, x: Array) -> Array:
        """Nothing is dropped outside training."""
        return x

    def relu(self, x: Array) -> Array:
        return jnp.maximum(x, 0)

    def leaky_relu(self, x: Array, slope: float) -> Array:
        return jnp.where(x >= 0, x, slope * x)

    def silu(self, x: Array) -> Array:
        return jax.nn.silu(x)

    def multiply(self, x: Array, y: Array) -> Array:
        return x * y

    def add(self, x: Array, y: Array) -> Array:
        return x + y

    def add_to_cells(self, x: Array, y: Array) -> Array:
        return x + y[:, None, None, :]

    def pool(self, x: Array) -> Array:
        return jnp.concatenate([x.mean(axis=(1, 2)), x.max(axis=(1, 2))], axis=-1)

    def pool_columns(self, x: Array) -> Array:
        return jnp.concatenate([x.mean(axis=1), x.max(axis=1)], axis=-1)

    def flatten(self, x: Array) -> Array:
        return x.reshape(x.shape[0], -1)

    def join(self, x: Array, y: Array) -> Array:
        return jnp.concatenate([x, y], axis=-1)

    def tanh(self, x: Array) -> Array:
        return jnp.tanh(x)

    def wins_less_losses(self, x: Array) -> Array:
        chances = jax.nn.softmax(x)
        mover = chances[:, 0] - chances[:, 2]
        return jnp.stack([mover, -mover], axis=-1)

    def to_float32(self, x: Array) -> Array:
        return x.astype(jnp.float32)


class TrainingPass(_ArrayOperations):
    """Layers with batch normalization; `statistics` holds those of the layers run so far, updated if `train`."""

    def __init__(
        self,
        variables: Variables,
        *,
        train: bool,
        dtype: DTypeLike = jnp.float32,
        momentum: float = 0.99,
        dropout: float = 0.0,
        key: Array | None = None,
    ) -> None:
        self.variables, self.train, self.dtype, self.momentum = variables, train, dtype, momentum
        self.statistics: Tree = {}
        self._dropout = nnx.Dropout(dropout) if train and dropout else None
        self._key, self._dropouts = key, 0
        if self._dropout is not None and key is None:
            raise NetworkError(f"This network has dropout {dropout:g}: apply(..., train=True) needs a key.")

    def __call__(self, layer: Layer, x: Array) -> Array:
        """The layer's output; batch normalization uses the batch if `train`, else the running statistics."""
        params, statistics = self.variables.params[layer.name], self.variables.statistics.get(layer.name, {})
        y, statistics = layer.apply(params, statistics, x, dtype=self.dtype, momentum=self.momentum, train=self.train)
        if layer.norm:
            self.statistics[layer.name] = statistics
        return y

    def attend(self, layer: AttentionLayer, queries: Array, keys: Array, values: Array) -> Array:
        positions = self.variables.params[layer.name]["positions"]["bias"]
        return layer.attend(positions.astype(self.dtype), queries, keys, values)

    def dropout(self, x: Array) -> Array:
        """Each call draws anew."""
        if self._dropout is None:
            return x
        assert self._key is not None
        self._dropouts += 1
        return self._dropout(x, deterministic=False, rngs=jax.random.fold_in(self._key, self._dropouts))


class InferencePass(_ArrayOperations):
    """Layers with their normalization folded away."""

    def __init__(self, folded: Folded) -> None:
        self.folded = folded

    def __call__(self, layer: Layer, x: Array) -> Array:
        """The folded layer's output."""
        return layer.infer(self.folded[layer.name], x)

    def attend(self, layer: AttentionLayer, queries: Array, keys: Array, values: Array) -> Array:
        return layer.attend(self.folded[layer.name]["positions"], queries, keys, values)


class WinogradPass(_ArrayOperations):
    """Plain layers at inference with the batch after the board, x [H, W, B, F], as `winograd.py` needs it."""

    def __init__(self, folded: Folded) -> None:
        self.folded = folded

    def __call__(self, layer: Layer, x: Array) -> Array:
        """The folded layer's output; a convolution without points is a product with all cells of its window."""
        folded = self.folded[layer.name]
        kernel, bias = folded["kernel"], folded["bias"]
        if POINTS in folded:
            y = winograd.convolve(x, folded[POINTS], layer.window)
        else:
            y = (_windows(x, layer.window) if layer.kernel > 1 else x) @ kernel.reshape(-1, layer.outputs)
        return y + bias.reshape((1,) * (y.ndim - 1) + (-1,))

    def attend(self, layer: AttentionLayer, queries: Array, keys: Array, values: Array) -> Array:
        raise NotImplementedError  # `Network.prepare` has points for networks of plain layers alone

    def add_to_cells(self, x: Array, y: Array) -> Array:
        return x + y[None, None]

    def pool(self, x: Array) -> Array:
        return jnp.concatenate([x.mean(axis=(0, 1)), x.max(axis=(0, 1))], axis=-1)

    def pool_columns(self, x: Array) -> Array:
        return jnp.concatenate([x.mean(axis=0), x.max(axis=0)], axis=-1).swapaxes(0, 1)

    def flatten(self, x: Array) -> Array:
        board = x.ndim == 4
        return super().flatten(x.transpose(2, 0, 1, 3) if board else x)


def _windows(x: Array, window: tuple[int, ...]) -> Array:
    """The features of all cells of each cell's window, [H, W, B, F] -> [H, W, B, rows * columns * F]."""
    (height, width), (rows, columns) = x.shape[:2], window
    sides = [((size - 1) // 2, size // 2) for size in window]
    wide = jnp.pad(x, [*sides, (0, 0), (0, 0)])
    places = [(row, column) for row in range(rows) for column in range(columns)]
    return jnp.concatenate([wide[row : row + height, column : column + width] for row, column in places], axis=-1)


class ShapePass(_ArrayOperations):
    """Layers that compute nothing but the shape of their output; `shapes` lists them in order."""

    def __init__(self) -> None:
        self.shapes: list[tuple[Layer, Shape]] = []

    def __call__(self, layer: Layer, x: Array) -> Array:
        """Zeros in the shape of the layer's output."""
        y = jnp.zeros((*x.shape[:-1], layer.outputs))
        self.shapes.append((layer, y.shape[1:]))
        return y

    def attend(self, layer: AttentionLayer, queries: Array, keys: Array, values: Array) -> Array:
        self.shapes.append((layer, values.shape[1:]))
        return values
