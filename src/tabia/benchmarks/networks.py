"""Positions per second of each preset on Connect 4: at inference, and in a training step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.benchmarks.search import positions, seconds
from tabia.games import make
from tabia.networks import Folded, Network, Tree, Variables, compute_type, presets
from tabia.networks.summary import counts

METHOD = "fastest of 20 calls after compilation; float32 on a CPU, else bfloat16"
_LEARNING_RATE = 0.01


@dataclass(frozen=True)
class Row:
    """The result of one preset, in positions per second."""

    network: str
    trainable: int
    batch: int
    forward: float  # at inference, with folded weights
    training: float  # a training step: forward, backward, SGD
    device: str

    def to_dict(self) -> dict[str, Any]:
        """The row as JSON stores it."""
        return asdict(self)


def run(names: Sequence[str] | None = None, *, batch: int = 256, repeats: int = 20) -> Iterator[Row]:
    """Measure each preset and yield its row."""
    game = make("connect4")
    shape = (game.observation_shape, game.num_actions, game.num_players)
    observations = jax.vmap(game.observe)(positions(game, batch))
    dtype = compute_type("auto")
    for name in names or presets.PRESETS:
        config = presets.make(name, **({"policy": "columns"} if name == "any_size" else {}))
        network = Network(config, *shape)
        variables = network.init(jax.random.key(0))
        play = partial(_play, network, network.prepare(network.fold(variables, dtype)), observations)
        learn = partial(_learn, network, dtype, variables, observations)
        forward, training = (batch / taken for taken in seconds([play, learn], repeats, min))
        yield Row(
            network=name,
            trainable=counts(network).trainable,
            batch=batch,
            forward=forward,
            training=training,
            device=jax.devices()[0].device_kind,
        )


@partial(jax.jit, static_argnums=0)
def _play(network: Network, folded: Folded, observations: Array) -> tuple[Array, Array]:
    return network.forward(folded, observations)


@partial(jax.jit, static_argnums=(0, 1))
def _learn(network: Network, dtype: np.dtype, variables: Variables, observations: Array) -> Variables:
    """One step toward a uniform policy and values of 0; other targets cost the same."""

    def loss(params: Tree) -> tuple[Array, Tree]:
        weights = Variables(params, variables.statistics)
        outputs, statistics = network.apply(weights, observations, train=True, key=jax.random.key(1), dtype=dtype)
        return -jax.nn.log_softmax(outputs.logits).mean() + jnp.square(outputs.values).mean(), statistics

    gradient, statistics = jax.grad(loss, has_aux=True)(variables.params)
    params = jax.tree.map(lambda weight, slope: weight - _LEARNING_RATE * slope, variables.params, gradient)
    return Variables(params, statistics)
