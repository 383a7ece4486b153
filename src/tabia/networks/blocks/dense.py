"""Dense layers at the end of a trunk."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tabia.networks.blocks.block import Figure, Step, Style
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Features, Pass


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
