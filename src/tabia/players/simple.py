"""Players without a network or a tree: random moves, the game's own heuristic, minimax.

Axis letters: B positions, A actions, P seats.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property, partial
from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.players.player import Choice
from tabia.players.spec import PlayerError, naming, spec_text
from tabia.search.minimax import Minimax, Ties, at_random, first
from tabia.search.result import sample

TIES: dict[str, Ties] = {"first": first, "random": at_random}
"""Which of equally good moves is played, by the names of the option `ties`."""


@dataclass(frozen=True)
class RandomPlayer:
    """Plays any legal move, with equal probability."""

    game: Game
    _: KW_ONLY
    name: str = field(default="", compare=False)

    @property
    def spec(self) -> str:
        return self.name or "random"

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _by_weights(self, states, key)

    def weights(self, state: State) -> Array:
        """The relative probability of each action [A]."""
        return self.game.legal(state).astype(jnp.float32)


@dataclass(frozen=True)
class GreedyPlayer:
    """Plays a move that maximizes the game's heuristic for the mover.

    In Chinese checkers this is the Greedy agent of Schulte 2021: a move that advances a piece the most.
    """

    game: Game
    _: KW_ONLY
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        require_heuristic(self.game, "greedy")

    @property
    def spec(self) -> str:
        return self.name or "greedy"

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _by_weights(self, states, key)

    def weights(self, state: State) -> Array:
        """The relative probability of each action [A]."""
        gains, legal = _gains(self.game, state), self.game.legal(state)
        best = jnp.where(legal, gains, -jnp.inf).max()
        return (legal & (gains >= best - 1e-6)).astype(jnp.float32)


@dataclass(frozen=True)
class InitializePlayer:
    """The Initialize agent of Schulte 2021: random moves, forward : sideways : backward = 4 : 2 : 1."""

    game: Game
    _: KW_ONLY
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        require_heuristic(self.game, "initialize")

    @property
    def spec(self) -> str:
        return self.name or "initialize"

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _by_weights(self, states, key)

    def weights(self, state: State) -> Array:
        """The relative probability of each action [A]."""
        gains = _gains(self.game, state) - self.game.heuristic(state)[self.game.mover(state)]
        odds = jnp.where(gains > 1e-6, 4.0, jnp.where(gains < -1e-6, 1.0, 2.0))
        return jnp.where(self.game.legal(state), odds, 0.0)


@dataclass(frozen=True)
class MinimaxPlayer:
    """Minimax to a depth with the game's own heuristic (Sanz & Villanueva 2021).

    `line` counts open lines of that length instead, on Connect boards; `ties` is which of the best moves is played.
    """

    game: Game
    _: KW_ONLY
    depth: int = 5
    line: int | None = None
    ties: str = "random"
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        if self.ties not in TIES:
            raise PlayerError(f"ties={self.ties!r}: expected one of {', '.join(TIES)}.")
        with naming(self.spec):
            _ = self.minimax

    @property
    def spec(self) -> str:
        ties = None if self.ties == "random" else self.ties
        return self.name or spec_text("minimax", {"depth": self.depth, "line": self.line, "ties": ties})

    @cached_property
    def minimax(self) -> Minimax:
        """The search behind the moves."""
        heuristic = None if self.line is None else line_heuristic(self.game, self.line)
        return Minimax(self.game, self.depth, heuristic, TIES[self.ties])

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        return _minimax_choice(self.minimax, states, key)


@partial(jax.jit, static_argnums=0)
def _minimax_choice(minimax: Minimax, states: State, key: Array) -> Choice:
    outlook = minimax.run_unchecked(states, key)
    mover = jax.vmap(minimax.game.mover)(states)
    own = jnp.take_along_axis(outlook.branches, mover[:, None, None], axis=-1)[..., 0]
    return Choice(
        actions=outlook.action,
        policy=outlook.best / jnp.maximum(outlook.best.sum(axis=-1, keepdims=True), 1),
        means=jnp.where(jnp.isfinite(own), own, jnp.nan),
        values=outlook.values,
    )


@runtime_checkable
class HasLines(Protocol):
    """A game whose heuristic counts lines of any length."""

    line: int

    def line_heuristic(self, state: State, length: int) -> Array: ...


@dataclass(frozen=True)
class LineHeuristic:
    """A game's heuristic for lines of one length."""

    game: HasLines
    length: int

    def __call__(self, state: State) -> Array:
        return self.game.line_heuristic(state, self.length)


def line_heuristic(game: Game, length: int) -> LineHeuristic:
    """The heuristic that counts open lines of `length` stones; refused for games without such lines."""
    if not isinstance(game, HasLines):
        raise PlayerError(f"line={length}: {game.id} has no heuristic that counts lines; omit line.")
    if not 1 <= length <= game.line:
        raise PlayerError(f"line={length}: lines of {game.id} have 1 to {game.line} stones.")
    return LineHeuristic(game, length)


def require_heuristic(game: Game, name: str) -> None:
    """Raise PlayerError if a game has no heuristic; `name` is the player or option that needs it."""
    if not game.has_heuristic:
        raise PlayerError(f"{name} needs a heuristic, and {game.id} has none. Try random or mcts.")


def _gains(game: Game, state: State) -> Array:
    """The mover's heuristic after each action [A]; a winning move is above any other."""
    mover = game.mover(state)

    def gain(action: Array) -> Array:
        after = game.step(state, action)
        scores = game.scores(after)
        best_rival = jnp.where(jnp.arange(game.num_players) == mover, -jnp.inf, scores).max()
        won = game.over(after) & (scores[mover] > best_rival)
        return game.heuristic(after)[mover] + jnp.where(won, 4.0, 0.0)

    return jax.vmap(gain)(jnp.arange(game.num_actions))


@partial(jax.jit, static_argnums=0)
def _by_weights(player: RandomPlayer | GreedyPlayer | InitializePlayer, states: State, key: Array) -> Choice:
    """Sample moves in proportion to the player's weights."""
    weights = jax.vmap(player.weights)(states)
    policy = weights / jnp.maximum(weights.sum(axis=-1, keepdims=True), 1e-9)
    return Choice(sample(key, policy), policy)
