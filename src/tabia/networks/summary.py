"""A network as a table: every layer, its output shape, its parameters and its multiplications."""

from __future__ import annotations

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from tabia.networks.config import NetworkConfig
from tabia.networks.layers import Layer, Shape
from tabia.networks.network import Network
from tabia.networks.passes import ShapePass


class Row(NamedTuple):
    """One layer, and the shape of its output for one position."""

    layer: Layer
    output: Shape

    @property
    def trainable(self) -> int:
        """Trainable parameters."""
        return sum(map(math.prod, self.layer.params().values()))

    @property
    def all(self) -> int:
        """Trainable parameters and running statistics."""
        return self.trainable + sum(map(math.prod, self.layer.statistics().values()))

    @property
    def multiplications(self) -> int:
        """Multiplications per position."""
        return self.layer.multiplications(self.output)


class Counts(NamedTuple):
    """The size of a network."""

    trainable: int  # parameters
    all: int  # with the running statistics of batch normalization: what Keras calls total
    multiplications: int  # per position

    @property
    def operations(self) -> int:
        """Floating-point operations per position: a multiplication and an addition for every weight used."""
        return 2 * self.multiplications


def rows(network: Network) -> tuple[Row, ...]:
    """Every layer in the order of use."""
    run = ShapePass()
    jax.eval_shape(lambda x: network.run(run, x), jnp.zeros((1, *network.observation_shape)))
    return tuple(Row(layer, shape) for layer, shape in run.shapes)


def counts(network: Network) -> Counts:
    """The totals of the table."""
    found = rows(network)
    return Counts(
        sum(row.trainable for row in found), sum(row.all for row in found), sum(row.multiplications for row in found)
    )


def summary(network: Network) -> str:
    """The table as text."""
    header = ("layer", "kind", "output", "parameters")
    lines = [("observation", "", times(network.observation_shape), "")]
    lines += [(row.layer.name, row.layer.describe(), times(row.output), f"{row.all:,}") for row in rows(network)]
    widths = [max(len(line[column]) for line in [header, *lines]) for column in range(4)]
    table = [_line(header, widths), _line(tuple("-" * width for width in widths), widths)]
    table += [_line(line, widths) for line in lines]
    return "\n".join([*table, "", totals(counts(network))])


def totals(total: Counts) -> str:
    """The size of a network as a sentence."""
    return (
        f"{total.trainable:,} trainable parameters, {total.all:,} with running statistics; "
        f"{total.multiplications:,} multiplications per position."
    )


def trunk(config: NetworkConfig) -> str:
    """A network's trunk in words."""
    tower = [f"{config.blocks} {config.kind} blocks of {config.filters} filters"]
    plain = [f"convolutions of {_listed(config.convolutions)} filters"]
    board = {"mlp": [], "plain": plain}.get(config.kind, tower)
    dense = [f"dense layers of {_listed(config.units)}"] if config.units else []
    return " and ".join(board + dense)


def _listed(widths: tuple[int, ...]) -> str:
    return ", ".join(map(str, widths))


def times(shape: Shape) -> str:
    """A shape in words, such as 6 x 7 x 2."""
    return " x ".join(map(str, shape))


def _line(cells: tuple[str, ...], widths: list[int]) -> str:
    first = "  ".join(cell.ljust(width) for cell, width in zip(cells[:-1], widths[:-1], strict=True))
    return f"{first}  {cells[-1].rjust(widths[-1])}".rstrip()
