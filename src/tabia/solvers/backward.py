"""Backward values: from how games end to what every position is worth.

A position is settled once all positions its moves lead to are. Plies are gone through from the last to the first,
which settles everything in one sweep if each move leads to a later ply; a game in which some lines take longer than
others (a pass, a move that loses time) takes a few sweeps, and a game that can go round in circles never ends.

Axis letters: N positions, E moves between them, P seats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tabia.games.game import Game
from tabia.search.errors import SearchError
from tabia.solvers.enumeration import Graph

FAR = np.int32(2**30)


class Endless(SearchError):
    """A game in which a position can come again."""


class Ending(NamedTuple):
    """How games end from each position, if every mover plays its best."""

    values: np.ndarray  # float32[N, P]; of several best moves the first counts
    distance: np.ndarray  # int32[N] moves to the end: a mover that comes out above the middle hurries, others delay
    best: np.ndarray  # bool[E] moves that keep their mover's value
    fastest: np.ndarray  # bool[E] moves that keep the distance too
    settled: np.ndarray  # bool[N]


def count_back(game: Game, graph: Graph) -> Ending:
    """Settle every position; Endless, saying where, if some cannot be."""
    positions, moves = len(graph.prints), len(graph.child)
    ending = Ending(
        values=graph.scores.copy(),
        distance=np.zeros(positions, np.int32),
        best=np.zeros(moves, bool),
        fastest=np.zeros(moves, bool),
        settled=np.diff(graph.moves) == 0,
    )
    while not ending.settled.all():
        swept = [_settle(graph, ending, ply) for ply in reversed(range(len(graph.plies) - 1))]
        if not any(swept):
            raise Endless(_circle(game, graph, ending.settled))
    return ending


def _settle(graph: Graph, ending: Ending, ply: int) -> int:
    """Settle what can be settled of a ply; returns how many positions that is."""
    low, high = graph.plies[ply], graph.plies[ply + 1]
    ready = ~ending.settled[low:high]
    if not ready.any():
        return 0
    owner = np.repeat(np.arange(high - low), np.diff(graph.moves[low : high + 1]))
    edges = slice(graph.moves[low], graph.moves[high])
    ready[owner[~ending.settled[graph.child[edges]]]] = False
    if ready.any():
        _choose(graph, ending, low + np.flatnonzero(ready), graph.moves[low] + np.flatnonzero(ready[owner]))
    return int(ready.sum())


def _choose(graph: Graph, ending: Ending, nodes: np.ndarray, edges: np.ndarray) -> None:
    """Let the movers of positions choose among all their moves, which lead to settled positions."""
    degree = graph.moves[nodes + 1] - graph.moves[nodes]
    begin = np.cumsum(degree) - degree
    child = graph.child[edges]
    own = ending.values[child, np.repeat(graph.mover[nodes], degree)]
    top = np.maximum.reduceat(own, begin)
    best = own == np.repeat(top, degree)
    first = np.minimum.reduceat(np.where(best, np.arange(len(edges)), len(edges)), begin)
    after = ending.distance[child]
    soonest = np.minimum.reduceat(np.where(best, after, FAR), begin)
    latest = np.maximum.reduceat(np.where(best, after, -1), begin)
    distance = np.where(top > 0, soonest, latest)
    ending.values[nodes] = ending.values[child[first]]
    ending.distance[nodes] = distance + 1
    ending.best[edges] = best
    ending.fastest[edges] = best & (after == np.repeat(distance, degree))
    ending.settled[nodes] = True


def _circle(game: Game, graph: Graph, settled: np.ndarray) -> str:
    """A sentence that shows one way round."""
    node, met = int(np.flatnonzero(~settled)[0]), dict[int, int]()
    while node not in met:
        met[node] = len(met)
        onward = graph.child[graph.moves[node] : graph.moves[node + 1]]
        node = int(onward[~settled[onward]][0])
    line = " ".join(game.move_name(action) for action in _line_to(graph, node))
    return (
        f"{game.id} can go round in circles, so it cannot be solved from its ends: the position after "
        f"{line or 'no move'} can come again {len(met) - met[node]} moves later."
    )


def _line_to(graph: Graph, node: int) -> list[int]:
    """The actions of a shortest line to a position."""
    line: list[int] = []
    for ply in reversed(range(int(np.searchsorted(graph.plies, node, side="right")) - 1)):
        begin, end = graph.moves[graph.plies[ply]], graph.moves[graph.plies[ply + 1]]
        edge = begin + int(np.flatnonzero(graph.child[begin:end] == node)[0])
        line.append(int(graph.action[edge]))
        node = int(np.searchsorted(graph.moves, edge, side="right")) - 1
    return line[::-1]
