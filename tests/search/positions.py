"""Reproducible random positions and evaluators."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.search.evaluators import Network, random_actions, step


def random_positions(game: Game, count: int, *, seed: int = 0, most_moves: int = 8) -> State:
    """Unfinished positions [B, ...] after 0 to `most_moves` random moves."""
    return _random_positions(game, count, most_moves, seed)[0]


def random_games(game: Game, count: int, *, seed: int = 0, most_moves: int = 8) -> tuple[State, np.ndarray]:
    """The same with the actions [most_moves, B] played, -1 where none was."""
    states, actions = _random_positions(game, count, most_moves, seed)
    return states, np.asarray(actions)


@cache
def _random_positions(game: Game, count: int, most_moves: int, seed: int) -> tuple[State, Array]:
    return _play_randomly(game, count, most_moves, jax.random.key(seed))


@partial(jax.jit, static_argnums=(0, 1, 2))
def _play_randomly(game: Game, count: int, most_moves: int, key: Array) -> tuple[State, Array]:
    start, length, play = jax.random.split(key, 3)
    states = jax.vmap(game.init)(jax.random.split(start, count))
    lengths = jax.random.randint(length, (count,), 0, most_moves + 1)

    def move(carry: tuple[State, Array], key: Array) -> tuple[tuple[State, Array], Array]:
        states, left = carry
        draw, chance = jax.random.split(key)
        actions = random_actions(draw, jax.vmap(game.legal)(states))
        after = step(game, states, actions, chance)
        goes = (left > 0) & ~jax.vmap(game.over)(after)
        states = jax.tree.map(lambda new, old: jax.vmap(jnp.where)(goes, new, old), after, states)
        return (states, jnp.where(goes, left - 1, 0)), jnp.where(goes, actions, -1)

    (states, _), actions = jax.lax.scan(move, (states, lengths), jax.random.split(play, most_moves))
    return states, actions


def one(states: Any, index: int) -> Any:
    """One state of a batch."""
    return jax.tree.map(lambda leaf: leaf[index], states)


def batch_size(states: Any) -> int:
    return int(jax.tree.leaves(states)[0].shape[0])


# A random linear network: ties are practically impossible.


def _forward(weights: tuple[Array, Array], observations: Array) -> tuple[Array, Array]:
    planes = observations.reshape(observations.shape[0], -1)
    return planes @ weights[0], jnp.tanh(planes @ weights[1])


@cache
def random_network(game: Game) -> Network:
    return Network(game, _forward)


@cache
def random_weights(game: Game, seed: int = 0) -> tuple[Array, Array]:
    rng = np.random.default_rng(seed)
    size = int(np.prod(game.observation_shape))
    policy = rng.normal(size=(size, game.num_actions)) * 0.3
    value = rng.normal(size=(size, game.num_players)) * 0.2
    return jnp.asarray(policy, jnp.float32), jnp.asarray(value, jnp.float32)
