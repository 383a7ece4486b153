"""Players that need no search: random, and those that follow the game's own heuristic one move ahead.

Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.players.player import Choice
from tabia.players.spec import PlayerError
from tabia.search.choice import sample


@dataclass(frozen=True)
class RandomPlayer:
    """Any legal move, all equally likely."""

    game: Game
    spec: str = "random"

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _by_weights(self, states, key)

    def weights(self, state: State) -> Array:
        return self.game.legal(state).astype(jnp.float32)


@dataclass(frozen=True)
class GreedyPlayer:
    """A move after which the game's heuristic is highest for the mover, any of them if there are several.

    In Chinese checkers that is Schulte's Greedy agent: one of the moves that bring a piece forward most.
    """

    game: Game
    spec: str = "greedy"

    def __post_init__(self) -> None:
        _needs_heuristic(self.game, "greedy")

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _by_weights(self, states, key)

    def weights(self, state: State) -> Array:
        gains, legal = _gains(self.game, state), self.game.legal(state)
        best = jnp.where(legal, gains, -jnp.inf).max()
        return (legal & (gains >= best - 1e-6)).astype(jnp.float32)


@dataclass(frozen=True)
class InitializePlayer:
    """Schulte's Initialize agent: random, a move forward twice as likely as one to the side, that twice as one back."""

    game: Game
    spec: str = "initialize"

    def __post_init__(self) -> None:
        _needs_heuristic(self.game, "initialize")

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _by_weights(self, states, key)

    def weights(self, state: State) -> Array:
        gains = _gains(self.game, state) - self.game.heuristic(state)[self.game.mover(state)]
        leaning = jnp.where(gains > 1e-6, 4.0, jnp.where(gains < -1e-6, 1.0, 2.0))
        return jnp.where(self.game.legal(state), leaning, 0.0)


def _needs_heuristic(game: Game, name: str) -> None:
    if not game.has_heuristic:
        raise PlayerError(f"{name} follows a game's own heuristic, and {game.id} has none. Try random or mcts.")


def _gains(game: Game, state: State) -> Array:
    """The mover's heuristic after each action [A]; a move that wins outright is beyond any other."""
    mover = game.mover(state)

    def worth(action: Array) -> Array:
        after = game.step(state, action)
        scores = game.scores(after)
        best_rival = jnp.where(jnp.arange(game.num_players) == mover, -jnp.inf, scores).max()
        won = game.over(after) & (scores[mover] > best_rival)
        return game.heuristic(after)[mover] + jnp.where(won, 4.0, 0.0)

    return jax.vmap(worth)(jnp.arange(game.num_actions))


@partial(jax.jit, static_argnums=0)
def _by_weights(player: RandomPlayer | GreedyPlayer | InitializePlayer, states: State, key: Array) -> Choice:
    """Draw moves in proportion to the player's weights."""
    weights = jax.vmap(player.weights)(states)
    policy = weights / jnp.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)
    return Choice(sample(key, policy), policy)
