"""Mixer blocks: matrices over the cells, alternating with a channel MLP.

They follow MLP-Mixer (Tolstikhin et al. 2021), with one matrix over the cells as in ResMLP (Touvron et al. 2021).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tabia.networks.blocks.block import Figure, Step, Style
from tabia.networks.cell_layers import CellLayer
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Features, Pass


@dataclass(frozen=True)
class ChannelMLP:
    """Two 1 x 1 convolutions with an activation in between, added to their input."""

    name: str
    filters: int
    hidden: int
    style: Style
    gain: float = 2.0  # of the second convolution

    @cached_property
    def expand(self) -> Layer:
        return self.style.normalized(f"{self.name}.expand", self.filters, self.hidden, kernel=1)

    @cached_property
    def contract(self) -> Layer:
        return self.style.normalized(f"{self.name}.contract", self.hidden, self.filters, kernel=1, gain=self.gain)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.expand, self.contract)

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        return run.add(x, run(self.contract, self.style.act(run(self.expand, x), run)))

    @property
    def steps(self) -> tuple[Step, ...]:
        """Its layers in a figure."""
        return Step(self.expand, after=(self.style.activation_name,)), Step(self.contract)


@dataclass(frozen=True)
class MixerBlock:
    """A matrix over the cells for each group of channels, added to its input; then a channel MLP."""

    name: str
    filters: int
    hidden: int
    groups: int
    cells: int
    style: Style
    gain: float = 2.0  # of the matrices, and of the last convolution

    @cached_property
    def mix(self) -> CellLayer:
        return CellLayer(
            name=f"{self.name}.mix",
            inputs=self.filters,
            outputs=self.filters,
            kernel=1,
            norm=self.style.batch_norm,
            bias=self.style.bias and not self.style.batch_norm,
            gain=self.gain,
            cells=self.cells,
            groups=self.groups,
        )

    @cached_property
    def mlp(self) -> ChannelMLP:
        return ChannelMLP(self.name, self.filters, self.hidden, self.style, self.gain)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.mix, *self.mlp.layers)

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        return self.mlp(run.add(x, run.mix_cells(self.mix, x)), run)

    def figure(self) -> Figure:
        return Figure((Step(self.mix, "{}, plus a skip"), *self.mlp.steps), residual=True)
