"""One search with several leaves per step: how much faster it is, and how often it plays the same move.

One Connect 4 position, 800 simulations, a 64 x 5 network. The moves are compared on 500 random positions of 0 to 34
stones (`tabia.evaluation.positions.draw`, seed 0). That needs a trained network: with fresh weights all moves look the
same, and any two searches differ by chance.
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

METHOD = "median of 5 searches after compilation"
LEAVES = (1, 4, 8, 16, 20, 32)
POSITIONS, SIMULATIONS = 500, 800
PLIES = (0, 34)


@dataclass(frozen=True)
class LeavesSpeed:
    """The result for one number of leaves."""

    leaves: int
    seconds: float  # one search of one position
    ratio: float  # speed relative to one leaf per step
    agreement: float | None  # fraction of positions with the same move as one leaf per step
    network: str  # filters x blocks, and whether trained
    device: str

    def to_dict(self) -> dict[str, Any]:
        """The result as a JSON object."""
        return asdict(self)


def _network(agent: str | None) -> tuple[Network, Any]:
    """The network of an agent, or a 64 x 5 tower with fresh weights, which is as fast but does not play well."""
    game = make("connect4")
    dtype = jnp.float32 if jax.default_backend() == "cpu" else jnp.bfloat16
    if agent is not None:
        loaded = weights.load(runs.weights_file(agent))
        return loaded.network, loaded.network.fold(loaded.variables, dtype)
    network = Network(tower(filters=64, blocks=5), game.observation_shape, game.num_actions, game.num_players)
    return network, network.fold(network.init(jax.random.key(0)), dtype)


def run(agent: str | None = None, *, repeats: int = 5, compared: int = POSITIONS) -> Iterator[LeavesSpeed]:
    """Measure each number of leaves and yield its row; moves are compared only for an agent."""
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
        yield LeavesSpeed(
            leaves=leaves,
            seconds=took,
            ratio=slow / took,
            agreement=agreed,
            network=name,
            device=jax.devices()[0].device_kind,
        )
