"""Games between a player and itself, every move checked against the rules."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.players import Player


def starts(game: Game, batch: int, seed: int = 0) -> State:
    return jax.vmap(game.init)(jax.random.split(jax.random.key(seed), batch))


@partial(jax.jit, static_argnums=0)
def step(game: Game, states: State, actions: Array, key: Array) -> tuple[State, Array, Array]:
    """The next positions, whether each action was legal or its game over before it, and whether each is over now."""
    legal = jnp.take_along_axis(jax.vmap(game.legal)(states), actions[:, None], axis=1)[:, 0]
    after = jax.vmap(lambda state, action: game.step(state, action, key))(states, actions)
    return after, legal | jax.vmap(game.over)(states), jax.vmap(game.over)(after)


def play(player: Player | list[Player], batch: int, seed: int = 0) -> tuple[State, np.ndarray]:
    """The final positions of games and their actions [T, B]; players of a list alternate by ply."""
    players = player if isinstance(player, list) else [player]
    game = players[0].game
    states, key, played = starts(game, batch, seed), jax.random.key(seed), []
    for ply in range(game.max_moves):
        key, draw, chance = jax.random.split(key, 3)
        choice = players[ply % len(players)].choose(states, draw, jnp.full(batch, ply, jnp.int32))
        assert choice.actions.shape == (batch,) and choice.actions.dtype == jnp.int32
        states, allowed, over = step(game, states, choice.actions, chance)
        assert np.all(np.asarray(allowed)), f"{players[0].spec}: illegal at ply {ply}"
        played.append(np.asarray(choice.actions))
        if np.all(np.asarray(over)):
            break
    return states, np.stack(played)
