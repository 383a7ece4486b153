"""How games of self-play begin: at the start, after random moves, or at positions of earlier games.

Axis letter: B lanes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.search.evaluators import random_actions, step

if TYPE_CHECKING:
    from tabia.training.selfplay.play import SelfPlay


class Lanes(NamedTuple):
    """The games being played, one a lane."""

    states: State  # [B, ...] finished games are replaced before the next move
    ply: Array  # int32[B] moves since the start, those of the opening included
    opening: Array  # int32[B] how many of them came before the game was handed over, at random or in an earlier game
    until: Array  # int32[B] up to this ply moves are drawn at the higher temperature
    stubborn: Array  # bool[B] whether nobody may resign this game


class Again(NamedTuple):
    """Positions of earlier games at which new ones may begin."""

    states: State  # [B, ...]
    ply: Array  # int32[B]
    chosen: Array  # bool[B] whether one is to begin there


def restart(game: Game, lanes: Lanes, pool: Lanes, index: Array) -> Lanes:
    """Put a fresh game from the pool where one has ended; each ply hands the pool out in another order."""
    over = jax.vmap(game.over)(lanes.states) | (lanes.ply < 0)
    turned = jax.tree.map(lambda leaf: jnp.roll(leaf, index, axis=0), pool)
    return Lanes(*where(over, turned, lanes))


def fresh(plan: SelfPlay, key: Array, weights: Any = None, *, spread: bool = False) -> Lanes:
    """New games, a share of them opened with random moves; one that such moves would end begins at its start."""
    game, settings = plan.game, plan.settings
    count = settings.games
    start_key, share_key, length_key, move_key, until_key, stubborn_key = jax.random.split(key, 6)
    starts = jax.vmap(game.init)(jax.random.split(start_key, count))
    lengths = jax.random.randint(length_key, (count,), 1, max(settings.opening_moves, 1) + 1)
    opened = jax.random.uniform(share_key, (count,)) < (1.0 if spread else settings.opening_fraction)
    lengths = jnp.where(opened & (settings.opening_moves > 0), lengths, 0)
    states = _opened(plan, weights, starts, lengths, move_key)
    over = jax.vmap(game.over)(states)
    lengths = jnp.where(over, 0, lengths)
    until = jnp.full((count,), settings.temperature_moves, jnp.int32)
    if settings.temperature_switch == "random":
        until = jax.random.randint(until_key, (count,), 0, settings.temperature_moves + 1)
    stubborn = jax.random.uniform(stubborn_key, (count,)) < settings.resign_disabled_fraction
    return Lanes(where(over, starts, states), lengths, lengths, until, stubborn)


def _opened(plan: SelfPlay, weights: Any, starts: State, lengths: Array, key: Array) -> State:
    """So many random moves from each start; of several tries the most even one, if there are weights to tell."""
    game, settings = plan.game, plan.settings
    tries = settings.opening_candidates if weights is not None else 1
    starts, lengths = jax.tree.map(lambda leaf: jnp.repeat(leaf, tries, axis=0), (starts, lengths))

    def move(index: Array, states: State) -> State:
        dice, chance = jax.random.split(jax.random.fold_in(key, index))
        moved = step(game, states, random_actions(dice, jax.vmap(game.legal)(states)), chance)
        return where(index < lengths, moved, states)

    states = jax.lax.fori_loop(0, settings.opening_moves, move, starts)
    if tries == 1:
        return states
    values = plan.network.forward(weights, jax.vmap(game.observe)(states))[1]
    apart = jnp.where(jax.vmap(game.over)(states), jnp.inf, jnp.ptp(values, axis=-1))
    best = jnp.argmin(apart.reshape(-1, tries), axis=1) + tries * jnp.arange(settings.games)
    return jax.tree.map(lambda leaf: leaf[best], states)


def where(condition: Array, yes: State, no: State) -> State:
    """Lane by lane one state or the other."""

    def pick(one: Array, other: Array) -> Array:
        return jnp.where(condition.reshape(condition.shape + (1,) * (one.ndim - 1)), one, other)

    return jax.tree.map(pick, yes, no)
