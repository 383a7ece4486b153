"""What any player can be made to do besides: play by odds, err now and then, begin at random."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.players.player import Choice, Player, Sized
from tabia.players.spec import Options, PlayerError
from tabia.search.choice import sample
from tabia.search.evaluators import random_actions


class Habits(NamedTuple):
    """How a player strays from the move it would choose; numbers of a compiled program, which all of them share."""

    temperature: float = 0.0  # it plays by odds^(1 / temperature); 0: its own choice
    epsilon: float = 0.0  # a share of moves is drawn at random
    random_moves: int = 0  # its first moves are drawn at random


NONE = Habits()


def read(options: Options) -> Habits:
    """The modifiers every player takes."""
    return Habits(
        temperature=options.number("temperature", 0.0, low=0.0, high=100.0),
        epsilon=options.number("epsilon", 0.0, low=0.0, high=1.0),
        random_moves=options.whole("random_moves", 0, low=0, high=1_000_000),
    )


@dataclass(frozen=True, eq=False)
class Modified:
    """A player with habits."""

    player: Player
    habits: Habits
    spec: str

    @property
    def game(self) -> Game:
        return self.player.game

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        own, stray = jax.random.split(key)
        if self.habits.random_moves and ply is None:
            raise PlayerError(f"{self.spec} must be told how many moves a game has seen, to know its first ones.")
        return self.stray(self.player.choose(states, own, ply), states, stray, ply)

    def stray(self, choice: Choice, states: State, key: Array, ply: Array | None = None) -> Choice:
        """The inner player's choice as this player plays it."""
        if self.habits.temperature > 0 and choice.policy is None:
            raise PlayerError(f"{self.player.spec} gives no odds, so it cannot play with a temperature.")
        return _strayed(self.game, self.habits, choice, states, key, ply)

    def check_batch(self, batch: int) -> None:
        if isinstance(self.player, Sized):
            self.player.check_batch(batch)


@partial(jax.jit, static_argnums=0)
def _strayed(game: Game, habits: Habits, choice: Choice, states: State, key: Array, ply: Array | None) -> Choice:
    heat, error, dice = jax.random.split(key, 3)
    actions, policy = choice.actions, choice.policy
    if policy is not None:
        warm = heated(policy, habits.temperature)
        actions = jnp.where(habits.temperature > 0, sample(heat, warm), actions)
        policy = jnp.where(habits.temperature > 0, warm, policy)
    stray = jax.random.uniform(error, actions.shape) < habits.epsilon
    if ply is not None:
        stray = stray | (ply < habits.random_moves * game.num_players)
    anything = random_actions(dice, jax.vmap(game.legal)(states))
    played = jnp.where(stray, anything, actions)
    return choice._replace(actions=played, policy=policy, recommended=choice.actions)


def heated(policy: Array, temperature: float | Array) -> Array:
    """policy^(1 / temperature), normalized [B, A]; what had no chance has none."""
    logits = jnp.where(policy > 0, jnp.log(jnp.maximum(policy, 1e-37)), -jnp.inf)
    return jax.nn.softmax(logits / jnp.maximum(temperature, 1e-3), axis=-1)
