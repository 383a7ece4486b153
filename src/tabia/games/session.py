"""One game being played, move by move, from ordinary Python: integers and NumPy arrays in and out.

Exports and records sit on this. The rules are compiled once per game, however many tables there are.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.errors import GameError, IllegalMove
from tabia.games.game import Game, State
from tabia.games.moves import next_move


class View(NamedTuple):
    """What is known of a position. Axis letters: A actions, P seats."""

    legal: np.ndarray  # bool[A]
    mover: np.ndarray  # int32
    over: np.ndarray  # bool
    scores: np.ndarray  # float32[P]
    observations: np.ndarray  # float32[P, H, W, C], by seat


class Table:
    """A game in progress; `restart` begins it, `play` moves.

    Keys are dealt as in `tabia.games.moves`, so that a seed and the moves tell the game.

    >>> from tabia.games import make
    >>> table = Table(make("connect4"), "4453")
    >>> table.mover, table.ply, table.legal_moves
    (0, 4, ['1', '2', '3', '4', '5', '6', '7'])
    """

    def __init__(self, game: Game, moves: str = "", *, seed: int = 0) -> None:
        self.game = game
        self.restart(seed)
        for word in moves.replace(",", " ").split():
            rest = word
            while rest:
                action, rest = next_move(game, rest, self.state, self.ply + 1, self.legal)
                self.play(action)

    def __str__(self) -> str:
        return self.game.draw(self.state)

    def restart(self, seed: int) -> None:
        """Begin a new game."""
        begin, _ = _compiled(self.game)
        self.ply = 0  # moves made so far
        self._take(*begin(jax.random.key(seed)))

    def play(self, action: int | str) -> None:
        """Play an action, or a move by its name; IllegalMove names the position and what is legal in it."""
        if isinstance(action, str):
            action = self.game.parse_move(action, self.state)
        if not 0 <= action < self.game.num_actions:
            raise GameError(
                f"Action {action} is none of {self.game.id}: they go from 0 to {self.game.num_actions - 1}."
            )
        if not self.legal[action]:
            raise IllegalMove(self.game, self.game.move_name(int(action)), self.state)
        _, proceed = _compiled(self.game)
        self._take(*proceed(self._key, self.state, jnp.int32(action)))
        self.ply += 1

    def observe(self, seat: int) -> np.ndarray:
        """float32[H, W, C]: the position as a seat sees it."""
        return self._view.observations[seat].copy()

    @property
    def legal(self) -> np.ndarray:
        """bool[A]: the mover's actions."""
        return self._view.legal

    @property
    def legal_moves(self) -> list[str]:
        """The mover's actions by name."""
        return [self.game.move_name(int(action), self.state) for action in np.flatnonzero(self.legal)]

    @property
    def mover(self) -> int:
        """The seat to move."""
        return int(self._view.mover)

    @property
    def over(self) -> bool:
        """Whether the game has ended."""
        return bool(self._view.over)

    @property
    def scores(self) -> np.ndarray:
        """float32[P]: each seat's result."""
        return self._view.scores

    @property
    def winner(self) -> int | None:
        """The one seat with the best score once the game is over; None before, and after a shared first place."""
        best = np.flatnonzero(self.scores == self.scores.max())
        return int(best[0]) if self.over and len(best) == 1 else None

    def _take(self, key: Array, state: State, view: View) -> None:
        self._key, self.state = key, state
        self._view: View = jax.tree.map(np.asarray, view)


@functools.lru_cache(maxsize=64)
def _compiled(game: Game) -> tuple[Callable[..., tuple[Array, State, View]], Callable[..., tuple[Array, State, View]]]:
    seats = jnp.arange(game.num_players, dtype=jnp.int32)

    def view(state: State) -> View:
        observations = jax.vmap(lambda seat: game.observe(state, seat))(seats)
        return View(game.legal(state), game.mover(state), game.over(state), game.scores(state), observations)  # type: ignore[arg-type]

    def begin(key: Array) -> tuple[Array, State, View]:
        key, used = jax.random.split(key)
        state = game.init(used)
        return key, state, view(state)

    def proceed(key: Array, state: State, action: Array) -> tuple[Array, State, View]:
        key, used = jax.random.split(key)
        state = game.step(state, action, used)
        return key, state, view(state)

    return jax.jit(begin), jax.jit(proceed)
