"""The heads of a network. A head declares its layers, applies itself and describes itself, all in one class.

Policy heads give one logit per action. Value heads give every seat's value. Auxiliary heads give what only training
looks at; inference leaves them out. To add a head, write its class here and name it in POLICIES, VALUES or
`make_auxiliary_heads`; the setting that selects it goes to `config.py`.
Parameters are named by layer, such as `policy.conv` and `value.out`. Weights files use these names.
Axis letters: B batch, H rows, W columns, F features, A actions, P seats (mover, next, next after), C planes.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import jax
import jax.numpy as jnp
from jax import Array

from tabia.networks.blocks import Figure, Step, Style, flatten, pool
from tabia.networks.config import NetworkConfig
from tabia.networks.errors import NetworkError
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Pass

# Scale of the last layers' first weights: an untrained network finds all moves nearly equal and all values near 0.
_SMALL = 0.002


@dataclass(frozen=True)
class HeadInput:
    """What a head is built for: the features it reads and the game it serves."""

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

    def dense(self, name: str, inputs: int, outputs: int, *, gain: float = _SMALL) -> Layer:
        """A dense layer of a head: never normalized, and in float32."""
        return Layer(name, inputs, outputs, bias=self.config.bias, exact=True, gain=gain)

    def act(self, x: Array) -> Array:
        """What follows the 1 x 1 convolution."""
        return self.style.act(x) if self.config.head_norm else x

    def conv_step(self, conv: Layer) -> Step:
        """The 1 x 1 convolution in a figure."""
        return Step(conv, after=(self.style.activation_name,) if self.config.head_norm else ())


class Head(Protocol):
    """What every head has."""

    @property
    def layers(self) -> tuple[Layer, ...]:
        """Its layers, which declare its parameters, in the order of use."""

    def figure(self) -> Figure:
        """The head as the picture shows it."""

    def describe(self) -> tuple[str, str]:
        """What the head gives: a title and a detail."""


class PolicyHead(Head, Protocol):
    """One logit per action."""

    def __call__(self, x: Array, run: Pass) -> Array:
        """Logits [B, A] from the trunk's features."""


@dataclass(frozen=True)
class DensePolicy:
    """The features flattened, then one dense layer to any actions."""

    given: HeadInput

    @cached_property
    def conv(self) -> Layer | None:
        return self.given.conv("policy.conv", self.given.config.policy_filters) if self.given.is_board else None

    @cached_property
    def out(self) -> Layer:
        features = self.given.cells * self.conv.outputs if self.conv else self.given.features[-1]
        return self.given.dense("policy.out", features, self.given.num_actions)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.conv, self.out) if self.conv else (self.out,)

    def __call__(self, x: Array, run: Pass) -> Array:
        if self.conv:
            x = run.dropout(flatten(self.given.act(run(self.conv, x))))
        return run(self.out, x)

    def figure(self) -> Figure:
        first = (self.given.conv_step(self.conv),) if self.conv else ()
        return Figure((*first, Step(self.out)))

    def describe(self) -> tuple[str, str]:
        return f"{self.given.num_actions} logits", "one per action"


