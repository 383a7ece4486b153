"""Agents in 8-bit integers: the ranges of their features, and how far they are from float32.

Both are measured on positions of games in which half of the players move at random and the others as the network
prefers, so that sound and odd positions both occur. Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.networks import Folded, Network
from tabia.networks.errors import NetworkError
from tabia.networks.int8 import Int8Network, measuring_session
from tabia.networks.layers import without_points
from tabia.players.runs import Agent
from tabia.players.spec import PlayerError
from tabia.search.evaluators import step

TOLERANCE = 0.05
"""The largest mean difference from float32, of policies (total variation) and of values, that is accepted."""
_GAMES, _PLIES = 16, 40  # of a sample
_Logits = Callable[[np.ndarray], np.ndarray]


class Difference(NamedTuple):
    """How far the network in 8 bits is from float32, on average over positions."""

    policy: float  # total variation
    values: float

    @property
    def holds(self) -> bool:
        """Whether it is within the tolerance."""
        return max(self) <= TOLERANCE  # false for NaN


def quantize(game: Game, agent: Agent, spec: str) -> Int8Network:
    """The network of an agent in 8 bits; raises PlayerError, naming `spec`, if that is not possible or too far off."""
    if jax.default_backend() != "cpu":
        raise PlayerError(f"{spec}: int8 is for CPUs; this process uses a {jax.default_backend().upper()}. Omit int8.")
    try:
        quantized = Int8Network(agent.network, agent.parameters, measure_ranges(game, agent))
    except NetworkError as error:
        raise PlayerError(f"{spec}: {error}") from None
    found = compare(game, agent, quantized)
    if not found.holds:
        raise PlayerError(
            f"{spec}: in 8 bits the policy differs by {found.policy:.3f} and the values by {found.values:.3f} from "
            f"float32 on average; at most {TOLERANCE:g} is accepted. Omit int8."
        )
    return quantized


def measure_ranges(game: Game, agent: Agent) -> list[tuple[float, float]]:
    """The smallest and the largest number of each tensor that is quantized."""
    session = measuring_session(agent.network, agent.parameters)
    seen: list[np.ndarray] = []

    def logits(observations: np.ndarray) -> np.ndarray:
        found, _, *scalars = session.run(observations)
        seen.append(np.array(scalars, np.float64).reshape(-1, 2))
        return found

    for _ in sample(game, agent.network, logits, seed=0):
        pass
    ranges = np.stack(seen)
    return list(zip(ranges[..., 0].min(axis=0).tolist(), ranges[..., 1].max(axis=0).tolist(), strict=True))


def compare(game: Game, agent: Agent, quantized: Int8Network) -> Difference:
    """The mean differences on other games than those that gave the ranges."""
    folded, differences = without_points(agent.parameters), []
    for observations, legal in sample(game, agent.network, lambda seen: quantized.evaluate(seen)[0], seed=1):
        exact = jax.device_get(_forward(agent.network, folded, observations))
        found = quantized.evaluate(observations)
        policies = [_softmax(np.where(legal, logits, -np.inf)) for logits, _ in (exact, found)]
        away = np.abs(policies[0] - policies[1]).sum(axis=-1).mean() / 2, np.abs(exact[1] - found[1]).mean()
        differences.append(away)
    policy, values = np.mean(differences, axis=0).tolist()
    return Difference(policy, values)


def sample(game: Game, network: Network, logits: _Logits, *, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Observations [B, H, W, C] and legal actions [B, A] of games, ply by ply, until all have ended."""
    draws = np.random.default_rng(seed)
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(seed), _GAMES))
    for ply in range(_PLIES):
        observations, legal, over = map(np.asarray, _look(game, network, states))
        if over.all():
            return
        legal = legal | over[:, None]  # a finished game has no legal action; any changes nothing
        yield observations, legal
        preferred = np.where(np.arange(_GAMES)[:, None] % 2, logits(observations), 0.0)
        scores = np.where(legal, preferred + draws.gumbel(size=preferred.shape), -np.inf)
        states = _play(game, states, jnp.asarray(scores.argmax(axis=-1)), jax.random.key(ply))


@partial(jax.jit, static_argnums=(0, 1))
def _look(game: Game, network: Network, states: State) -> tuple[Array, Array, Array]:
    observations = jax.vmap(partial(network.observe, game))(states)
    return observations.astype(jnp.float32), jax.vmap(game.legal)(states), jax.vmap(game.over)(states)


@partial(jax.jit, static_argnums=0)
def _play(game: Game, states: State, actions: Array, key: Array) -> State:
    return step(game, states, actions, key)


@partial(jax.jit, static_argnums=0)
def _forward(network: Network, folded: Folded, observations: Array) -> tuple[Array, Array]:
    return network.forward(folded, observations)


def _softmax(logits: np.ndarray) -> np.ndarray:
    shifted = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(axis=-1, keepdims=True))
