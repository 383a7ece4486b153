"""What any player can be made to do besides: play by odds, err now and then, begin at random."""

from __future__ import annotations

from dataclasses import dataclass

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.players.player import Choice, Player
from tabia.players.spec import PlayerError
from tabia.search.choice import sample, visit_policy
from tabia.search.evaluators import random_actions


@dataclass(frozen=True)
class Modified:
    """A player with a temperature, a share `epsilon` of random moves, and its first `random_moves` drawn at random."""

    player: Player
    spec: str
    temperature: float = 0.0
    epsilon: float = 0.0
    random_moves: int = 0

    @property
    def game(self) -> Game:
        return self.player.game

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        own, heat, error, dice = jax.random.split(key, 4)
        choice = self.player.choose(states, own)
        actions = self._heated(choice, heat) if self.temperature > 0 else choice.actions
        stray = jax.random.uniform(error, actions.shape) < self.epsilon
        if self.random_moves and ply is not None:
            stray = stray | (ply < self.random_moves * self.game.num_players)
        anything = random_actions(dice, jax.vmap(self.game.legal)(states))
        return choice._replace(actions=jnp.where(stray, anything, actions))

    def _heated(self, choice: Choice, key: Array) -> Array:
        weights = choice.visits if choice.visits is not None else choice.policy
        if weights is None:
            raise PlayerError(f"{self.player.spec} gives no odds, so it cannot play with a temperature.")
        return sample(key, visit_policy(weights * (1.0 if choice.visits is not None else 1e6), self.temperature))
