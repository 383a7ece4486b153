"""How far ONNX Runtime is from the network that a file was exported from, on positions of random games."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import NamedTuple

import jax
import numpy as np
from jax import Array

from tabia.core.errors import TabiaError
from tabia.evaluation import positions
from tabia.games.game import Game, State
from tabia.networks import Folded, Network
from tabia.networks.layers import without_points
from tabia.players.runs import Agent

TOLERANCE = 1e-4
"""Float32 sums in another order differ by less than this."""
_BATCH = 250


class Agreement(NamedTuple):
    """The largest differences of all positions.

    Logits reach more than 100, where float32 has steps of 1e-5, so their differences are relative beyond 1.
    """

    positions: int
    logits: float  # |a - b| / max(1, |b|)
    values: float  # |a - b|

    @property
    def holds(self) -> bool:
        """Whether the outputs agree within the tolerance."""
        return max(self.logits, self.values) <= TOLERANCE


def compare(game: Game, agent: Agent, path: Path, *, count: int = 1000, seed: int = 0) -> Agreement:
    """Compare the outputs of a file with those of its agent on `count` distinct positions, or all of a small game."""
    try:
        import onnxruntime
    except ImportError:
        raise TabiaError("The check needs ONNX Runtime: pip install 'tabia[onnx]'.") from None
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = positions.draw(game, count, seed=seed)
    exact, worst = without_points(agent.parameters), np.zeros(2)
    for first in range(0, len(found), _BATCH):
        rows = np.arange(first, first + _BATCH) % len(found)  # one size of batch, so that one program is compiled
        observations, *expected = _forward(game, agent.network, exact, found.rows(rows))
        found_logits, found_values = session.run(["logits", "values"], {"observation": np.asarray(observations)})
        logits, values = map(np.asarray, expected)
        relative = np.abs(found_logits - logits) / np.maximum(1, np.abs(logits))
        worst = np.maximum(worst, [relative.max(), np.abs(found_values - values).max()])
    return Agreement(len(found), float(worst[0]), float(worst[1]))


@partial(jax.jit, static_argnums=(0, 1))
def _forward(game: Game, network: Network, parameters: Folded, states: State) -> tuple[Array, Array, Array]:
    observations = jax.vmap(partial(network.observe, game))(states)
    return observations, *network.forward(parameters, observations)
