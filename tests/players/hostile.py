"""Finite weights that make a network overflow, in all positions or in some."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp

from tabia import games
from tabia.networks import Network, Variables, presets, weights

HUGE = 3e38  # twice that is infinite in single precision
GAME = games.make("tictactoe")
NETWORK = Network(presets.mlp(8, batch_norm=False), GAME.observation_shape, GAME.num_actions, GAME.num_players)


def everywhere() -> Variables:
    """Overflows in every position with a stone."""
    return jax.tree.map(lambda leaf: jnp.full_like(leaf, HUGE), NETWORK.init(jax.random.key(0)))


def with_stone_on_a3() -> Variables:
    """Overflows in the policy of positions with a stone on a3."""
    params = NETWORK.init(jax.random.key(0)).params
    first, policy = params["dense1"]["linear"], params["policy.out"]["linear"]
    first["kernel"] = first["kernel"].at[:, 0].set(0.0).at[:2, 0].set(HUGE)  # a3 is the first field of both planes
    policy["kernel"] = policy["kernel"].at[0].set(HUGE)
    return Variables(params, {})


def save(folder: Path, variables: Variables, **metadata: Any) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "weights.safetensors"
    weights.save(path, NETWORK, variables, {"game": GAME.id, "game_version": GAME.version, **metadata})
    return path
