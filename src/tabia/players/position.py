"""One position for players in plain Python: numbers and lists, no JAX."""

from __future__ import annotations

import random
from functools import cached_property, partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games.adapters.host import HostGame
from tabia.games.game import Game, State
from tabia.games.history import History
from tabia.players.spec import PlayerError


class Position:
    """A position of a game.

    A move is an action, its number; `name` and `action` convert between numbers and names.
    """

    def __init__(self, game: Game, state: State, rng: random.Random, ply: int | None = None) -> None:
        self.game = game
        self.state = state  # the game's own state, one position without a batch axis
        self.random = rng  # use it instead of `random`, so that a seed reproduces a game
        self.ply = ply  # moves played so far, if known

    @cached_property
    def legal_moves(self) -> list[int]:
        """The legal actions in ascending order; empty if the game is over."""
        return np.flatnonzero(self._facts[0]).tolist()

    @cached_property
    def mover(self) -> int:
        """The seat to move, counted from 0."""
        return int(self._facts[1])

    @cached_property
    def is_over(self) -> bool:
        """Whether the game is over."""
        return bool(self._facts[2])

    @cached_property
    def scores(self) -> list[float]:
        """One number per seat; final if the game is over."""
        return np.asarray(self._facts[3]).tolist()

    @cached_property
    def board(self) -> np.ndarray:
        """float32[H, W, C]: the observation of the mover."""
        return np.asarray(_observe(self.game, self.state))

    @property
    def object(self) -> Any:
        """A copy of the game's own object in this position, for games that are plain Python classes."""
        game, state = (self.game.game, self.state.now) if isinstance(self.game, History) else (self.game, self.state)
        if not isinstance(game, HostGame):
            raise PlayerError(
                f"{game.id} is not a plain Python class, so it has no object; use position.state or position.board."
            )
        return game.object(state)

    def after(self, action: int) -> Position:
        """The position after an action; chance events are sampled from `random`."""
        key = jax.random.key(self.random.getrandbits(31)) if self.game.chance else None
        state = _step(self.game, self.state, jnp.int32(action), key)
        return Position(self.game, state, self.random, None if self.ply is None else self.ply + 1)

    def name(self, action: int) -> str:
        """An action in the game's notation."""
        return self.game.move_name(int(action), self.state)

    def action(self, name: str) -> int:
        """The action of a move's name in this position."""
        return self.game.parse_move(name, self.state)

    def __str__(self) -> str:
        return self.game.draw(self.state)

    @cached_property
    def _facts(self) -> Any:
        return jax.device_get(_facts(self.game, self.state))


@partial(jax.jit, static_argnums=0)
def _facts(game: Game, state: State) -> tuple[Any, ...]:
    return game.legal(state), game.mover(state), game.over(state), game.scores(state)


@partial(jax.jit, static_argnums=0)
def _observe(game: Game, state: State) -> jax.Array:
    return game.observe(state)


@partial(jax.jit, static_argnums=0)
def _step(game: Game, state: State, action: jax.Array, key: jax.Array | None) -> State:
    return game.step(state, action, key)
