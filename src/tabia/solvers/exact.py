"""Exact solutions of small games without loops: the value of every position, and every move that keeps it.

All reachable positions are enumerated, then valued from the ends backwards. In each position the mover takes its best
move. For two seats with opposite scores this is the game-theoretic value. For more seats it is max^n: moves of equal
value for the mover can differ for the others, and the first of them counts.

    solution = solve(make("tictactoe"))
    solution.values(states)           # float32[B, P]
    solution.best(states)             # bool[B, A]

Axis letters: B batch, N positions, E moves between them, P seats, A actions, W words of 32 actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple, TypeVar

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.solvers.enumeration import Graph, Progress, enumerate_positions
from tabia.solvers.errors import SolverError
from tabia.solvers.index import Index, build_index
from tabia.solvers.retrograde import Values, solve_backwards

_Words = TypeVar("_Words", Array, np.ndarray)


class Table(NamedTuple):
    """The solved positions, for compiled code to look up."""

    positions: Index
    values: Array  # float32[N, P] scaled to [-1, 1]
    best: Array  # uint32[N, W] bit a % 32 of word a // 32: action a keeps the mover's value
    fastest: Array  # uint32[N, W] the same for the fastest wins and slowest losses among the best moves
    distance: Array  # int32[N] moves to the end if every seat plays a fastest move


class _Rows(NamedTuple):
    """What a `Table` holds for each position."""

    values: np.ndarray
    best: np.ndarray
    fastest: np.ndarray
    distance: np.ndarray


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved game; methods take batches of reachable positions [B, ...]."""

    game: Game
    table: Table

    def __len__(self) -> int:
        """The number of positions."""
        return int(self.table.values.shape[0])

    def values(self, states: State) -> np.ndarray:
        """float32[B, P]: the value for each seat under best play, scaled to [-1, 1]."""
        return self._host.values[self._rows(states)]

    def best(self, states: State) -> np.ndarray:
        """bool[B, A]: the moves that keep the mover's value; none if the game is over."""
        return _bits(self._host.best[self._rows(states)], self.game.num_actions)

    def fastest(self, states: State) -> np.ndarray:
        """bool[B, A]: the best moves that win fastest or, if the mover cannot win, delay the end longest."""
        return _bits(self._host.fastest[self._rows(states)], self.game.num_actions)

    def distance(self, states: State) -> np.ndarray:
        """int32[B]: moves to the end if every seat plays a fastest move."""
        return self._host.distance[self._rows(states)]

    @cached_property
    def _host(self) -> _Rows:
        """The table in the host's memory, where looking up rows needs no compiled program."""
        return _Rows(*map(np.asarray, self.table[1:]))

    def _rows(self, states: State) -> np.ndarray:
        rows = np.asarray(_find(self.game, self.table.positions.steps_needed, self.table.positions, states))
        missing = np.flatnonzero(rows < 0)
        if missing.size:
            unknown = jax.tree.map(lambda leaf: leaf[missing[0]], states)
            raise SolverError(
                f"Position {missing[0]} of the batch is not one of the {len(self):,} reachable positions of "
                f"{self.game.id} that were solved:\n{self.game.draw(unknown)}"
            )
        return rows


def look_up(game: Game, table: Table, states: State, *, steps: int) -> tuple[Array, Array]:
    """The best moves bool[B, A] and values float32[B, P] of positions; NaN if unreachable; for compiled code.

    `steps` is `table.positions.steps_needed`.
    """
    rows = table.positions.find(game, states, steps=steps)
    return _bits(table.best[rows], game.num_actions), jnp.where((rows < 0)[:, None], jnp.nan, table.values[rows])


def solve(
    game: Game, *, starts: State | None = None, limit: int = 5_000_000, progress: Progress | None = None
) -> Solution:
    """Solve a game from its start, or from all the positions `starts` [S, ...].

    Raises TooLarge if there are more than `limit` positions, and Endless if positions can repeat. `progress` receives
    each ply and the number of positions so far. Connect on 5 columns and 4 rows, 3.9 million, takes 10 s and 1.5 GB.
    """
    if game.chance:
        raise SolverError(f"{game.id} has chance; only games without chance can be solved exactly.")
    if limit < 1:
        raise SolverError(f"limit={limit}: at least 1 position is needed.")
    if starts is None:
        starts = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    graph = enumerate_positions(game, starts, limit=limit, progress=progress)
    return Solution(game, _table(game, graph, solve_backwards(game, graph)))


def _table(game: Game, graph: Graph, found: Values) -> Table:
    index, order = build_index(graph.prints, graph.words)
    return Table(
        positions=index,
        values=jax.device_put(found.values[order]),
        best=jax.device_put(_packed(game, graph, found.best)[order]),
        fastest=jax.device_put(_packed(game, graph, found.fastest)[order]),
        distance=jax.device_put(found.distance[order]),
    )


def _packed(game: Game, graph: Graph, chosen: np.ndarray) -> np.ndarray:
    """Chosen moves bool[E] as bits by position, uint32[N, W]."""
    width = -(-game.num_actions // 32)
    owner = np.repeat(np.arange(len(graph.prints)), np.diff(graph.moves))[chosen]
    action = graph.action[chosen]
    words = np.zeros(len(graph.prints) * width, np.uint32)
    np.add.at(words, owner * width + action // 32, np.uint32(1) << (action % 32).astype(np.uint32))
    return words.reshape(-1, width)


def _bits(words: _Words, count: int) -> _Words:
    """The first `count` bits of words [B, W] as bool[B, count]."""
    places = np.arange(32, dtype=np.uint32)
    return (words[:, :, None] >> places[None, None, :] & 1).astype(bool).reshape(words.shape[0], -1)[:, :count]


@partial(jax.jit, static_argnums=(0, 1))
def _find(game: Game, steps: int, index: Index, states: State) -> Array:
    return index.find(game, states, steps=steps)
