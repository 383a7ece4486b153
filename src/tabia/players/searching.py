"""Players that look ahead: minimax, rollout MCTS, a network alone, and a network with search (AlphaZero)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.networks import Network
from tabia.players.player import Choice
from tabia.search.budget import Budget
from tabia.search.evaluators import Network as Evaluator
from tabia.search.minimax import Minimax
from tabia.search.picture import main_line
from tabia.search.search import Result, Search
from tabia.search.tree import log_priors


@dataclass(frozen=True)
class Lookahead:
    """Minimax to a depth with the game's own heuristic (S1), any of the best moves."""

    minimax: Minimax
    spec: str

    @property
    def game(self) -> Game:
        return self.minimax.game

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        outlook = self.minimax.explore(states, key)
        mover = jax.vmap(self.game.mover)(states)
        means = jnp.take_along_axis(outlook.branches, mover[:, None, None], axis=-1)[..., 0]
        policy = outlook.best / jnp.maximum(outlook.best.sum(axis=-1, keepdims=True), 1)
        return Choice(outlook.action, policy, None, jnp.maximum(means, -1.0), outlook.values)


@dataclass(frozen=True)
class Searcher:
    """Tree search with whatever the search was given: rollouts (MCTS) or a network (AlphaZero).

    With `seconds` the search also stops by the clock, looked at between chunks of simulations.
    """

    search: Search
    spec: str
    parameters: Any = None
    seconds: float | None = None
    chunk: int = 32

    @property
    def game(self) -> Game:
        return self.search.game

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        result = self.look(states, key)
        return Choice(result.action, result.policy, result.visits, result.means, result.values)

    def look(self, states: State, key: Array) -> Result:
        """The whole result, tree included."""
        if self.seconds is None:
            return self.search.explore(self.parameters, states, key)
        return Budget(self.search, seconds=self.seconds, chunk=self.chunk).run(self.parameters, states, key)

    def lines(self, result: Result) -> list[list[str]]:
        """The main line of each position."""
        return [main_line(self.game, result.tree, position=index) for index in range(result.action.shape[0])]


@dataclass(frozen=True)
class Instinct:
    """A network alone: the move it likes best."""

    game: Game
    network: Network
    parameters: Any
    spec: str

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _instinct(self.game, self.network, self.parameters, states)


@partial(jax.jit, static_argnums=(0, 1))
def _instinct(game: Game, network: Network, parameters: Any, states: State) -> Choice:
    evaluation = Evaluator(game, network.forward)(parameters, states, jax.random.key(0))
    policy = jnp.exp(log_priors(evaluation.logits, jax.vmap(game.legal)(states)))
    return Choice(jnp.argmax(policy, axis=-1).astype(jnp.int32), policy, values=evaluation.values)


