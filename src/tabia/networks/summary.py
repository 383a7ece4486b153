"""A network as a table: every layer, what it gives, how many numbers it holds and how many it multiplies."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.networks.config import NetworkConfig
from tabia.networks.layers import Layer
from tabia.networks.network import Network
from tabia.networks.walk import walk


class Row(NamedTuple):
    """One layer and the shape of what it gives for one position."""

    layer: Layer
    output: tuple[int, ...]

    @property
    def trainable(self) -> int:
        return sum(map(math.prod, self.layer.params().values()))

    @property
    def all(self) -> int:
        return self.trainable + sum(map(math.prod, self.layer.statistics().values()))

    @property
    def multiplications(self) -> int:
        """For one position, at inference."""
        return math.prod(self.layer.kernel_shape) * math.prod(self.output[:-1])


class Counts(NamedTuple):
    """How many numbers a network holds."""

    trainable: int
    all: int  # with the moving statistics of batch normalization: what Keras calls total
    multiplications: int  # for one position, at inference


def rows(network: Network) -> tuple[Row, ...]:
    """Every layer in the order in which a position meets it, found by sending a shape through the network."""
    named = {layer.name: layer for layer in network.layers}
    met: list[Row] = []

    def note(name: str, x: Array) -> Array:
        layer = named[name]
        y = jnp.zeros((*x.shape[:-1], layer.outputs))
        met.append(Row(layer, y.shape[1:]))
        return y

    jax.eval_shape(lambda x: walk(network.config, note, x), jnp.zeros((1, *network.observation_shape)))
    return tuple(met)


def counts(network: Network) -> Counts:
    """The totals of the table."""
    found = rows(network)
    return Counts(
        sum(row.trainable for row in found), sum(row.all for row in found), sum(row.multiplications for row in found)
    )


def summary(network: Network) -> str:
    """The table as text."""
    header = ("layer", "what", "gives", "numbers")
    board = _times(network.observation_shape)
    lines = [("observation", "", board, "")]
    lines += [(row.layer.name, describe(row.layer), _times(row.output), f"{row.all:,}") for row in rows(network)]
    widths = [max(len(line[column]) for line in [header, *lines]) for column in range(4)]
    table = [_line(header, widths), _line(tuple("-" * width for width in widths), widths)]
    table += [_line(line, widths) for line in lines]
    total = counts(network)
    return "\n".join(
        [
            *table,
            "",
            f"{total.trainable:,} trainable numbers, {total.all:,} with moving statistics; "
            f"{total.multiplications:,} multiplications a position.",
        ]
    )


def describe(layer: Layer) -> str:
    """What a layer does, in a few words."""
    what = f"convolution {layer.kernel} x {layer.kernel}" if layer.kernel else "dense"
    return what + (", normalized" if layer.norm else "" if layer.bias else ", no bias")


def _times(shape: tuple[int, ...]) -> str:
    return " x ".join(map(str, shape))


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first = "  ".join(cell.ljust(width) for cell, width in zip(cells[:-1], widths[:-1], strict=True))
    return f"{first}  {cells[-1].rjust(widths[-1])}".rstrip()


def trunk(config: NetworkConfig) -> str:
    """A network's trunk in words."""
    tower = [] if config.kind == "mlp" else [f"{config.blocks} residual blocks of {config.filters} filters"]
    dense = [f"dense layers of {', '.join(map(str, config.units))}"] if config.units else []
    return " and ".join(tower + dense)
