"""Gated blocks: a depthwise convolution between two 1 x 1 convolutions, times a gate.

They are inverted residual blocks (MobileNetV2, Sandler et al. 2018) with a gated linear unit (Shazeer 2020).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tabia.networks.blocks.block import Figure, Step, Style
from tabia.networks.cell_layers import DepthwiseLayer
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Features, Pass


@dataclass(frozen=True)
class GatedBlock:
    """1 x 1 to more features, a depthwise convolution, times a gate, and 1 x 1 back, added to the input.

    The gate is the SiLU of another 1 x 1 convolution of the input.
    """

    name: str
    filters: int
    hidden: int
    kernel: int
    style: Style
    gain: float = 2.0  # of the last convolution
    columns: int = 0  # of the kernel; 0: as many as rows

    @cached_property
    def expand(self) -> Layer:
        return self.style.normalized(f"{self.name}.expand", self.filters, self.hidden, kernel=1, gain=1.0)

    @cached_property
    def gate(self) -> Layer:
        return self.style.normalized(f"{self.name}.gate", self.filters, self.hidden, kernel=1, gain=1.0)

    @cached_property
    def depthwise(self) -> DepthwiseLayer:
        return DepthwiseLayer(
            name=f"{self.name}.depthwise",
            inputs=self.hidden,
            outputs=self.hidden,
            kernel=self.kernel,
            norm=self.style.batch_norm,
            bias=self.style.bias and not self.style.batch_norm,
            gain=1.0,
            columns=self.columns,
        )

    @cached_property
    def contract(self) -> Layer:
        return self.style.normalized(f"{self.name}.contract", self.hidden, self.filters, kernel=1, gain=self.gain)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.expand, self.depthwise, self.gate, self.contract)

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        y = run.depthwise(self.depthwise, run(self.expand, x))
        return run.add(x, run(self.contract, run.multiply(y, run.silu(run(self.gate, x)))))

    def figure(self) -> Figure:
        gate = Step(self.gate, "times a gate: {}", ("of the input", "SiLU"))
        return Figure((Step(self.expand), Step(self.depthwise), gate, Step(self.contract)), residual=True)
