"""Perfect play: solved tables for small games, and a solver for Connect boards.

Scores measure the distance to the end, following Pons: a win with the mover's last possible stone scores 1, one stone
earlier 2, and so on; losses are negative, a draw is 0. Everything here runs on the host. Axis letters: B positions,
A actions, P seats.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
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
from tabia.players.spec import PlayerError, spec_text
from tabia.search.evaluators import Evaluation
from tabia.search.minimax import at_random
from tabia.solvers.errors import SolverError, TooLarge
from tabia.solvers.exact import Solution, Table, look_up, solve

if TYPE_CHECKING:  # needs Numba, an optional dependency
    from tabia.solvers.connect.solver import Solver

LIMIT = 200_000
"""The largest number of positions of a game that is solved by enumeration."""
_SMALL_BOARD = 16  # fields of the largest Connect board that is solved by enumeration
_MOST_ACTIONS, _MOST_MOVES = 64, 64  # of the largest games worth an attempt


class Truth(NamedTuple):
    """The exact truth about a batch of positions; rows of finished games are undefined."""

    best: np.ndarray  # bool[B, A] the moves that keep the mover's value
    fastest: np.ndarray  # bool[B, A] the best moves that win fastest or lose slowest
    means: np.ndarray  # float32[B, A] the mover's value of each move; NaN if illegal
    values: np.ndarray  # float32[B, P] the value for each seat
    scores: np.ndarray | None  # int32[B, A] the mover's score of each move, 0 if illegal


class Oracle(Protocol):
    """Knows the exact value of every position of a game."""

    def truth(self, states: State) -> Truth: ...


@dataclass(frozen=True)
class PerfectPlayer:
    """Plays any of the best moves; with `fastest`, only those that win fastest or lose slowest.

    Raises PlayerError if the game is too large.
    """

    game: Game
    _: KW_ONLY
    fastest: bool = True
    name: str = field(default="", compare=False)

    def __post_init__(self) -> None:
        _ = self.oracle

    @property
    def spec(self) -> str:
        return self.name or spec_text("perfect", {} if self.fastest else {"fastest": False})

    @property
    def oracle(self) -> Oracle:
        """The exact values behind the moves."""
        return _oracle(self.game.game if isinstance(self.game, History) else self.game)

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        truth = self.oracle.truth(states.now if isinstance(self.game, History) else states)
        chosen = truth.fastest if self.fastest else truth.best
        policy = chosen / np.maximum(chosen.sum(axis=-1, keepdims=True), 1)
        return Choice(
            at_random(jax.device_put(chosen), key),
            jax.device_put(policy.astype(np.float32)),
            means=jax.device_put(truth.means),
            values=jax.device_put(truth.values),
            scores=None if truth.scores is None else jax.device_put(truth.scores),
        )


def is_quick(game: Game) -> bool:
    """Whether any position of a game is solved within seconds."""
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
        return TableOracle(game, solve(game, limit=LIMIT))
    except TooLarge as error:
        raise _too_large(game, str(error)) from None
    except SolverError as error:
        raise PlayerError(f"Perfect play of {game.id} is not available: {error}") from None


def _too_large(game: Game, why: str = "") -> PlayerError:
    limit = f"games have at most {_MOST_ACTIONS} actions and {_MOST_MOVES} moves."
    reason = f": {why or limit}"
    return PlayerError(
        f"{game.id} is too large for perfect play{reason} Perfect play covers games of up to {LIMIT:,} positions "
        "(tictactoe, connect3) and Connect boards for two seats."
    )


@dataclass(frozen=True, eq=False)
class TableOracle:
    """A small game, solved by enumeration."""

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
    """Whether every move places one stone, so that stones count the moves."""
    return isinstance(game, TicTacToe) or (isinstance(game, Connect) and game.players == 2)


@partial(jax.jit, static_argnums=0)
def _children(game: Game, states: State) -> tuple[State, Array, Array, Array]:
    """The child of every action [B * A], the mover [B], the legal moves [B, A], the stones on the board [B].

    The child of an illegal action is the position itself, which every table contains.
    """
    actions = jnp.arange(game.num_actions)
    children = jax.vmap(lambda state: jax.vmap(lambda action: game.step(state, action))(actions))(states)
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), children)
    stones = jax.vmap(game.observe)(states).sum(axis=(1, 2, 3)).astype(jnp.int32)
    return flat, jax.vmap(game.mover)(states), jax.vmap(game.legal)(states), stones


@dataclass(frozen=True, eq=False)
class SolverOracle:
    """A Connect board, solved position by position."""

    game: Connect
    solver: Solver

    def truth(self, states: State) -> Truth:
        from tabia.solvers.connect.solver import from_states

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


def _solver(game: Connect) -> SolverOracle:
    """The solver of a board; raises PlayerError if the board is too large or Numba is missing."""
    try:
        from tabia.solvers.connect.solver import Solver

        return SolverOracle(game, Solver(game.rows, game.columns, game.line))
    except GameError as error:  # Numba is missing, or the board does not fit
        raise PlayerError(f"Perfect play of {game.id} is not available. {error}") from None


@dataclass(frozen=True)
class SolutionEvaluator:
    """A solved game as the evaluator of a search, which passes the solution's table as parameters.

    Logits are 0 for the best moves and -gap for others. Unreachable positions get NaN, which searches report.
    """

    game: Game
    steps: int
    gap: float

    @classmethod
    def of(cls, solution: Solution, *, gap: float = 5.0) -> SolutionEvaluator:
        return cls(solution.game, solution.table.positions.steps_needed, gap)

    def __call__(self, table: Table, states: State, key: Array) -> Evaluation:
        best, values = look_up(self.game, table, states, steps=self.steps)
        return Evaluation(jnp.where(best, 0.0, -self.gap), values)
