"""One pass of a batch through a network: in training, at inference, or by shape alone.

Blocks and heads are written once. They call `run(layer, x)` and `run.dropout(x)`; the pass decides what a layer
computes with. Axis letters: B batch.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from flax import nnx
from jax import Array
from jax.typing import DTypeLike

from tabia.networks.errors import NetworkError
from tabia.networks.layers import Folded, Layer, Shape, Tree


class Variables(NamedTuple):
    """The weights of a network in training: nested dictionaries of float32 arrays."""

    params: Tree  # what the optimizer changes
    statistics: Tree  # running means and variances of batch normalization


def compute_type(precision: str) -> np.dtype:
    """The type for `auto`, `float32` or `bfloat16`; `auto` is float32 on CPUs, where half precision is slower."""
    if precision == "auto":
        precision = "float32" if jax.default_backend() == "cpu" else "bfloat16"
    return jnp.dtype(precision)


class Pass(Protocol):
    """How layers are computed."""

    def __call__(self, layer: Layer, x: Array) -> Array:
        """The layer's output for x [B, ...]."""

    def dropout(self, x: Array) -> Array:
        """The features x, some of them dropped in training."""


class TrainingPass:
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

    def dropout(self, x: Array) -> Array:
        """Each call draws anew."""
        if self._dropout is None:
            return x
        assert self._key is not None
        self._dropouts += 1
        return self._dropout(x, deterministic=False, rngs=jax.random.fold_in(self._key, self._dropouts))


class InferencePass:
    """Layers with their normalization folded away."""

    def __init__(self, folded: Folded) -> None:
        self.folded = folded

    def __call__(self, layer: Layer, x: Array) -> Array:
        """The folded layer's output."""
        return layer.infer(self.folded[layer.name], x)

    def dropout(self, x: Array) -> Array:
        """Nothing is dropped."""
        return x


class ShapePass:
    """Layers that compute nothing but the shape of their output; `shapes` lists them in order."""

    def __init__(self) -> None:
        self.shapes: list[tuple[Layer, Shape]] = []

    def __call__(self, layer: Layer, x: Array) -> Array:
        """Zeros in the shape of the layer's output."""
        y = jnp.zeros((*x.shape[:-1], layer.outputs))
        self.shapes.append((layer, y.shape[1:]))
        return y

    def dropout(self, x: Array) -> Array:
        """Nothing is dropped."""
        return x
