"""How much probability a network gives to illegal moves, in games against itself (Schulte 2021, evaluation 9.5).

Players mask illegal moves, so the share changes no game. It says how well a network that was trained with
`learner.mask_illegal = false` has learned the rules. Axis letters: B games, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core.errors import TabiaError
from tabia.games.game import Game, State
from tabia.networks import Folded
from tabia.players.network import NetworkPlayer
from tabia.players.search import network_evaluator
from tabia.players.tree_search import AlphaZeroPlayer
from tabia.search.evaluators import Evaluate, random_actions, step


@dataclass(frozen=True)
class IllegalShare:
    """The mean probability of illegal moves over the positions of some games."""

    share: float
    games: int
    positions: int


def illegal_share(
    player: NetworkPlayer | AlphaZeroPlayer, *, games: int = 120, random_moves: int = 2, seed: int = 0
) -> IllegalShare:
    """Play the network alone against itself, after `random_moves` random moves of each seat; those do not count."""
    if games < 1 or random_moves < 0:
        raise TabiaError(f"games={games}, random_moves={random_moves}: expected at least 1 game and 0 random moves.")
    game = player.game
    evaluate = network_evaluator(game, player.agent.network, symmetries=player.symmetries)
    first = random_moves * game.num_players
    total, count = _play(game, evaluate, games, first, player.agent.playing, jax.random.key(seed))
    return IllegalShare(float(total) / max(int(count), 1), games, int(count))


class _Carry(NamedTuple):
    states: State
    ply: Array  # int32
    total: Array  # float32: the sum of the shares
    positions: Array  # int32


@partial(jax.jit, static_argnums=(0, 1, 2, 3))
def _play(
    game: Game, evaluate: Evaluate, games: int, first: int, parameters: Folded, key: Array
) -> tuple[Array, Array]:
    start_key, move_key, chance_key = jax.random.split(key, 3)

    def move(now: _Carry) -> _Carry:
        legal, live = jax.vmap(game.legal)(now.states), ~jax.vmap(game.over)(now.states)
        logits = evaluate(parameters, now.states, jax.random.key(0)).logits
        share = jnp.where(legal, 0.0, jax.nn.softmax(logits, axis=-1)).sum(axis=-1)
        counts = live & (now.ply >= first)
        best = jnp.argmax(jnp.where(legal, logits, -jnp.inf), axis=-1).astype(jnp.int32)
        by_chance = random_actions(jax.random.fold_in(move_key, now.ply), legal)
        actions = jnp.where(now.ply < first, by_chance, best)
        return _Carry(
            states=step(game, now.states, actions, jax.random.fold_in(chance_key, now.ply)),
            ply=now.ply + 1,
            total=now.total + jnp.where(counts, share, 0.0).sum(),
            positions=now.positions + counts.sum(dtype=jnp.int32),
        )

    def going(now: _Carry) -> Array:
        return (now.ply < game.max_moves) & ~jnp.all(jax.vmap(game.over)(now.states))

    states = jax.vmap(game.init)(jax.random.split(start_key, games))
    end = jax.lax.while_loop(going, move, _Carry(states, jnp.int32(0), jnp.float32(0.0), jnp.int32(0)))
    return end.total, end.positions
