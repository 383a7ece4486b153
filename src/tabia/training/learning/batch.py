"""Batches: replay samples as the network sees them, each in a random symmetry of the board.

Axis letters: N samples, A actions, P seats (mover, next, next after), H W C board and planes, S symmetries.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.training.selfplay.replay import Samples, expand_policy


class Target(NamedTuple):
    """What an auxiliary head learns; a target shaped like a board [N, H, W, C] is transformed with the board."""

    values: Array  # float32[N, ...]
    weight: Array  # float32[N]; 0: ignored


class Batch(NamedTuple):
    """Positions and their targets, both from the mover's seat."""

    observations: Array  # float32[N, H, W, C]
    legal: Array  # bool[N, A]
    policy: Array  # float32[N, A]
    outcome: Array  # float32[N, P] in [-1, 1]
    search_values: Array  # float32[N, P]; the outcome where a teacher played
    weight: Array  # float32[N]; 0: ignored
    policy_weight: Array  # float32[N]
    auxiliary: dict[str, Target]  # by the name of the loss term


MakeTarget = Callable[[Game, Samples], Target | None]


def make_batch(
    game: Game,
    samples: Samples,
    key: Array,
    *,
    symmetries: bool,
    auxiliary: Mapping[str, MakeTarget] | None = None,
    observe: Callable[[State], Array] | None = None,
) -> Batch:
    """Samples as the network sees them, with auxiliary targets; each in a random symmetry if `symmetries`.

    `observe` turns a state into the network's planes; the default is the game's own observation.
    """
    plies = samples.plies
    mover = jax.vmap(game.mover)(plies.states)
    search_values = jnp.where(plies.valued[:, None], plies.values, samples.outcome)
    targets = {name: make_target(game, samples) for name, make_target in (auxiliary or {}).items()}
    batch = Batch(
        observations=jax.vmap(observe or game.observe)(plies.states),
        legal=jax.vmap(game.legal)(plies.states),
        policy=expand_policy(plies.policy, plies.policy_actions, game.num_actions),
        outcome=from_mover(samples.outcome, mover),
        search_values=from_mover(search_values, mover),
        weight=samples.weight,
        policy_weight=samples.weight * plies.full_search,
        auxiliary={name: target for name, target in targets.items() if target is not None},
    )
    return transform(game, batch, key) if symmetries and len(game.symmetries) > 1 else batch


def from_mover(values: Array, mover: Array) -> Array:
    """Values by seat [N, P] from the mover's seat: mover, next, next after."""
    seats = values.shape[-1]
    return jnp.take_along_axis(values, (jnp.arange(seats)[None, :] + mover[:, None]) % seats, axis=-1)


def transform(game: Game, batch: Batch, key: Array, symmetry: Array | None = None) -> Batch:
    """Every position in a random symmetry, or in the given one [N]."""
    cells = np.stack([symmetry.cells for symmetry in game.symmetries])  # [S, H * W]
    origins = np.stack([np.argsort(symmetry.actions) for symmetry in game.symmetries])  # [S, A]
    if symmetry is None:
        symmetry = jax.random.randint(key, batch.weight.shape, 0, len(cells))
    places, actions = jnp.asarray(cells)[symmetry], jnp.asarray(origins)[symmetry]
    board_shape = batch.observations.shape[:-1]

    def board(planes: Array) -> Array:
        flat = planes.reshape(len(planes), -1, planes.shape[-1])
        return jnp.take_along_axis(flat, places[:, :, None], axis=1).reshape(planes.shape)

    return batch._replace(
        observations=board(batch.observations),
        legal=jnp.take_along_axis(batch.legal, actions, axis=1),
        policy=jnp.take_along_axis(batch.policy, actions, axis=1),
        auxiliary={
            name: target._replace(values=board(target.values)) if target.values.shape[:-1] == board_shape else target
            for name, target in batch.auxiliary.items()
        },
    )
