"""Games of the pgx library: `pgx:chess`, `pgx:go_9x9`, `pgx:hex`.

pgx chooses the first player at random; here it is always seat 0, so seats are pgx's players and a game without dice
has one start for all keys. In pgx an illegal action loses, and a step after the end resets the rewards; here neither
changes the state. A state is stored without pgx's observation, which `observe` computes when it is needed, and with
histories in bytes: searches and replay buffers hold many states.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.tree_util import KeyPath

from tabia.core.errors import did_you_mean
from tabia.games.adapters import pgx_pieces as pieces
from tabia.games.adapters import pgx_stones as stones
from tabia.games.errors import GameError
from tabia.games.game import Game, Key, Symmetry

State = Any  # pgx's own state, as `stored` leaves it

HISTORIES = ("board_history", "_board_history", "_hand_history")
"""Fields of pgx's states that hold small numbers in 32 bits: pieces, and how many are in hand."""
BOARDS: dict[str, stones.Board] = {
    "animal_shogi": pieces.AnimalShogi(),
    "backgammon": pieces.Backgammon(),
    "chess": pieces.Chess(),
    "connect_four": stones.ConnectFour(),
    "gardner_chess": pieces.GardnerChess(),
    "go_9x9": stones.Go(9),
    "go_19x19": stones.Go(19),
    "hex": stones.Hex(),
    "othello": stones.Othello(),
    "shogi": pieces.Shogi(),
    "tic_tac_toe": stones.TicTacToe(),
}
"""What the adapter adds to each game: move names, drawings, symmetries, the longest game."""

_REFUSED = {
    "has hidden information": ("kuhn_poker", "leduc_holdem", "bridge_bidding", "sparrow_mahjong", "mahjong"),
    "has a single player": (
        "2048",
        "minatar-asterix",
        "minatar-breakout",
        "minatar-freeway",
        "minatar-seaquest",
        "minatar-space_invaders",
    ),
}


def make(name: str) -> Game:
    """The pgx game of this name; GameError if there is none or Tabia cannot play it.

    >>> make("connect_four").num_actions
    7
    """
    for reason, names in _REFUSED.items():
        if name in names:
            raise GameError(f"pgx:{name} {reason}; Tabia plays games of perfect information for two or more seats.")
    if name not in BOARDS:
        raise GameError(f"pgx has no game {name!r}. {did_you_mean(name, BOARDS)}")
    _rules(name)  # reports a missing library here rather than at the first move
    return PgxGame(name)


class _Rules(NamedTuple):
    """pgx's functions for one state, compiled, because its Python takes seconds per move."""

    library: Any
    init: Callable[[Key], State]
    step: Callable[[State, Array, Key | None], State]
    observe: Callable[[State, Array], Array]


@cache
def _rules(name: str) -> _Rules:
    try:
        with _as_pgx_expects():
            import pgx

            library = pgx.make(name)
    except ImportError as error:
        raise GameError(f"pgx:{name} needs the pgx library ({error}): install tabia[pgx].") from None
    board = BOARDS[name]

    def init(key: Key) -> State:
        with _as_pgx_expects():
            state = library.init(key)
            order = {"_player_order": jnp.arange(2, dtype=jnp.int32)} if hasattr(state, "_player_order") else {}
            state = state.replace(current_player=jnp.int32(0), **order)
            # Some of pgx's fields start as Python numbers; loops need arrays of a fixed type.
            return jax.tree.map(lambda leaf: jnp.asarray(leaf, jnp.asarray(leaf).dtype), stored(board.prepare(state)))

    def step(state: State, action: Array, key: Key | None) -> State:
        with _as_pgx_expects():
            played = jnp.any((jnp.arange(state.legal_action_mask.shape[0]) == action) & board.legal(state))
            after = stored(board.step(library, _restored(state), action, key))
            return jax.tree.map(lambda new, old: jnp.where(played, new.astype(old.dtype), old), after, state)

    def observe(state: State, seat: Array) -> Array:
        with _as_pgx_expects():
            return board.observe(library, _restored(state), seat)

    return _Rules(library, jax.jit(init), jax.jit(step), jax.jit(observe))


def stored(state: State) -> State:
    """A state of pgx without its observation, with its histories in bytes."""
    return _with_histories(state.replace(observation=jnp.zeros(0, bool)), jnp.int8)


