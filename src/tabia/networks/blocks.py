"""The blocks of a trunk. A block declares its layers, applies itself and describes itself, all in one class.

To add a block, write its class here and use it in `make_trunk`; a setting that switches it on goes to `config.py`.
Parameters are named by layer: `block1.first` and `block1.second` are the convolutions of the first residual block;
`block3.look` and `block3.tell` those of a global pooling branch; `block1.reduce`, `block1.inner1.first` and so on, and
`block1.restore` those of a bottleneck block. Weights files use these names.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

from tabia.networks.config import NetworkConfig
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Features, Pass


class Step(NamedTuple):
    """One layer of a figure, and what surrounds it."""

    layer: Layer
    title: str = "{}"  # with the layer's own description for {}
    after: tuple[str, ...] = ()  # what follows the layer, in words


class Figure(NamedTuple):
    """How a block or a head is drawn: its layers from top to bottom, and its connections."""

    steps: tuple[Step, ...]
    branch: Step | None = None  # a branch from the input that is added to the first step
    joined: str = ""  # what follows that sum
    residual: bool = False  # the input is added to the last step
    after: str = ""  # what follows that sum


class Block(Protocol):
    """A part of a trunk."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Its layers, which declare its parameters, in the order of use."""

    def output_shape(self, shape: Shape) -> Shape:
        """The shape of one position's features after the block."""

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        """The features of a batch after the block."""

    def figure(self) -> Figure:
        """The block as the picture shows it."""


@dataclass(frozen=True)
class Style:
    """What all blocks and heads of a network share."""

    activation: str
    slope: float  # of leaky_relu below 0
    batch_norm: bool
    bias: bool
    dropout: float

    @classmethod
    def of(cls, config: NetworkConfig) -> Style:
        """The style of a configuration."""
        return cls(
            activation=config.activation,
            slope=config.slope,
            batch_norm=config.batch_norm,
            bias=config.bias,
            dropout=config.dropout,
        )

    def act(self, x: Features, run: Pass[Features]) -> Features:
        """The activation function."""
        return run.relu(x) if self.activation == "relu" else run.leaky_relu(x, self.slope)

    def normalized(
        self, name: str, inputs: int, outputs: int, *, kernel: int = 0, columns: int = 0, gain: float = 2.0
    ) -> Layer:
        """A layer that batch normalization follows, where the network has it."""
        # Normalization has a bias of its own, so one before it would do nothing.
        bias = self.bias and not self.batch_norm
        return Layer(name, inputs, outputs, kernel, norm=self.batch_norm, bias=bias, gain=gain, columns=columns)

    @property
    def activation_name(self) -> str:
        """The activation in words."""
        return "ReLU" if self.activation == "relu" else f"LeakyReLU {self.slope:g}"

    @property
    def activation_and_dropout(self) -> tuple[str, ...]:
        """What follows a dense layer, in words."""
        return (self.activation_name, f"{self.dropout:.0%} dropout") if self.dropout else (self.activation_name,)


@dataclass(frozen=True)
class ConvBlock:
    """Convolution, normalization, activation."""

    name: str
    inputs: int
    filters: int
    kernel: int
    style: Style
    columns: int = 0  # of the kernel; 0: as many as rows

    @cached_property
    def conv(self) -> Layer:
        return self.style.normalized(self.name, self.inputs, self.filters, kernel=self.kernel, columns=self.columns)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.conv,)

    def output_shape(self, shape: Shape) -> Shape:
        return (*shape[:-1], self.filters)

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        return self.style.act(run(self.conv, x), run)

    def figure(self) -> Figure:
        return Figure((Step(self.conv, after=(self.style.activation_name,)),))


