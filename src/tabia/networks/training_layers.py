"""The layers as training needs them, from Flax: convolution or dense, then batch normalization that learns."""

from __future__ import annotations

import itertools
import math
from functools import lru_cache, partial
from typing import Any

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jax.typing import DTypeLike

from tabia.networks.layers import Layer

EPSILON = 1e-5
"""Added to a variance before its root is taken."""
_DEVIATION = 0.8796256610342398
"""The standard deviation that is left of a normal distribution cut at two of them."""


class Cell(nnx.Module):
    """One layer."""

    def __init__(self, layer: Layer, momentum: float, dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        dtype = jnp.float32 if layer.exact else dtype
        self.linear: Any
        if layer.kernel:
            square = (layer.kernel, layer.kernel)
            self.linear = nnx.Conv(layer.inputs, layer.outputs, square, use_bias=layer.bias, dtype=dtype, rngs=rngs)
        else:
            self.linear = nnx.Linear(layer.inputs, layer.outputs, use_bias=layer.bias, dtype=dtype, rngs=rngs)
        if layer.norm:
            self.norm = nnx.BatchNorm(layer.outputs, momentum=momentum, epsilon=EPSILON, dtype=dtype, rngs=rngs)

    def __call__(self, x: Array, *, train: bool) -> Array:
        x = self.linear(x)
        return self.norm(x, use_running_average=not train) if hasattr(self, "norm") else x


class Cells(nnx.Module):
    """All layers of a network, each under its own name."""

    def __init__(self, layers: tuple[Layer, ...], momentum: float, dtype: DTypeLike, rngs: nnx.Rngs) -> None:
        for layer in layers:
            setattr(self, layer.name, Cell(layer, momentum, dtype, rngs))


Tree = dict[str, Any]  # plain nested dictionaries of arrays


@partial(jax.jit, static_argnums=0)
def start(layers: tuple[Layer, ...], key: Array) -> tuple[Tree, Tree]:
    """First weights, normal as He has them, and statistics; one draw for all kernels, where Flax would compile many."""
    sizes = [math.prod(layer.kernel_shape) for layer in layers]
    draws = jax.random.truncated_normal(key, -2.0, 2.0, (sum(sizes),)) / _DEVIATION
    params: Tree = {}
    statistics: Tree = {}
    for layer, size, end in zip(layers, sizes, itertools.accumulate(sizes), strict=True):
        spread = math.sqrt(layer.gain * layer.outputs / size)
        params[layer.name] = {"linear": {"kernel": (spread * draws[end - size : end]).reshape(layer.kernel_shape)}}
        if layer.bias:
            params[layer.name]["linear"]["bias"] = jnp.zeros(layer.outputs)
        if layer.norm:
            params[layer.name]["norm"] = {"scale": jnp.ones(layer.outputs), "bias": jnp.zeros(layer.outputs)}
            statistics[layer.name] = {"norm": {"mean": jnp.zeros(layer.outputs), "var": jnp.ones(layer.outputs)}}
    return params, statistics


def assemble(layers: tuple[Layer, ...], momentum: float, dtype: DTypeLike, params: Tree, statistics: Tree) -> Cells:
    """The layers with these weights and statistics in them."""
    graph, empty = _blueprint(layers, momentum, jnp.dtype(dtype))
    state = jax.tree.map(lambda leaf: leaf, empty)  # a copy: the blueprint is kept
    nnx.replace_by_pure_dict(state, _merged(params, statistics))
    return nnx.merge(graph, state)


def statistics_in(cells: Cells) -> Tree:
    """The statistics after a call that trained."""
    return nnx.to_pure_dict(nnx.state(cells, nnx.BatchStat))


@lru_cache(maxsize=64)
def _blueprint(layers: tuple[Layer, ...], momentum: float, dtype: Any) -> tuple[Any, Any]:
    cells = nnx.eval_shape(lambda: Cells(layers, momentum, dtype, nnx.Rngs(params=0)))
    graph, empty = nnx.split(cells, ...)
    return graph, empty


def _merged(params: Tree, statistics: Tree) -> Tree:
    """Both trees in one: a layer's normalization has entries in each."""
    merged = dict(params)
    for name, entries in statistics.items():
        merged[name] = {**merged[name], "norm": {**merged[name]["norm"], **entries["norm"]}}
    return merged
