"""What the heads of a network share: the context they are built for, and their interfaces.

Policy heads give one logit per action (`policy_heads.py`). Value heads give every seat's value, and auxiliary heads
give outputs that only training uses (`value_heads.py`). Like a block, a head declares its layers, applies itself and
describes itself in one class. Weights files name its parameters by layer, such as `policy.conv` and `value.out`.
Axis letters: B batch, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from tabia.networks.blocks import Figure, Step, Style
from tabia.networks.config import NetworkConfig
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Features, Pass

SMALL_GAIN = 0.002
"""For output layers: an untrained network finds all moves nearly equal and all values near 0."""


@dataclass(frozen=True)
class HeadContext:
    """What a head is built for: the features it reads, and the game."""

    config: NetworkConfig
    features: Shape  # of the trunk's output: (H, W, F), or (F,) after dense layers
    observation_shape: tuple[int, int, int]
    num_actions: int
    num_players: int

    @property
    def is_board(self) -> bool:
        """Whether the features still have rows and columns."""
        return len(self.features) == 3

    @property
    def cells(self) -> int:
        """Cells of the board; 1 where the features have none."""
        return self.features[0] * self.features[1] if self.is_board else 1

    @property
    def style(self) -> Style:
        """The network's style."""
        return Style.of(self.config)

    def conv(self, name: str, filters: int) -> Layer:
        """The 1 x 1 convolution at the start of a head."""
        config, inputs = self.config, self.features[-1]
        if config.head_norm:
            return self.style.normalized(name, inputs, filters, kernel=1)
        return Layer(name, inputs, filters, kernel=1, bias=config.bias)

    def dense(self, name: str, inputs: int, outputs: int, *, gain: float = SMALL_GAIN) -> Layer:
        """A dense layer of a head: never normalized, and in float32."""
        return Layer(name, inputs, outputs, bias=self.config.bias, exact=True, gain=gain)

    def act(self, x: Features, run: Pass[Features]) -> Features:
        """What follows the 1 x 1 convolution."""
        return self.style.act(x, run) if self.config.head_norm else x

    def conv_step(self, conv: Layer) -> Step:
        """The 1 x 1 convolution in a figure."""
        return Step(conv, after=(self.style.activation_name,) if self.config.head_norm else ())


class Head(Protocol):
    """What every head has."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Its layers, which declare its parameters, in the order of use."""


class DrawnHead(Head, Protocol):
    """A head that the picture shows."""

    def figure(self) -> Figure:
        """Its layers."""

    def describe(self) -> tuple[str, str]:
        """Its output: a title and a detail."""


class PolicyHead(DrawnHead, Protocol):
    """One logit per action."""

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        """Logits [B, A] from the trunk's features."""


class AuxiliaryHead(Head, Protocol):
    """A head for a loss of its own; its output is `Outputs.auxiliary[name]`."""

    @property
    def name(self) -> str:
        """The name of its output."""

    def __call__(self, trunk: Features, value: Features, run: Pass[Features]) -> Features:
        """The output, from the trunk's features and the value head's."""
