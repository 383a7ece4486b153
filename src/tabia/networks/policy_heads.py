"""Policy heads: one logit per action.

To add one, write its class here, add it to POLICIES, and its name to `NetworkConfig.policy`.
Axis letters: B batch, H rows, W columns, F features.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from tabia.networks.blocks import Figure, Step
from tabia.networks.errors import NetworkError
from tabia.networks.heads import HeadContext
from tabia.networks.layers import Layer
from tabia.networks.passes import Features, Pass


@dataclass(frozen=True)
class DensePolicy:
    """The features flattened, then one dense layer to any actions."""

    context: HeadContext

    @cached_property
    def conv(self) -> Layer | None:
        return self.context.conv("policy.conv", self.context.config.policy_filters) if self.context.is_board else None

    @cached_property
    def out(self) -> Layer:
        features = self.context.cells * self.conv.outputs if self.conv else self.context.features[-1]
        return self.context.dense("policy.out", features, self.context.num_actions)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.conv, self.out) if self.conv else (self.out,)

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        if self.conv:
            x = run.dropout(run.flatten(self.context.act(run(self.conv, x), run)))
        return run(self.out, x)

    def figure(self) -> Figure:
        first = (self.context.conv_step(self.conv),) if self.conv else ()
        return Figure((*first, Step(self.out)))

    def describe(self) -> tuple[str, str]:
        return f"{self.context.num_actions} logits", "one per action"


@dataclass(frozen=True)
class BoardPolicy:
    """Actions of cells or columns: a convolution, shifted by its own pooled features; fits boards of any size."""

    context: HeadContext

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Refuse a game whose actions are not those of the board."""
        raise NotImplementedError

    @cached_property
    def conv(self) -> Layer:
        return self.context.conv("policy.conv", self.context.config.policy_filters)

    @cached_property
    def shift(self) -> Layer:
        filters = self.context.config.policy_filters
        return Layer("policy.tell", 2 * filters, filters, bias=False, gain=1.0)

    def features(self, x: Features, run: Pass[Features]) -> tuple[Features, Features]:
        """Features of cells [B, H, W, F], and of the whole board [B, 2F]."""
        x = run(self.conv, x)
        pooled = run.pool(self.context.act(x, run))
        shifted = run.add_to_cells(x, run(self.shift, pooled))
        return run.dropout(self.context.style.act(shifted, run)), pooled

    def first_steps(self) -> tuple[Step, ...]:
        """The figure of `features`."""
        act = self.context.style.activation_name
        return self.context.conv_step(self.conv), Step(self.shift, "pooled: {}, added to cells", (act,))


@dataclass(frozen=True)
class CellPolicy(BoardPolicy):
    """Actions cell * planes + plane, then `policy_extra` actions that belong to no cell, such as a pass."""

    def check(self) -> None:
        """Refuse a game with another number of actions."""
        context, config = self.context, self.context.config
        rows, columns, _ = context.observation_shape
        planes, extra = config.policy_planes, config.policy_extra
        expected = rows * columns * planes + extra
        if context.num_actions != expected:
            raise NetworkError(
                f"policy='cells' has {rows} x {columns} x {planes} + {extra} = {expected} actions; this game has "
                f"{context.num_actions}: change policy_planes or policy_extra, or use policy='dense'."
            )

    @cached_property
    def out(self) -> Layer:
        return self.context.dense("policy.out", self.context.config.policy_filters, self.context.config.policy_planes)

    @cached_property
    def extra(self) -> Layer | None:
        config = self.context.config
        count = config.policy_extra
        return self.context.dense("policy.extra", 2 * config.policy_filters, count) if count else None

    @property
    def layers(self) -> tuple[Layer, ...]:
        extra = (self.extra,) if self.extra else ()
        return (self.conv, self.shift, self.out, *extra)

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        x, pooled = self.features(x, run)
        logits = run.flatten(run(self.out, x))
        return run.join(logits, run(self.extra, pooled)) if self.extra else logits

    def figure(self) -> Figure:
        return Figure((*self.first_steps(), Step(self.out)))

    def describe(self) -> tuple[str, str]:
        extra = self.context.config.policy_extra
        return f"{self.context.num_actions} logits", f"{extra} from the pooled board" if extra else "one per action"


@dataclass(frozen=True)
class ColumnPolicy(BoardPolicy):
    """One action per column, for games in which stones drop."""

    def check(self) -> None:
        """Refuse a game whose actions are not the columns."""
        columns, actions = self.context.observation_shape[1], self.context.num_actions
        if actions != columns:
            raise NetworkError(
                f"policy='columns' has one action per column, {columns} here; this game has {actions}: use "
                "policy='dense', or 'cells' where actions are cells."
            )

    @cached_property
    def out(self) -> Layer:
        return self.context.dense("policy.out", 2 * self.context.config.policy_filters, 1)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.conv, self.shift, self.out)

    def __call__(self, x: Features, run: Pass[Features]) -> Features:
        x, _ = self.features(x, run)
        return run.flatten(run(self.out, run.pool_columns(x)))

    def figure(self) -> Figure:
        return Figure((*self.first_steps(), Step(self.out, "columns pooled: {}")))

    def describe(self) -> tuple[str, str]:
        return f"{self.context.num_actions} logits", "one per action"


POLICIES: dict[str, type[DensePolicy | CellPolicy | ColumnPolicy]] = {
    "dense": DensePolicy,
    "cells": CellPolicy,
    "columns": ColumnPolicy,
}
