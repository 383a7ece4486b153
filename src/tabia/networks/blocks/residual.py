"""Convolutions: alone, in residual blocks, and in KataGo's nested bottlenecks."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tabia.networks.blocks.block import Figure, Step, Style
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Features, Pass


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
