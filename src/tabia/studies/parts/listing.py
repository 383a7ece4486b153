"""Mini AlphaGo and UCT as the published code of Goldberg & Ishay 2017 plays them, on the positions of a small game.

The listing of their section 2.5, completed by their code, differs from the text and from common UCT in three ways:

- The result of a rollout is counted for the player who searches, in every node. Nodes of the opponent are therefore
  selected as if the opponent wanted that player to win.
- The tree is searched by UCT with a constant of its own. c1, c2 and the network count only in the final choice.
- The final choice is the highest score, exploration included, and not the most visited move. With a constant above
  that of the tree this is a move that the search avoided.

All games of a match are searched at once. Axis letters: G games, N positions, M nodes of a tree, A actions.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import jax
import numpy as np

from tabia.games.game import Game
from tabia.solvers.enumeration import enumerate_positions
from tabia.training.supervised import MOST

TREE_C = 1.0  # in their code 1 / sqrt 2, times the sqrt 2 of the formula
_NONE = -1


class Table(NamedTuple):
    """The positions of a game with two seats and the moves between them."""

    child: np.ndarray  # int32[N, A] the position after a move, -1 for illegal ones
    mover: np.ndarray  # int32[N]
    scores: np.ndarray  # float32[N, 2]

    @property
    def over(self) -> np.ndarray:
        """bool[N]"""
        return np.asarray((self.child < 0).all(axis=1))


@dataclass(frozen=True)
class Side:
    """How a player makes its final choice: Q + c1 sqrt(ln N / n) + c2 [favorite] / (1 + n)."""

    c1: float
    c2: float = 0.0
    favorites: np.ndarray | None = None  # int32[N] the network's move in every position


class Searched(NamedTuple):
    """The root's actions after a search."""

    visits: np.ndarray  # [G, A]
    means: np.ndarray  # [G, A] for the player who searches
    total: np.ndarray  # [G] visits of the root


@lru_cache(maxsize=1)
def tabulate(game: Game) -> Table:
    """All positions of a game, the first position first."""
    starts = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    graph = enumerate_positions(game, starts, limit=MOST)
    child = np.full((len(graph.prints), game.num_actions), _NONE, np.int32)
    child[np.repeat(np.arange(len(child)), np.diff(graph.moves)), graph.action] = graph.child
    return Table(child, graph.mover, graph.scores)


def play_match(table: Table, sides: tuple[Side, Side], games: int, budget: int, seed: int) -> np.ndarray:
    """The scores [G] of the first player in games between two sides that search with the same budget."""
    random, over = np.random.default_rng(seed), table.over
    positions = np.zeros(games, np.int32)
    ply = 0
    while len(going := np.flatnonzero(~over[positions])):
        here = positions[going]
        found = search(table, here, budget, random)
        positions[going] = table.child[here, choose(sides[ply % 2], found, here)]
        ply += 1
    return np.asarray(table.scores[positions, 0])


def choose(side: Side, found: Searched, positions: np.ndarray) -> np.ndarray:
    """The action [G] with the highest score of the final choice."""
    scores = found.means + side.c1 * np.sqrt(np.log(found.total)[:, None] / np.maximum(found.visits, 1))
    if side.favorites is not None:
        favorite = side.favorites[positions][:, None] == np.arange(scores.shape[1])
        scores = scores + side.c2 * favorite / (1 + found.visits)
    return np.argmax(np.where(found.visits > 0, scores, -np.inf), axis=1)


def search(table: Table, roots: np.ndarray, budget: int, random: np.random.Generator) -> Searched:
    """Search each of the positions [G] with its own tree of at most one new node per iteration."""
    trees, over = _Trees(table, roots, budget + 1), table.over
    for _ in range(budget):
        leaves = trees.descend(over)
        ends = roll_out(table, trees.positions[trees.rows, leaves], over, random)
        trees.back_up(leaves, table.scores[ends, table.mover[roots]])
    return trees.roots()


def roll_out(table: Table, positions: np.ndarray, over: np.ndarray, random: np.random.Generator) -> np.ndarray:
    """Finished positions [G], reached by random moves."""
    ends = positions.copy()
    while len(going := np.flatnonzero(~over[ends])):
        moves = table.child[ends[going]]
        picked = np.argmax(np.where(moves >= 0, random.random(moves.shape), -1.0), axis=1)
        ends[going] = moves[np.arange(len(going)), picked]
    return ends