@dataclass(frozen=True)
class ResidualBlock:
    """Two convolutions, added to their input (He et al. 2015); with `pooling`, KataGo's global pooling block.

    Pooling: another convolution with a quarter of the filters is pooled over the board and shifts all features
    before the second convolution, so that every cell sees the whole board.
    """

    name: str
    filters: int
    kernel: int
    style: Style
    gain: float = 2.0  # of the second convolution
    pooling: bool = False
    columns: int = 0  # of the kernels; 0: as many as rows

    @cached_property
    def first(self) -> Layer:
        return self._convolution("first", self.filters)

    @cached_property
    def pooled(self) -> Layer:
        return self._convolution("look", max(1, self.filters // 4))

    @cached_property
    def shift(self) -> Layer:
        return Layer(f"{self.name}.tell", 2 * self.pooled.outputs, self.filters, bias=False, gain=1.0)

    @cached_property
    def second(self) -> Layer:
        return self._convolution("second", self.filters, gain=self.gain)

    def _convolution(self, name: str, outputs: int, *, gain: float = 2.0) -> Layer:
        return self.style.normalized(
            f"{self.name}.{name}", self.filters, outputs, kernel=self.kernel, columns=self.columns, gain=gain
        )

    @property
    def layers(self) -> tuple[Layer, ...]:
        branch = (self.pooled, self.shift) if self.pooling else ()
        return (self.first, *branch, self.second)

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        act = self.style.act
        y = run(self.first, x)
        if self.pooling:
            y = run.add_to_cells(y, run(self.shift, run.pool(act(run(self.pooled, x), run))))
        return act(run.add(x, run(self.second, act(y, run))), run)

    def figure(self) -> Figure:
        act = self.style.activation_name
        steps = (Step(self.first, after=() if self.pooling else (act,)), Step(self.second))
        branch = Step(self.pooled, after=("pooled: mean and max",)) if self.pooling else None
        return Figure(steps, branch=branch, joined=act, residual=True, after=act)


@dataclass(frozen=True)
class BottleneckBlock:
    """KataGo's nested bottleneck: residual blocks between two 1 x 1 convolutions, all added to the input.

    The first convolution halves the filters and the last restores them. With `pooling`, the first inner block has
    global pooling.
    """

    name: str
    filters: int
    inner_blocks: int
    kernel: int
    style: Style
    gain: float = 2.0  # of the last convolution
    inner_gain: float = 2.0  # of the second convolution of each inner block
    pooling: bool = False
    columns: int = 0  # of the kernels; 0: as many as rows

    @property
    def _half(self) -> int:
        return max(1, self.filters // 2)

    @cached_property
    def reduce(self) -> Layer:
        return self.style.normalized(f"{self.name}.reduce", self.filters, self._half, kernel=1)

    @cached_property
    def inner(self) -> tuple[ResidualBlock, ...]:
        return tuple(
            ResidualBlock(
                name=f"{self.name}.inner{number}",
                filters=self._half,
                kernel=self.kernel,
                style=self.style,
                gain=self.inner_gain,
                pooling=self.pooling and number == 1,
                columns=self.columns,
            )
            for number in range(1, self.inner_blocks + 1)
        )

    @cached_property
    def restore(self) -> Layer:
        return self.style.normalized(f"{self.name}.restore", self._half, self.filters, kernel=1, gain=self.gain)

    @property
    def layers(self) -> tuple[Layer, ...]:
        inner = (layer for block in self.inner for layer in block.layers)
        return (self.reduce, *inner, self.restore)

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        y = self.style.act(run(self.reduce, x), run)
        for block in self.inner:
            y = block(y, run)
        return self.style.act(run.add(x, run(self.restore, y)), run)

    def figure(self) -> Figure:
        act = self.style.activation_name
        steps = [Step(self.reduce, after=(act,))]
        for block in self.inner:
            title = "{}, plus pooling" if block.pooling else "{}"
            steps += [Step(block.first, title, (act,)), Step(block.second, "{}, plus a skip", (act,))]
        return Figure((*steps, Step(self.restore)), residual=True, after=act)


@dataclass(frozen=True)
class DenseBlock:
    """Dense layer, normalization, activation, dropout; a board is flattened first."""

    name: str
    inputs: int
    units: int
    style: Style
    skip: bool = False  # the input is added before the activation

    @cached_property
    def dense(self) -> Layer:
        return self.style.normalized(self.name, self.inputs, self.units)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.dense,)

    def output_shape(self, shape: Shape) -> Shape:
        return (self.units,)

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        x = run.flatten(x)
        y = run(self.dense, x)
        return run.dropout(self.style.act(run.add(x, y) if self.skip else y, run))

    def figure(self) -> Figure:
        title = "{}, added to its input" if self.skip else "{}"
        return Figure((Step(self.dense, title, self.style.activation_and_dropout),))


def make_trunk(config: NetworkConfig, observation_shape: tuple[int, int, int]) -> tuple[Block, ...]:
    """The blocks between the observation and the heads."""
    planes = observation_shape[2]
    board = tuple(_BOARDS[config.kind](config, planes))
    shape: Shape = observation_shape
    for block in board:
        shape = block.output_shape(shape)
    return (*board, *_dense_blocks(config, math.prod(shape)))


def _plain_convolutions(config: NetworkConfig, planes: int) -> Iterator[Block]:
    inputs = planes
    for number, filters in enumerate(config.convolutions, start=1):
        yield ConvBlock(
            name=f"conv{number}",
            inputs=inputs,
            filters=filters,
            kernel=config.kernel,
            style=Style.of(config),
            columns=config.kernel_columns,
        )
        inputs = filters


def _no_convolutions(config: NetworkConfig, planes: int) -> Iterator[Block]:
    return iter(())


def _residual_tower(config: NetworkConfig, planes: int) -> Iterator[Block]:
    style, columns = Style.of(config), config.kernel_columns
    yield ConvBlock("stem", planes, config.filters, config.kernel, style, columns)
    for number in range(1, config.blocks + 1):
        yield ResidualBlock(
            name=f"block{number}",
            filters=config.filters,
            kernel=config.kernel,
            style=style,
            gain=_share(config, config.blocks),
            pooling=_has_pooling(config, number),
            columns=columns,
        )


def _bottleneck_tower(config: NetworkConfig, planes: int) -> Iterator[Block]:
    style, columns = Style.of(config), config.kernel_columns
    yield ConvBlock("stem", planes, config.filters, config.kernel, style, columns)
    for number in range(1, config.blocks + 1):
        yield BottleneckBlock(
            name=f"block{number}",
            filters=config.filters,
            inner_blocks=config.inner_blocks,
            kernel=config.kernel,
            style=style,
            gain=_share(config, config.blocks),
            inner_gain=_share(config, config.inner_blocks),
            pooling=_has_pooling(config, number),
            columns=columns,
        )


def _share(config: NetworkConfig, blocks: int) -> float:
    """The gain of the last convolution of each of these blocks.

    Without normalization every block adds its own variance; dividing by their number keeps the sum in range.
    """
    return 2.0 if config.batch_norm else 2.0 / max(blocks, 1)


def _has_pooling(config: NetworkConfig, number: int) -> bool:
    return config.pool_every > 0 and number % config.pool_every == 0


_BOARDS = {
    "residual": _residual_tower,
    "bottleneck": _bottleneck_tower,
    "plain": _plain_convolutions,
    "mlp": _no_convolutions,
}
"""The blocks that see the board, by `NetworkConfig.kind`."""


def _dense_blocks(config: NetworkConfig, inputs: int) -> Iterator[Block]:
    for number, units in enumerate(config.units, start=1):
        skip = config.skips and inputs == units
        yield DenseBlock(f"dense{number}", inputs, units, Style.of(config), skip=skip)
        inputs = units
