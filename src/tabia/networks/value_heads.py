"""Value heads: the value of every seat; and auxiliary heads, which train the features that the value head reads.

To add a value head, write its class here, add it to VALUES, and its name to `NetworkConfig.value`. To add an auxiliary
head, write its class here, build it in `make_auxiliary_heads`, and add the setting that switches it on.
Axis letters: B batch, H rows, W columns, F features, P seats (mover, next, next after), C planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tabia.networks.blocks import Figure, Step
from tabia.networks.errors import NetworkError
from tabia.networks.heads import SMALL_GAIN, AuxiliaryHead, HeadContext
from tabia.networks.layers import Layer
from tabia.networks.passes import Features, Pass


@dataclass(frozen=True)
class ValueHead:
    """Values of all seats: a convolution, the board flattened or pooled, a hidden dense layer, the output layer."""

    context: HeadContext

    @property
    def outputs(self) -> int:
        """Width of the output layer."""
        return self.context.num_players

    def values(self, raw: Features, run: Pass[Features]) -> tuple[Features, dict[str, Features]]:
        """Values [B, P] in [-1, 1] from the output layer, and what else it gives, by name."""
        return run.tanh(raw), {}

    @cached_property
    def conv(self) -> Layer | None:
        return self.context.conv("value.conv", self.context.config.value_filters) if self.context.is_board else None

    @cached_property
    def hidden(self) -> Layer | None:
        units = self.context.config.value_units
        return self.context.dense("value.hidden", self._inputs, units, gain=2.0) if units else None

    @cached_property
    def out(self) -> Layer:
        return self.context.dense("value.out", self.hidden.outputs if self.hidden else self._inputs, self.outputs)

    @property
    def _inputs(self) -> int:
        if not self.conv:
            return self.context.features[-1]
        return self.conv.outputs * (2 if self.context.config.value_pool else self.context.cells)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in (self.conv, self.hidden, self.out) if layer)

    def features(self, x: Features, run: Pass[Features]) -> Features:
        """What the head's convolution gives [B, H, W, F]; the trunk's features where there is no board."""
        return self.context.act(run(self.conv, x), run) if self.conv else x

    def __call__(self, features: Features, run: Pass[Features]) -> Features:
        """The raw output from the head's features."""
        x = run.pool(features) if self.context.config.value_pool else run.flatten(features)
        if self.hidden:
            x = run.dropout(self.context.style.act(run(self.hidden, x), run))
        return run(self.out, x)

    def figure(self) -> Figure:
        steps = [self.context.conv_step(self.conv)] if self.conv else []
        title = "pooled: {}" if self.context.config.value_pool else "{}"
        if self.hidden:
            steps.append(Step(self.hidden, title, self.context.style.activation_and_dropout))
            title = "{}"
        return Figure((*steps, Step(self.out, title)))

    def describe(self) -> tuple[str, str]:
        seats = ["mover", "next", "next after", "..."][: self.context.num_players]
        return f"{self.context.num_players} values", f"tanh: {', '.join(seats)}"


@dataclass(frozen=True)
class WDLValueHead(ValueHead):
    """Win, draw and loss of the mover, for two seats; the value is the chance to win less the chance to lose."""

    def __post_init__(self) -> None:
        seats = self.context.num_players
        if seats != 2:
            raise NetworkError(f"value='wdl' is for two seats; this game has {seats}: use value='scores'.")

    @property
    def outputs(self) -> int:
        return 3

    def values(self, raw: Features, run: Pass[Features]) -> tuple[Features, dict[str, Features]]:
        """Also gives the logits as `wdl` [B, 3]."""
        return run.wins_less_losses(raw), {"wdl": raw}

    def describe(self) -> tuple[str, str]:
        return "win, draw, loss", "softmax; value: win less loss"


@dataclass(frozen=True)
class FinalPositionHead:
    """What each plane will show in each cell at the end of the game, from the value head's features."""

    context: HeadContext
    name: str = "final_position"

    @cached_property
    def out(self) -> Layer:
        context = self.context
        filters, planes = context.config.value_filters, context.observation_shape[2]
        return Layer("value.board", filters, planes, kernel=1, bias=context.config.bias, exact=True, gain=SMALL_GAIN)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.out,)

    def __call__(self, trunk: Features, value: Features, run: Pass[Features]) -> Features:
        """Logits [B, H, W, C]."""
        return run(self.out, value)


@dataclass(frozen=True)
class OverHead:
    """One more logit beside those of the actions: that the game is over, from the trunk's dense features."""

    context: HeadContext
    name: str = "over"

    @cached_property
    def out(self) -> Layer:
        return self.context.dense("policy.over", self.context.features[-1], 1)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.out,)

    def __call__(self, trunk: Features, value: Features, run: Pass[Features]) -> Features:
        """Logits [B, 1]."""
        return run(self.out, trunk)


VALUES: dict[str, type[ValueHead]] = {"scores": ValueHead, "wdl": WDLValueHead}


def make_auxiliary_heads(context: HeadContext) -> tuple[AuxiliaryHead, ...]:
    """The heads for training alone that a configuration asks for."""
    final = (FinalPositionHead(context),) if context.config.final_position else ()
    over = (OverHead(context),) if context.config.over_class else ()
    return (*final, *over)
