"""Modifiers of any player: sampling by temperature, random moves with probability epsilon, random first moves."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.players.player import Choice, Player, Sized
from tabia.players.spec import Options, PlayerError, parse, spec_text
from tabia.search.evaluators import random_actions
from tabia.search.result import sample


class Habits(NamedTuple):
    """How a player departs from its own choice; arguments of compiled programs, so all players share them."""

    temperature: float = 0.0  # samples from policy^(1 / temperature); 0: its own choice
    epsilon: float = 0.0  # the probability of a random move
    random_moves: int = 0  # the number of first moves played at random
    sampled_plies: int = 0  # with a temperature: only before this ply of the game; 0: in the whole game


NONE = Habits()


def read(options: Options) -> Habits:
    """The modifiers among a player's options."""
    return Habits(
        temperature=options.number("temperature", 0.0, low=0.0, high=100.0),
        epsilon=options.number("epsilon", 0.0, low=0.0, high=1.0),
        random_moves=options.whole("random_moves", 0, low=0, high=1_000_000),
        sampled_plies=options.whole("sampled_plies", 0, low=0, high=1_000_000),
    )


@dataclass(frozen=True)
class Modified:
    """A player with modifiers."""

    player: Player
    habits: Habits
    _: KW_ONLY
    name: str = field(default="", compare=False)

    @property
    def spec(self) -> str:
        changed = {key: value for key, value in self.habits._asdict().items() if value}
        return self.name or _with_options(self.player.spec, changed)

    @property
    def game(self) -> Game:
        return self.player.game

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        player_key, modify_key = jax.random.split(key)
        if (self.habits.random_moves or self.habits.sampled_plies) and ply is None:
            raise PlayerError(f"{self.spec} needs `ply`, the number of moves played, to know its first moves.")
        return self.modify(self.player.choose(states, player_key, ply), states, modify_key, ply)

    def modify(self, choice: Choice, states: State, key: Array, ply: Array | None = None) -> Choice:
        """The inner player's choice with the modifiers applied."""
        if self.habits.temperature > 0 and choice.policy is None:
            raise PlayerError(f"{self.player.spec} has no policy, so it cannot play with a temperature.")
        return _modify(self.game, self.habits, choice, states, key, ply)

    def check_batch(self, batch: int) -> None:
        """Refuse a batch that the inner player refuses."""
        if isinstance(self.player, Sized):
            self.player.check_batch(batch)


@partial(jax.jit, static_argnums=0)
def _modify(game: Game, habits: Habits, choice: Choice, states: State, key: Array, ply: Array | None) -> Choice:
    temperature_key, epsilon_key, action_key = jax.random.split(key, 3)
    actions, policy = choice.actions, choice.policy
    if policy is not None:
        sampled = jnp.broadcast_to(jnp.asarray(habits.temperature > 0), actions.shape)
        if ply is not None:
            sampled &= (habits.sampled_plies == 0) | (ply < habits.sampled_plies)
        scaled = with_temperature(policy, habits.temperature)
        actions = jnp.where(sampled, sample(temperature_key, scaled), actions)
        policy = jnp.where(sampled[:, None], scaled, policy)
    at_random = jax.random.uniform(epsilon_key, actions.shape) < habits.epsilon
    if ply is not None:
        at_random = at_random | (ply < habits.random_moves * game.num_players)
    played = jnp.where(at_random, random_actions(action_key, jax.vmap(game.legal)(states)), actions)
    return choice._replace(actions=played, policy=policy, recommended=choice.actions)


def with_temperature(policy: Array, temperature: float | Array) -> Array:
    """policy^(1 / temperature), normalized [B, A]; probabilities of 0 stay 0."""
    logits = jnp.where(policy > 0, jnp.log(jnp.maximum(policy, 1e-37)), -jnp.inf)
    return jax.nn.softmax(logits / jnp.maximum(temperature, 1e-3), axis=-1)


def _with_options(spec: str, options: dict[str, float]) -> str:
    """A spec with more options."""
    parsed = parse(spec)
    what = parsed.what + (f"@{parsed.version}" if parsed.version else "") if parsed.what else ""
    return spec_text(parsed.name, {**parsed.options, **options}, what=what)