@dataclass(frozen=True)
class BoardPolicy:
    """Actions of cells or columns: a convolution, shifted by its own pooled features; fits boards of any size."""

    given: HeadInput

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse a game whose actions are not those of the board."""
        raise NotImplementedError

    @cached_property
    def conv(self) -> Layer:
        return self.given.conv("policy.conv", self.given.config.policy_filters)

    @cached_property
    def shift(self) -> Layer:
        filters = self.given.config.policy_filters
        return Layer("policy.tell", 2 * filters, filters, bias=False, gain=1.0)

    def features(self, x: Array, run: Pass) -> tuple[Array, Array]:
        """Features of cells [B, H, W, F], and of the whole board [B, 2F]."""
        x = run(self.conv, x)
        pooled = pool(self.given.act(x))
        return run.dropout(self.given.style.act(x + run(self.shift, pooled)[:, None, None, :])), pooled

    def first_steps(self) -> tuple[Step, ...]:
        """The figure of `features`."""
        act = self.given.style.activation_name
        return self.given.conv_step(self.conv), Step(self.shift, "pooled: {}, added to cells", (act,))


@dataclass(frozen=True)
class CellPolicy(BoardPolicy):
    """Actions cell * planes + plane, then `policy_extra` actions that belong to no cell, such as a pass."""

    def check(self) -> None:
        """Refuse a game with another number of actions."""
        given, config = self.given, self.given.config
        rows, columns, _ = given.observation_shape
        planes, extra = config.policy_planes, config.policy_extra
        expected = rows * columns * planes + extra
        if given.num_actions != expected:
            raise NetworkError(
                f"policy='cells' has {rows} x {columns} x {planes} + {extra} = {expected} actions; this game has "
                f"{given.num_actions}: change policy_planes or policy_extra, or use policy='dense'."
            )

    @cached_property
    def out(self) -> Layer:
        return self.given.dense("policy.out", self.given.config.policy_filters, self.given.config.policy_planes)

    @cached_property
    def extra(self) -> Layer | None:
        config = self.given.config
        count = config.policy_extra
        return self.given.dense("policy.extra", 2 * config.policy_filters, count) if count else None

    @property
    def layers(self) -> tuple[Layer, ...]:
        extra = (self.extra,) if self.extra else ()
        return (self.conv, self.shift, self.out, *extra)

    def __call__(self, x: Array, run: Pass) -> Array:
        x, pooled = self.features(x, run)
        logits = flatten(run(self.out, x))
        return jnp.concatenate([logits, run(self.extra, pooled)], axis=-1) if self.extra else logits

    def figure(self) -> Figure:
        return Figure((*self.first_steps(), Step(self.out)))

    def describe(self) -> tuple[str, str]:
        extra = self.given.config.policy_extra
        return f"{self.given.num_actions} logits", f"{extra} from the pooled board" if extra else "one per action"


@dataclass(frozen=True)
class ColumnPolicy(BoardPolicy):
    """One action per column, for games in which stones drop."""

    def check(self) -> None:
        """Refuse a game whose actions are not the columns."""
        columns, actions = self.given.observation_shape[1], self.given.num_actions
        if actions != columns:
            raise NetworkError(
                f"policy='columns' has one action per column, {columns} here; this game has {actions}: use "
                "policy='dense', or 'cells' where actions are cells."
            )

    @cached_property
    def out(self) -> Layer:
        return self.given.dense("policy.out", 2 * self.given.config.policy_filters, 1)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.conv, self.shift, self.out)

    def __call__(self, x: Array, run: Pass) -> Array:
        x, _ = self.features(x, run)
        columns = jnp.concatenate([x.mean(axis=1), x.max(axis=1)], axis=-1)  # [B, W, 2F]
        return flatten(run(self.out, columns))

    def figure(self) -> Figure:
        return Figure((*self.first_steps(), Step(self.out, "columns pooled: {}")))

    def describe(self) -> tuple[str, str]:
        return f"{self.given.num_actions} logits", "one per action"


@dataclass(frozen=True)
class ValueHead:
    """Values of all seats: a convolution, the board flattened or pooled, a hidden dense layer, the output layer."""

    given: HeadInput

    @property
    def outputs(self) -> int:
        """Width of the output layer."""
        return self.given.num_players

    def values(self, raw: Array) -> tuple[Array, dict[str, Array]]:
        """Values [B, P] in [-1, 1] from the output layer, and what else it gives, by name."""
        return jnp.tanh(raw), {}

    @cached_property
    def conv(self) -> Layer | None:
        return self.given.conv("value.conv", self.given.config.value_filters) if self.given.is_board else None

    @cached_property
    def hidden(self) -> Layer | None:
        units = self.given.config.value_units
        return self.given.dense("value.hidden", self._inputs, units, gain=2.0) if units else None

    @cached_property
    def out(self) -> Layer:
        return self.given.dense("value.out", self.hidden.outputs if self.hidden else self._inputs, self.outputs)

    @property
    def _inputs(self) -> int:
        if not self.conv:
            return self.given.features[-1]
        return self.conv.outputs * (2 if self.given.config.value_pool else self.given.cells)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return tuple(layer for layer in (self.conv, self.hidden, self.out) if layer)

    def features(self, x: Array, run: Pass) -> Array:
        """What the head's convolution gives [B, H, W, F]; the trunk's features where there is no board."""
        return self.given.act(run(self.conv, x)) if self.conv else x

    def __call__(self, features: Array, run: Pass) -> Array:
        """The raw output from the head's features."""
        x = (pool if self.given.config.value_pool else flatten)(features)
        if self.hidden:
            x = run.dropout(self.given.style.act(run(self.hidden, x)))
        return run(self.out, x)

    def figure(self) -> Figure:
        steps = [self.given.conv_step(self.conv)] if self.conv else []
        title = "pooled: {}" if self.given.config.value_pool else "{}"
        if self.hidden:
            steps.append(Step(self.hidden, title, self.given.style.activation_and_dropout))
            title = "{}"
        return Figure((*steps, Step(self.out, title)))

    def describe(self) -> tuple[str, str]:
        seats = ["mover", "next", "next after", "..."][: self.given.num_players]
        return f"{self.given.num_players} values", f"tanh: {', '.join(seats)}"