class _Trees:
    """A tree for each game, grown in step."""

    def __init__(self, table: Table, roots: np.ndarray, capacity: int) -> None:
        games = len(roots)
        self.table, self.rows = table, np.arange(games)
        self.positions = np.zeros((games, capacity), np.int32)
        self.children = np.full((games, capacity, table.child.shape[1]), _NONE, np.int32)
        self.parents = np.full((games, capacity), _NONE, np.int32)
        self.visits, self.sums = np.zeros((games, capacity)), np.zeros((games, capacity))
        self.sizes = np.ones(games, np.int32)
        self.positions[:, 0] = roots

    def descend(self, over: np.ndarray) -> np.ndarray:
        """A leaf [G] of every tree: the first untried move on the way down, or the end of the game."""
        leaves = np.zeros(len(self.rows), np.int32)
        going = self.rows[~over[self.positions[:, 0]]]
        while len(going):
            nodes = leaves[going]
            legal = self.table.child[self.positions[going, nodes]] >= 0
            untried = legal & (self.children[going, nodes] < 0)
            ready = untried.any(axis=1)
            leaves[going[ready]] = self._expand(going[ready], nodes[ready], np.argmax(untried[ready], axis=1))
            going, nodes, legal = going[~ready], nodes[~ready], legal[~ready]
            leaves[going] = self._select(going, nodes, legal)
            going = going[~over[self.positions[going, leaves[going]]]]
        return leaves

    def _expand(self, games: np.ndarray, nodes: np.ndarray, actions: np.ndarray) -> np.ndarray:
        new = self.sizes[games]
        self.sizes[games] += 1
        self.children[games, nodes, actions] = new
        self.parents[games, new] = nodes
        self.positions[games, new] = self.table.child[self.positions[games, nodes], actions]
        return new

    def _select(self, games: np.ndarray, nodes: np.ndarray, legal: np.ndarray) -> np.ndarray:
        children = self.children[games, nodes]
        visits, means = self._statistics(games, children, legal)
        scores = means + TREE_C * np.sqrt(np.log(self.visits[games, nodes])[:, None] / np.maximum(visits, 1))
        return np.asarray(children[np.arange(len(games)), np.argmax(np.where(legal, scores, -np.inf), axis=1)])

    def _statistics(self, games: np.ndarray, children: np.ndarray, exist: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Visits and means [G, A] of children; 0 where there is none."""
        visits = np.where(exist, self.visits[games[:, None], children], 0.0)
        return visits, np.where(exist, self.sums[games[:, None], children] / np.maximum(visits, 1), 0.0)

    def back_up(self, leaves: np.ndarray, values: np.ndarray) -> None:
        """Count a value [G] in every node from the leaf to the root, with the same sign."""
        games, nodes = self.rows, leaves
        while len(games):
            self.visits[games, nodes] += 1
            self.sums[games, nodes] += values[games]
            nodes = self.parents[games, nodes]
            games, nodes = games[nodes >= 0], nodes[nodes >= 0]

    def roots(self) -> Searched:
        """The statistics of the roots' actions."""
        children = self.children[:, 0]
        return Searched(*self._statistics(self.rows, children, children >= 0), self.visits[:, 0])


def decisive_moves(table: Table) -> np.ndarray:
    """The move [N] that the authors' network learns: the one after which most lines of play do not end in a draw.

    Their script adds 1 to every node above a finished game that has a winner, whoever it is, and takes the child with
    the highest mean. Finished positions have the number of actions.
    """
    count, decided = np.ones(len(table.child)), (table.scores[:, 0] != 0).astype(float)
    found = np.full(len(table.child), table.child.shape[1], np.int32)
    for position in np.flatnonzero(~table.over)[::-1]:  # positions come in the order of play
        actions = np.flatnonzero(table.child[position] >= 0)
        children = table.child[position, actions]
        count[position], decided[position] = count[children].sum(), decided[children].sum()
        found[position] = actions[np.argmax(decided[children] / count[children])]
    return found
