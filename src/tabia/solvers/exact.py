"""Exact solving of small games without iterations: the result of every position, and every move that keeps it.

All reachable positions are enumerated, then valued from the ends backwards: the mover of each position takes the
move that is best for itself. With two seats and opposite scores that is the game-theoretic value; with more seats it
is max^n, where moves that are equal for the mover can differ for the others, and the first of them counts.

    solution = solve(make("tictactoe"))
    solution.values(states)           # float32[B, P]
    solution.best(states)             # bool[B, A]
    Search(game, solution.evaluator(), ...).run(solution.table, states, key)

Axis letters: B batch, N positions, E moves between them, P seats, A actions, W words of 32 actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.search.errors import SearchError
from tabia.search.evaluators import Evaluate, Evaluation
from tabia.solvers.backward import Ending, count_back
from tabia.solvers.enumeration import Graph, Progress, enumerate_positions
from tabia.solvers.positions import Index, index


class Table(NamedTuple):
    """What is known of N positions, for compiled code to look up."""

    where: Index
    values: Array  # float32[N, P] what each seat gets, scaled to [-1, 1]
    best: Array  # uint32[N, W] bit a % 32 of word a // 32: action a keeps the mover's value
    fastest: Array  # uint32[N, W] the same for moves that also win fastest or hold out longest
    distance: Array  # int32[N] moves to the end if all play the fastest


@dataclass(frozen=True, eq=False)
class Solution:
    """A solved game; all questions are asked of batches of reachable positions [B, ...]."""

    game: Game
    table: Table

    def __len__(self) -> int:
        """How many positions there are."""
        return int(self.table.values.shape[0])

    def values(self, states: State) -> np.ndarray:
        """float32[B, P]: what each seat gets if all play best, scaled to [-1, 1]."""
        return np.asarray(self.table.values[self._rows(states)])

    def best(self, states: State) -> np.ndarray:
        """bool[B, A]: the moves that keep the mover's value; none once the game is over."""
        return np.asarray(_bits(self.table.best[self._rows(states)], self.game.num_actions))

    def fastest(self, states: State) -> np.ndarray:
        """bool[B, A]: of the best moves those that win fastest or, where there is nothing to win, last longest."""
        return np.asarray(_bits(self.table.fastest[self._rows(states)], self.game.num_actions))

    def distance(self, states: State) -> np.ndarray:
        """int32[B]: how many moves the game still takes if all play the fastest."""
        return np.asarray(self.table.distance[self._rows(states)])

    def evaluator(self, *, gap: float = 5.0) -> Evaluate:
        """The solution as a search's evaluator, whose parameters are `table`.

        Logits are 0 for the best moves and -gap for the others; a position that cannot be reached gets NaN, which
        searches report.
        """
        return Perfect(self.game, self.table.where.steps_needed, gap)

    def _rows(self, states: State) -> Array:
        rows = _find(self.game, self.table.where.steps_needed, self.table.where, states)
        missing = np.flatnonzero(np.asarray(rows) < 0)
        if missing.size:
            unknown = jax.tree.map(lambda leaf: leaf[missing[0]], states)
            raise SearchError(
                f"Position {missing[0]} of the batch is not one of the {len(self):,} reachable positions of "
                f"{self.game.id} that were solved:\n{self.game.draw(unknown)}"
            )
        return rows


@dataclass(frozen=True)
class Perfect:
    """An evaluator that knows: its parameters are a solution's table."""

    game: Game
    steps: int
    gap: float

    def __call__(self, table: Table, states: State, key: Array) -> Evaluation:
        rows = table.where.find(self.game, states, steps=self.steps)
        logits = jnp.where(_bits(table.best[rows], self.game.num_actions), 0.0, -self.gap)
        values = jnp.where((rows < 0)[:, None], jnp.nan, table.values[rows])
        return Evaluation(logits, values)


def solve(
    game: Game, *, starts: State | None = None, limit: int = 5_000_000, progress: Progress | None = None
) -> Solution:
    """Solve a game from its start, or from all the positions `starts` [S, ...].

    Raises TooLarge if there are more than `limit` positions, and Endless if one can come again. `progress` is told each
    ply and how many positions there are so far. Connect on 5 columns and 4 rows, 3.9 million, takes 10 s and 1.5 GB.
    """
    if game.chance:
        raise SearchError(f"{game.id} has chance; only games without can be solved exactly.")
    if limit < 1:
        raise SearchError(f"limit={limit}: at least 1 position is needed.")
    if starts is None:
        starts = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    graph = enumerate_positions(game, starts, limit=limit, progress=progress)
    return Solution(game, _table(game, graph, count_back(game, graph)))


def _table(game: Game, graph: Graph, ending: Ending) -> Table:
    place, order = index(graph.prints, graph.words)
    return Table(
        where=place,
        values=jnp.asarray(ending.values[order]),
        best=jnp.asarray(_packed(game, graph, ending.best)[order]),
        fastest=jnp.asarray(_packed(game, graph, ending.fastest)[order]),
        distance=jnp.asarray(ending.distance[order]),
    )


def _packed(game: Game, graph: Graph, chosen: np.ndarray) -> np.ndarray:
    """Chosen moves bool[E] as bits by position, uint32[N, W]."""
    width = -(-game.num_actions // 32)
    owner = np.repeat(np.arange(len(graph.prints)), np.diff(graph.moves))[chosen]
    action = graph.action[chosen]
    words = np.zeros(len(graph.prints) * width, np.uint32)
    np.add.at(words, owner * width + action // 32, np.uint32(1) << (action % 32).astype(np.uint32))
    return words.reshape(-1, width)


def _bits(words: Array, count: int) -> Array:
    """The first `count` bits of words [B, W] as bool[B, count]."""
    places = jnp.arange(32, dtype=jnp.uint32)
    return (words[:, :, None] >> places[None, None, :] & 1).astype(bool).reshape(words.shape[0], -1)[:, :count]


@partial(jax.jit, static_argnums=(0, 1))
def _find(game: Game, steps: int, place: Index, states: State) -> Array:
    return place.find(game, states, steps=steps)
