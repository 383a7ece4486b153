"""Perfect play: exact tables for small games, a solver for Connect boards, a refusal for what is too large.

Scores count the distance to the end (Pons's convention): a win with the mover's last possible stone scores 1, each
own stone earlier 1 more, a draw 0, and losses are the same with a minus. All this runs on the host. Axis letters: B
positions, A actions, P seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache, partial
from importlib.util import find_spec
from typing import TYPE_CHECKING, NamedTuple, Protocol

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.connect import Connect
from tabia.games.errors import GameError
from tabia.games.game import Game, State
from tabia.games.history import History
from tabia.games.tictactoe import TicTacToe
from tabia.players.player import Choice
from tabia.players.spec import PlayerError
from tabia.search.errors import SearchError
from tabia.search.minimax import at_random
from tabia.solvers.enumeration import TooLarge
from tabia.solvers.exact import Solution, solve

if TYPE_CHECKING:  # it needs Numba, which not everyone has
    from tabia.solvers import connect_solver

LIMIT = 200_000
"""The most positions of a game that is solved outright."""
_SMALL_BOARD = 16  # fields of the Connect boards that are solved outright
_MOST_ACTIONS, _MOST_MOVES = 64, 64  # of games that are worth an attempt


class Truth(NamedTuple):
    """What is known of each position; rows of finished games mean nothing."""

    best: np.ndarray  # bool[B, A] the moves that keep the mover's value
    fastest: np.ndarray  # bool[B, A] of those the ones that win soonest or hold out longest
    means: np.ndarray  # float32[B, A] what the mover gets after each move; NaN where it is illegal
    values: np.ndarray  # float32[B, P] what each seat gets
    scores: np.ndarray | None  # int32[B, A] the mover's score of each move, 0 where it is illegal


class Oracle(Protocol):
    """Whoever knows the truth about a game."""

    def truth(self, states: State) -> Truth: ...


@dataclass(frozen=True, eq=False)
class Perfect:
    """Any of the best moves; of those, if `fastest`, one that wins soonest or holds out longest."""

    game: Game
    oracle: Oracle
    spec: str = "perfect"
    fastest: bool = True

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        truth = self.oracle.truth(states.now if isinstance(self.game, History) else states)
        chosen = truth.fastest if self.fastest else truth.best
        policy = chosen / np.maximum(chosen.sum(axis=-1, keepdims=True), 1)
        return Choice(
            at_random(jnp.asarray(chosen), key),
            jnp.asarray(policy, jnp.float32),
            means=jnp.asarray(truth.means),
            values=jnp.asarray(truth.values),
            scores=None if truth.scores is None else jnp.asarray(truth.scores),
        )


def make(game: Game, spec: str = "perfect", *, fastest: bool = True) -> Perfect:
    """The perfect player of a game; PlayerError if the game is too large."""
    return Perfect(game, _oracle(game.game if isinstance(game, History) else game), spec, fastest)


def is_quick(game: Game) -> bool:
    """Whether perfect play is known within seconds, from any position of the game and without asking."""
    plain = game.game if isinstance(game, History) else game
    if isinstance(plain, TicTacToe):
        return True
    if not isinstance(plain, Connect) or plain.players != 2:
        return False
    booked = (plain.rows, plain.columns, plain.line) == (6, 7, 4) and find_spec("numba") is not None
    return booked or plain.max_moves <= _SMALL_BOARD


@lru_cache(maxsize=8)
def _oracle(game: Game) -> Oracle:
    if isinstance(game, Connect) and game.players == 2 and game.max_moves > _SMALL_BOARD:
        return _solver(game)
    if game.num_actions > _MOST_ACTIONS or game.max_moves > _MOST_MOVES:
        raise _too_large(game)
    try:
        return Table(game, solve(game, limit=LIMIT))
    except TooLarge as error:
        raise _too_large(game, str(error)) from None
    except SearchError as error:
        raise PlayerError(f"{game.id} has no perfect play: {error}") from None


def _too_large(game: Game, why: str = "") -> PlayerError:
    reason = f": {why}" if why else f", which tries games of up to {_MOST_ACTIONS} actions and {_MOST_MOVES} moves."
    return PlayerError(
        f"{game.id} is too large for perfect play{reason} Small games have tables of up to {LIMIT:,} positions "
        "(tictactoe, connect3), and Connect boards of two seats a solver."
    )


@dataclass(frozen=True, eq=False)
class Table:
    """Every position of a small game, solved."""

    game: Game
    solution: Solution

    def truth(self, states: State) -> Truth:
        children, mover, legal, stones = jax.device_get(_children(self.game, states))
        batch, actions = legal.shape
        after = self.solution.values(children).reshape(batch, actions, -1)
        own = np.take_along_axis(after, mover[:, None, None], axis=2)[:, :, 0]
        scores = self._scores(own, children, legal, stones) if _lays_stones(self.game) else None
        return Truth(
            self.solution.best(states),
            self.solution.fastest(states),
            np.where(legal, own, np.float32(np.nan)),
            self.solution.values(states),
            scores,
        )

    def _scores(self, own: np.ndarray, children: State, legal: np.ndarray, stones: np.ndarray) -> np.ndarray:
        at_end = stones[:, None] + 1 + self.solution.distance(children).reshape(legal.shape)
        size = (self.game.max_moves + 2 - at_end) // 2
        return np.where(legal, np.sign(own) * size, 0).astype(np.int32)


def _lays_stones(game: Game) -> bool:
    """Whether every move lays one stone, so that stones tell how far a game has gone."""
    return isinstance(game, TicTacToe) or (isinstance(game, Connect) and game.players == 2)


@partial(jax.jit, static_argnums=0)
def _children(game: Game, states: State) -> tuple[State, Array, Array, Array]:
    """What every action leads to [B * A], the mover [B], the legal moves [B, A], the stones on the board [B].

    An illegal action leads nowhere: its child is the position itself, which every table holds.
    """
    actions = jnp.arange(game.num_actions)
    children = jax.vmap(lambda state: jax.vmap(lambda action: game.step(state, action))(actions))(states)
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), children)
    stones = jax.vmap(game.observe)(states).sum(axis=(1, 2, 3)).astype(jnp.int32)
    return flat, jax.vmap(game.mover)(states), jax.vmap(game.legal)(states), stones


@dataclass(frozen=True, eq=False)
class Solver:
    """The Connect solver, asked for positions as bitboards."""

    game: Connect
    solver: connect_solver.Solver

    def truth(self, states: State) -> Truth:
        from tabia.solvers.connect_solver import from_states

        legal = np.asarray(jax.vmap(self.game.legal)(states))
        mover = np.asarray(jax.vmap(self.game.mover)(states))
        going = legal.any(axis=1)
        scores = np.zeros(legal.shape, np.int32)
        if going.any():
            scores[going] = self.solver.scores(from_states(self.game, states)[going])
        scores = np.where(legal, scores, 0).astype(np.int32)
        top = np.where(legal, scores, -(10**6)).max(axis=1, keepdims=True)
        value = np.where(going, np.sign(top[:, 0]), 0.0).astype(np.float32)
        mine = np.arange(2)[None, :] == mover[:, None]
        return Truth(
            best=legal & (np.sign(scores) == np.sign(top)),
            fastest=legal & (scores == top),
            means=np.where(legal, np.sign(scores), np.nan).astype(np.float32),
            values=np.where(mine, value[:, None], -value[:, None]),
            scores=scores,
        )


def _solver(game: Connect) -> Solver:
    """The solver for a board; refused with a sentence where the board is too large or Numba is missing."""
    try:
        from tabia.solvers import connect_solver

        return Solver(game, connect_solver.Solver(game.rows, game.columns, game.line))
    except GameError as error:  # its compiler is missing, or the board does not fit
        raise PlayerError(f"There is no perfect play on {game.id} here. {error}") from None
