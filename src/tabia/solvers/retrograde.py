"""Retrograde analysis: the value of every position, from the ends of games backwards.

A position is solved once all its successors are. Plies are swept from the last to the first, which solves everything
in one sweep if each move leads to a later ply. Games with lines of different lengths (a pass, a lost tempo) take a few
sweeps. A game in which positions repeat cannot be solved this way.

Axis letters: N positions, E moves between them, P seats.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tabia.games.game import Game
from tabia.solvers.enumeration import Graph
from tabia.solvers.errors import Endless

FAR = np.int32(2**30)


class Values(NamedTuple):
    """The outcome of each position if every seat plays its best move."""

    values: np.ndarray  # float32[N, P]; the first of several best moves counts
    distance: np.ndarray  # int32[N] moves to the end; a mover with a value above 0 minimizes it, others maximize it
    best: np.ndarray  # bool[E] moves that keep the mover's value
    fastest: np.ndarray  # bool[E] moves that also keep the distance
    solved: np.ndarray  # bool[N]


def solve_backwards(game: Game, graph: Graph) -> Values:
    """Solve every position; raises Endless, with an example, if positions can repeat."""
    positions, moves = len(graph.prints), len(graph.child)
    found = Values(
        values=graph.scores.copy(),
        distance=np.zeros(positions, np.int32),
        best=np.zeros(moves, bool),
        fastest=np.zeros(moves, bool),
        solved=np.diff(graph.moves) == 0,
    )
    while not found.solved.all():
        swept = [_solve_ply(graph, found, ply) for ply in reversed(range(len(graph.plies) - 1))]
        if not any(swept):
            raise Endless(_describe_loop(game, graph, found.solved))
    return found


def _solve_ply(graph: Graph, found: Values, ply: int) -> int:
    """Solve the positions of a ply whose successors are solved; returns their number."""
    low, high = graph.plies[ply], graph.plies[ply + 1]
    ready = ~found.solved[low:high]
    if not ready.any():
        return 0
    owner = np.repeat(np.arange(high - low), np.diff(graph.moves[low : high + 1]))
    edges = slice(graph.moves[low], graph.moves[high])
    ready[owner[~found.solved[graph.child[edges]]]] = False
    if ready.any():
        _back_up(graph, found, low + np.flatnonzero(ready), graph.moves[low] + np.flatnonzero(ready[owner]))
    return int(ready.sum())


def _back_up(graph: Graph, found: Values, nodes: np.ndarray, edges: np.ndarray) -> None:
    """Value positions by their best moves, all of which lead to solved positions."""
    degree = graph.moves[nodes + 1] - graph.moves[nodes]
    begin = np.cumsum(degree) - degree
    child = graph.child[edges]
    own = found.values[child, np.repeat(graph.mover[nodes], degree)]
    top = np.maximum.reduceat(own, begin)
    best = own == np.repeat(top, degree)
    first = np.minimum.reduceat(np.where(best, np.arange(len(edges)), len(edges)), begin)
    after = found.distance[child]
    soonest = np.minimum.reduceat(np.where(best, after, FAR), begin)
    latest = np.maximum.reduceat(np.where(best, after, -1), begin)
    distance = np.where(top > 0, soonest, latest)
    found.values[nodes] = found.values[child[first]]
    found.distance[nodes] = distance + 1
    found.best[edges] = best
    found.fastest[edges] = best & (after == np.repeat(distance, degree))
    found.solved[nodes] = True


def _describe_loop(game: Game, graph: Graph, solved: np.ndarray) -> str:
    """A sentence that names a position which can repeat."""
    node, met = int(np.flatnonzero(~solved)[0]), dict[int, int]()
    while node not in met:
        met[node] = len(met)
        onward = graph.child[graph.moves[node] : graph.moves[node + 1]]
        node = int(onward[~solved[onward]][0])
    line = " ".join(game.move_name(action) for action in _line_to(graph, node))
    return (
        f"{game.id} cannot be solved from its ends because positions can repeat: the position after "
        f"{line or 'no move'} can repeat {len(met) - met[node]} moves later."
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
