"""Widening: the variables of a network with more filters or more blocks that computes the same function.

    widening = Widening(small, large)
    variables = widening.variables(variables, key)

Every weight of the small network keeps its value. A new filter has new weights, and whatever reads it starts with
weights of zero, so it changes nothing until those are learned. A new block adds zero to its input, because the last
normalization (or layer) of each of its branches starts at zero. New filters are drawn at random, not copied from old
ones, so no symmetry between them has to be broken.

`_Origins` follows the features through the large network: which of them exist in the small one, and where.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import KeyPath

from tabia.networks.cell_layers import AttentionLayer, CellLayer, DepthwiseLayer
from tabia.networks.errors import NetworkError
from tabia.networks.layers import Layer, LayerTree, Shape, Tree
from tabia.networks.network import Network
from tabia.networks.passes import Variables

_NEW = -1


@dataclass(frozen=True)
class Widening:
    """The step from one network to another with at least as many filters and blocks."""

    old: Network
    new: Network

    def __post_init__(self) -> None:
        sizes = {name: getattr(self.new.config, name) for name in ("filters", "blocks")}
        if replace(self.old, config=self.old.config.changed(**sizes)) != self.new:
            raise NetworkError("A network can be widened to more filters and blocks; nothing else may change.")
        for name, size in sizes.items():
            before = getattr(self.old.config, name)
            if size < before:
                raise NetworkError(f"A network can be widened, not narrowed: it has {before} {name}, not {size}.")
        _ = self._origins  # refuses what cannot be widened exactly

    def variables(self, variables: Variables, key: Array) -> Variables:
        """The variables of the new network, for the same function; `key` draws the weights of new filters."""
        fresh = self.new.init(key)
        params = {layer: self._harmless(layer, parts) for layer, parts in fresh.params.items()}
        return Variables(self._placed(variables.params, params), self._placed(variables.statistics, fresh.statistics))

    def place(self, layer: str, name: str, old: Array, new: Array) -> Array:
        """An array of the new network with that of the old one in its place."""
        if name != "kernel" or layer not in self._origins.inputs:
            return new.at[tuple(slice(size) for size in old.shape)].set(old)
        inputs = self._origins.inputs[layer]
        (kept,) = np.nonzero(inputs != _NEW)
        return new.at[..., kept, : old.shape[-1]].set(old[..., inputs[kept], :])

    def _placed(self, old: Tree, new: Tree) -> Tree:
        """Arrays of the new network with all of the old one in their places."""

        def place(path: KeyPath[Any], array: Array) -> Array:
            layer, part, name = (key.key for key in path)
            return self.place(layer, name, old[layer][part][name], array) if layer in old else array

        found: Tree = jax.tree.map_with_path(place, new)
        return found

    def _harmless(self, layer: str, params: LayerTree) -> LayerTree:
        """The first parameters of a layer, with zeros where new features would change old ones."""
        if layer in self._origins.silent:
            part = "norm" if "norm" in params else "linear"
            return params | {part: jax.tree.map(jnp.zeros_like, params[part])}
        if layer not in self._origins.inputs:
            return params
        (added,) = np.nonzero(self._origins.inputs[layer] == _NEW)
        kernel = params["linear"]["kernel"].at[..., added, : self._old_layers[layer].outputs].set(0.0)
        return params | {"linear": params["linear"] | {"kernel": kernel}}

    @cached_property
    def _old_layers(self) -> dict[str, Layer]:
        return {layer.name: layer for layer in self.old.layers}

    @cached_property
    def _origins(self) -> _Origins:
        found, before = (self._trace(network) for network in (self.new, self.old))
        if found.sums != before.sums:
            raise NetworkError("This network cannot be widened exactly: a dense layer with a skip would lose it.")
        return found

    def _trace(self, network: Network) -> _Origins:
        run = _Origins(self._old_layers)
        planes = network.observation_shape[-1]
        network.run(run, Origin(network.observation_shape, np.arange(planes), planes))
        return run


class Origin(NamedTuple):
    """Where the features of a network come from."""

    shape: Shape  # of one position, in the new network
    channels: np.ndarray  # int[F]: for each feature of the last axis its place in the old network; -1: it is new
    old: int  # features of the last axis in the old network
    silent: str = ""  # the new layer whose output this is
    passed: bool = False  # the sum of features with the output of a silent layer


class _Origins:
    """A pass that computes where features come from; `inputs` holds the origins of what each old layer reads."""

    def __init__(self, layers: Mapping[str, Layer]) -> None:
        self._layers = layers  # of the old network
        self.inputs: dict[str, np.ndarray] = {}
        self.silent: set[str] = set()  # new layers whose outputs are added to old features, and so must be 0
        self.sums = 0  # of features that are in the old network

    def __call__(self, layer: Layer, x: Origin) -> Origin:
        shape = (*x.shape[:-1], layer.outputs)
        if layer.name not in self._layers:
            return Origin(shape, np.full(layer.outputs, _NEW), 0, silent=layer.name)
        old = self._layers[layer.name].outputs
        self.inputs[layer.name] = x.channels
        return Origin(shape, np.where(np.arange(layer.outputs) < old, np.arange(layer.outputs), _NEW), old)

    def depthwise(self, layer: DepthwiseLayer, x: Origin) -> Origin:
        return x if layer.name in self._layers else x._replace(silent=layer.name)

    def mix_cells(self, layer: CellLayer, x: Origin) -> Origin:
        """A group has the same filters in both networks, so new filters are in new groups."""
        if layer.name in self._layers:
            return x
        return Origin(x.shape, np.full(layer.outputs, _NEW), 0, silent=layer.name)

    def attend(self, layer: AttentionLayer, queries: Origin, keys: Origin, values: Origin) -> Origin:
        """A head has the same filters in both networks, so new filters are in new heads."""
        return values

    def add(self, x: Origin, y: Origin) -> Origin:
        if (x.channels == _NEW).all():
            return x._replace(silent="")
        if y.silent:
            self.silent.add(y.silent)
            return x._replace(passed=True)
        self.sums += 1
        return x._replace(passed=False)

    def relu(self, x: Origin) -> Origin:
        """Features that passed a new block are rectified already, and rectifying them again changes nothing."""
        return x._replace(silent="", passed=False)

    def leaky_relu(self, x: Origin, slope: float) -> Origin:
        if x.passed:
            raise NetworkError("Blocks that end with leaky_relu cannot be added exactly: it would change their input.")
        return x._replace(silent="")

    def silu(self, x: Origin) -> Origin:
        return x._replace(silent="")

    def multiply(self, x: Origin, y: Origin) -> Origin:
        return x._replace(silent="")

    def add_to_cells(self, x: Origin, y: Origin) -> Origin:
        return x

    def dropout(self, x: Origin) -> Origin:
        return x

    def tanh(self, x: Origin) -> Origin:
        return x

    def to_float32(self, x: Origin) -> Origin:
        return x

    def pool(self, x: Origin) -> Origin:
        return _joined(x, x)

    def pool_columns(self, x: Origin) -> Origin:
        return _joined(x, x, rows=x.shape[1:2])

    def join(self, x: Origin, y: Origin) -> Origin:
        return _joined(x, y)

    def flatten(self, x: Origin) -> Origin:
        cells = int(np.prod(x.shape[:-1]))
        places = np.arange(cells)[:, None] * x.old + x.channels
        channels = np.where(x.channels == _NEW, _NEW, places).ravel()
        return Origin((channels.size,), channels, cells * x.old)

    def wins_less_losses(self, x: Origin) -> Origin:
        return Origin((2,), np.arange(2), 2)


def _joined(x: Origin, y: Origin, *, rows: Shape = ()) -> Origin:
    """Features side by side."""
    moved = np.where(y.channels == _NEW, _NEW, y.channels + x.old)
    channels = np.concatenate([x.channels, moved])
    return Origin((*rows, channels.size), channels, x.old + y.old)