def _restored(state: State) -> State:
    """A stored state as pgx's rules expect it, but without its observation, which they do not read."""
    return _with_histories(state, jnp.int32)


def _with_histories(state: State, dtype: Any) -> State:
    def typed(path: KeyPath[Any], leaf: Array) -> Array:
        return leaf.astype(dtype) if getattr(path[-1], "name", "") in HISTORIES else leaf

    return jax.tree.map_with_path(typed, state)


def _as_pgx_expects() -> Any:
    """Allow rank promotion, on which pgx relies and which strict callers forbid."""
    return jax.numpy_rank_promotion("allow")


@dataclass(frozen=True)
class PgxGame(Game):
    """A game of the pgx library."""

    pgx_id: str

    @property
    def name(self) -> str:
        return f"pgx:{self.pgx_id}"

    @property
    def id(self) -> str:
        return self.name

    @property
    def title(self) -> str:
        return self._board.title

    @property
    def version(self) -> int:
        """The version of pgx plus one, because pgx starts at v0."""
        return int(_rules(self.pgx_id).library.version.removeprefix("v")) + 1

    @property
    def num_players(self) -> int:
        return int(_rules(self.pgx_id).library.num_players)

    @cached_property
    def num_actions(self) -> int:
        return int(self._start.legal_action_mask.shape[0])

    @cached_property
    def observation_shape(self) -> tuple[int, int, int]:
        shape = jax.eval_shape(self._planes, self._start, jnp.int32(0)).shape
        return shape if len(shape) == 3 else (1, *shape, 1)

    @property
    def plane_names(self) -> tuple[str, ...]:
        return self._board.planes or super().plane_names

    @property
    def max_moves(self) -> int:
        return self._board.max_moves

    @property
    def score_range(self) -> tuple[float, float]:
        return self._board.score_range

    @property
    def chance(self) -> bool:
        return self._board.chance

    def certain(self, state: State) -> Array:
        return self._board.certain(state) if self.chance else super().certain(state)

    def init(self, key: Key) -> State:
        return _rules(self.pgx_id).init(key)

    def step(self, state: State, action: Array, key: Key | None = None) -> State:
        if self.chance and key is None:
            raise GameError(f"{self.id} has chance: `step` needs a key.")
        return _rules(self.pgx_id).step(state, jnp.asarray(action), key if self.chance else None)

    def legal(self, state: State) -> Array:
        return self._board.legal(state)

    def mover(self, state: State) -> Array:
        return state.current_player

    def over(self, state: State) -> Array:
        return self._board.over(state)

    def scores(self, state: State) -> Array:
        return state.rewards

    def observe(self, state: State, seat: Array | None = None) -> Array:
        planes = self._planes(state, self.mover(state) if seat is None else jnp.asarray(seat))
        return planes.astype(jnp.float32).reshape(self.observation_shape)

    def position(self, state: State) -> Array:
        return super().position(self._board.future(state))

    @cached_property
    def symmetries(self) -> tuple[Symmetry, ...]:
        return self._board.symmetries() or (self.identity,)

    def move_name(self, action: int, state: State | None = None) -> str:
        return self._board.move_name(int(action), state)

    def draw(self, state: State) -> str:
        return f"{self._board.draw(_readable(state))}\n{self._caption(state)}"

    def svg(self, state: State) -> str:
        with _as_pgx_expects():
            return str(state.to_svg())

    def piece(self, seat: int) -> str:
        return self._board.sides[seat]

    def goal(self, seat: int) -> str:
        return self._board.goals[seat]

    def moves_left(self, state: State) -> int | None:
        return self.max_moves - int(state._step_count) if self._board.limited else None

    def _caption(self, state: State) -> str:
        sides, scores = self._board.sides, np.asarray(self.scores(state))
        if not bool(self.over(state)):
            return f"{sides[int(self.mover(state))]} to move"
        return "draw" if scores[0] == scores[1] else f"{sides[int(scores.argmax())]} wins"

    def _planes(self, state: State, seat: Array) -> Array:
        return self._board.encode(_rules(self.pgx_id).observe(state, seat))

    @property
    def _board(self) -> stones.Board:
        return BOARDS[self.pgx_id]

    @cached_property
    def _start(self) -> State:
        return jax.eval_shape(_rules(self.pgx_id).init, jax.random.key(0))


def _readable(state: State) -> State:
    """The state as NumPy arrays, because reading single fields of device arrays is slow."""
    return jax.tree.map(np.asarray, state)
