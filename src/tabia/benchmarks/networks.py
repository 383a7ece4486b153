"""Positions per second of each preset network on Connect 4: folded for playing, and in a step of training."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.benchmarks.search import positions, seconds
from tabia.games import make
from tabia.networks import Network, presets
from tabia.networks.network import Variables
from tabia.networks.summary import counts

METHOD = "fastest of 20 calls after compilation; float32 on a CPU, else bfloat16"
_RATE = 0.01


@dataclass(frozen=True)
class Row:
    """One preset's result, in positions per second."""

    network: str
    trainable: int
    batch: int
    forward: float  # folded, for playing
    training: float  # forward, backward and a step of SGD
    device: str

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)


def run(names: Sequence[str] | None = None, *, batch: int = 256, repeats: int = 20) -> Iterator[Row]:
    """Measure each preset, yielding its row as soon as it is known."""
    game = make("connect4")
    shape = (game.observation_shape, game.num_actions, game.num_players)
    seen = jax.vmap(game.observe)(positions(game, batch))
    dtype = jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
    for name in names or presets.PRESETS:
        config = presets.make(name, **({"policy": "columns"} if name == "any_size" else {}))
        network = Network(config, *shape)
        variables = network.init(jax.random.key(0))
        play = partial(_play, network, network.fold(variables, dtype), seen)
        learn = partial(_learn, network, dtype, variables, seen)
        forward, training = (batch / taken for taken in seconds([play, learn], repeats, min))
        yield Row(name, counts(network).trainable, batch, forward, training, jax.devices()[0].device_kind)


@partial(jax.jit, static_argnums=0)
def _play(network: Network, folded: Any, seen: Array) -> tuple[Array, Array]:
    return network.forward(folded, seen)


@partial(jax.jit, static_argnums=(0, 1))
def _learn(network: Network, dtype: Any, variables: Variables, seen: Array) -> Variables:
    """One step toward even moves and values of 0: the work is that of any other target."""

    def loss(params: Any) -> tuple[Array, Any]:
        weights = Variables(params, variables.statistics)
        outputs, statistics = network.apply(weights, seen, train=True, key=jax.random.key(1), dtype=dtype)
        return -jax.nn.log_softmax(outputs.logits).mean() + jnp.square(outputs.values).mean(), statistics

    slope, statistics = jax.grad(loss, has_aux=True)(variables.params)
    params = jax.tree.map(lambda weight, steep: weight - _RATE * steep, variables.params, slope)
    return Variables(params, statistics)