@dataclass(frozen=True)
class WDLValueHead(ValueHead):
    """Win, draw and loss of the mover, for two seats; the value is the chance to win less the chance to lose."""

    def __post_init__(self) -> None:
        seats = self.given.num_players
        if seats != 2:
            raise NetworkError(f"value='wdl' is for two seats; this game has {seats}: use value='scores'.")

    @property
    def outputs(self) -> int:
        return 3

    def values(self, raw: Array) -> tuple[Array, dict[str, Array]]:
        """Also gives the logits as `wdl` [B, 3]."""
        chances = jax.nn.softmax(raw)
        mover = chances[:, 0] - chances[:, 2]
        return jnp.stack([mover, -mover], axis=-1), {"wdl": raw}

    def describe(self) -> tuple[str, str]:
        return "win, draw, loss", "softmax; value: win less loss"


class AuxiliaryHead(Head, Protocol):
    """A head for a loss of its own; its output is `Outputs.auxiliary[name]`."""

    @property
    def name(self) -> str:
        """The name of its output."""

    def __call__(self, trunk: Array, value: Array, run: Pass) -> Array:
        """The output, from the trunk's features and the value head's."""


@dataclass(frozen=True)
class FinalPositionHead:
    """What each plane will show in each cell at the end of the game, from the value head's features."""

    given: HeadInput
    name: str = "final_position"

    @cached_property
    def out(self) -> Layer:
        given = self.given
        filters, planes = given.config.value_filters, given.observation_shape[2]
        return Layer("value.board", filters, planes, kernel=1, bias=given.config.bias, exact=True, gain=_SMALL)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.out,)

    def __call__(self, trunk: Array, value: Array, run: Pass) -> Array:
        """Logits [B, H, W, C]."""
        return run(self.out, value)

    def figure(self) -> Figure:
        return Figure((Step(self.out),))

    def describe(self) -> tuple[str, str]:
        return "final position", "a logit per cell and plane"


POLICIES: dict[str, type[DensePolicy | CellPolicy | ColumnPolicy]] = {
    "dense": DensePolicy,
    "cells": CellPolicy,
    "columns": ColumnPolicy,
}
VALUES: dict[str, type[ValueHead]] = {"scores": ValueHead, "wdl": WDLValueHead}


def make_auxiliary_heads(given: HeadInput) -> tuple[AuxiliaryHead, ...]:
    """The heads for training alone that a configuration asks for."""
    return (FinalPositionHead(given),) if given.config.final_position else ()
