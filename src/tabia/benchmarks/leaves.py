"""One game alone: how much faster a search gets with several leaves a step, and how often it still plays the same move.

One Connect 4 position, 800 simulations, a 64 x 5 network; the moves are compared on 500 positions after six random
moves each (`positions`, seed 0). Fresh weights find all moves alike, so that any two searches would differ by chance;
the network's answers are therefore made as decided as a trained one's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.benchmarks.search import positions, seconds
from tabia.games import make
from tabia.games.game import State
from tabia.networks import Network
from tabia.networks.presets import tower
from tabia.search import Puct, Search
from tabia.search.evaluators import Network as Evaluator

LEAVES = (1, 4, 8, 16, 20, 32)
POSITIONS, SIMULATIONS = 500, 800


@dataclass(frozen=True)
class Row:
    """One width's result."""

    leaves: int
    seconds: float  # one search of one position
    ratio: float  # how many times faster than one leaf a step
    agreement: float | None  # share of positions with the same move as one leaf a step
    device: str

    def fields(self) -> dict[str, Any]:
        return asdict(self)


@dataclass(frozen=True)
class Decided:
    """A fresh network's answers, spread as far as a trained one's; one seat's gain is the other's loss."""

    network: Network
    logits: float = 25.0
    values: float = 30.0

    def __call__(self, parameters: tuple[Any, Array], observations: Array) -> tuple[Array, Array]:
        weights, even = parameters
        logits, values = self.network.forward(weights, observations)
        gain = jnp.tanh(self.values * (values[:, 0] - values[:, 1] - even))
        return self.logits * logits, jnp.stack([gain, -gain], axis=-1)

    def settle(self, weights: Any, observations: Array) -> tuple[Any, Array]:
        """The weights, and what they find even: the mean over some positions."""
        _, values = self.network.forward(weights, observations)
        return weights, jnp.mean(values[:, 0] - values[:, 1])


def run(*, compared: int = POSITIONS, repeats: int = 5) -> Iterator[Row]:
    """Measure each width, yielding a row as soon as it is known."""
    game = make("connect4")
    network = Network(tower(filters=64, blocks=5), game.observation_shape, game.num_actions, game.num_players)
    dtype = jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
    decided = Decided(network)
    weights = network.fold(network.init(jax.random.key(0)), dtype)
    parameters = decided.settle(weights, jax.vmap(game.observe)(positions(game, POSITIONS)))
    evaluate = Evaluator(game, decided)
    one, many = positions(game, 1), positions(game, compared) if compared else None

    def searched(leaves: int, states: State) -> Any:
        search = Search(game, evaluate, SIMULATIONS, Puct(), leaves=leaves)
        return search.explore(parameters, states, jax.random.key(1)).action

    slow = seconds([partial(searched, 1, one)], repeats)[0]
    moves = None if many is None else np.asarray(searched(1, many))
    for leaves in LEAVES:
        took = slow if leaves == 1 else seconds([partial(searched, leaves, one)], repeats)[0]
        agreed = None if moves is None else float(np.mean(np.asarray(searched(leaves, many)) == moves))
        yield Row(leaves, took, slow / took, agreed, jax.devices()[0].device_kind)
