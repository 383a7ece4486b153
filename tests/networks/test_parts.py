"""Blocks and heads: each uses exactly the layers it declares, and a new one needs nothing but its own class."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia.networks import Network, network
from tabia.networks.blocks import Block, Figure, Step, make_trunk
from tabia.networks.config import NetworkConfig
from tabia.networks.heads import HeadContext
from tabia.networks.layers import Layer, Shape
from tabia.networks.passes import Pass, ShapePass
from tabia.networks.picture import draw
from tabia.networks.presets import glimmerfors
from tabia.networks.summary import counts, rows, summary

from .zoo import ZOO, boards, trained


@pytest.mark.parametrize("name", ZOO)
def test_parts_use_the_layers_they_declare(name: str) -> None:
    zoo = ZOO[name]
    assert tuple(row.layer for row in rows(zoo)) == zoo.layers
    shape: Shape = zoo.observation_shape
    for block in zoo.trunk:
        run, before = ShapePass(), shape
        after = jax.eval_shape(lambda x, block=block, run=run: block(x, run), jnp.zeros((1, *before)))
        shape = block.output_shape(before)
        assert after.shape == (1, *shape)
        assert tuple(layer for layer, _ in run.shapes) == block.layers
        assert {step.layer for step in block.figure().steps} <= set(block.layers)


@dataclass(frozen=True)
class Gate:
    """Features scaled by a learned function of themselves, for the tests below."""

    features: int

    @cached_property
    def dense(self) -> Layer:
        return Layer("gate", self.features, self.features)

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (self.dense,)

    def output_shape(self, shape: Shape) -> Shape:
        return shape

    def __call__(self, x: Array, run: Pass) -> Array:
        return x * jax.nn.sigmoid(run(self.dense, x))

    def figure(self) -> Figure:
        return Figure((Step(self.dense, "gate: {}"),))


@dataclass(frozen=True)
class StoneCount:
    """One number from the value head's features, for the test below."""

    context: HeadContext
    name: str = "stones"

    @property
    def layers(self) -> tuple[Layer, ...]:
        return (Layer("stones", self.context.config.value_filters, 1),)

    def __call__(self, trunk: Array, value: Array, run: Pass) -> Array:
        return run(self.layers[0], value).sum(axis=(1, 2))


def test_a_new_block_and_a_new_head(monkeypatch: pytest.MonkeyPatch) -> None:
    def make(config: NetworkConfig, shape: tuple[int, int, int]) -> tuple[Block, ...]:
        return (*make_trunk(config, shape), Gate(config.filters))

    plain = Network(glimmerfors(4, 1), (3, 3, 2), 9, 2)
    before = counts(plain)
    monkeypatch.setattr(network, "make_trunk", make)
    monkeypatch.setattr(network, "make_auxiliary_heads", lambda context: (StoneCount(context),))
    made = Network(glimmerfors(4, 1), (3, 3, 2), 9, 2)
    assert counts(made).trainable == before.trainable + (4 * 4 + 4) + (1 + 1)
    assert counts(made).multiplications == before.multiplications + 9 * 4 * 4 + 9 * 1
    assert "\ngate " in summary(made) and "\nstones " in summary(made)
    assert "gate: dense, 4" in draw(made)
    variables, observations = trained(made), boards(made, 5)
    outputs, _ = made.apply(variables, observations)
    assert outputs.auxiliary["stones"].shape == (5, 1)
    logits, values = made.forward(made.fold(variables), observations)
    np.testing.assert_allclose(logits, outputs.logits, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values, outputs.values, atol=1e-4)
