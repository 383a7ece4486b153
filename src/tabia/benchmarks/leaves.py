"""One game alone: how much faster a search gets with several leaves a step, and how often it still plays the same move.

One Connect 4 position, 800 simulations, a 64 x 5 network. The moves are compared on 500 random positions of 0 to 34
stones (`tabia.evaluation.positions.draw`, seed 0), which needs a trained network: fresh weights find all moves alike,
so that any two searches differ by chance.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tabia.benchmarks.search import positions, seconds
from tabia.evaluation.positions import draw
from tabia.games import make
from tabia.games.game import State
from tabia.networks import Network, weights
from tabia.networks.presets import tower
from tabia.players import runs
from tabia.players.search import Forward
from tabia.search import Puct, Search
from tabia.search.evaluators import Network as Evaluator

LEAVES = (1, 4, 8, 16, 20, 32)
POSITIONS, SIMULATIONS = 500, 800
PLIES = (0, 34)


@dataclass(frozen=True)
class Row:
    """One width's result."""

    leaves: int
    seconds: float  # one search of one position
    ratio: float  # how many times faster than one leaf a step
    agreement: float | None  # share of positions with the same move as one leaf a step
    network: str  # filters x blocks, and whether trained
    device: str

    def fields(self) -> dict[str, Any]:
        return asdict(self)


def _network(agent: str | None) -> tuple[Network, Any]:
    """The network of an agent, or fresh weights of a 64 x 5 tower, which are as fast but play no better than chance."""
    game = make("connect4")
    dtype = jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
    if agent is not None:
        loaded = weights.load(runs.weights_file(agent))
        return loaded.network, loaded.network.fold(loaded.variables, dtype)
    network = Network(tower(filters=64, blocks=5), game.observation_shape, game.num_actions, game.num_players)
    return network, network.fold(network.init(jax.random.key(0)), dtype)


def run(agent: str | None = None, *, repeats: int = 5, compared: int = POSITIONS) -> Iterator[Row]:
    """Measure each width, yielding a row as soon as it is known; moves are compared for an agent alone."""
    game = make("connect4")
    network, parameters = _network(agent)
    evaluate = Evaluator(game, Forward(network))
    one, many = positions(game, 1), None
    if compared and agent:
        many = jax.tree.map(jnp.asarray, draw(game, compared, plies=PLIES, seed=0).states)

    def searched(leaves: int, states: State) -> Any:
        search = Search(game, evaluate, SIMULATIONS, Puct(), leaves=leaves)
        return search.run_unchecked(parameters, states, jax.random.key(1)).action

    slow = seconds([partial(searched, 1, one)], repeats)[0]
    moves = None if many is None else np.asarray(searched(1, many))
    for leaves in LEAVES:
        took = slow if leaves == 1 else seconds([partial(searched, leaves, one)], repeats)[0]
        agreed = None if moves is None else float(np.mean(np.asarray(searched(leaves, many)) == moves))
        name = f"{network.config.filters}x{network.config.blocks}" + (", trained" if agent else ", fresh")
        yield Row(leaves, took, slow / took, agreed, name, jax.devices()[0].device_kind)
