"""What a block is, how it is drawn, and what all blocks and heads of a network share."""

from __future__ import annotations

from dataclasses import dataclass
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
