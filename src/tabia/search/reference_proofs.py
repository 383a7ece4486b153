"""Proven values in plain Python, for the reference implementation: an MCTS-Solver for any number of seats.

A position is proven if the game is over, if its mover has a proven action with the highest score, or if all of its
actions are proven. Its value is then that of the proven action that is best for its mover, the first on a tie. A
simulation ends at a proven action. What it proves is marked on its path, from the end upwards, and it backs up the
value of the highest position that it proved (Winands, Bjornsson & Saito 2008, "Monte-Carlo Tree Search Solver").
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tabia.search.reference import Edge, Node, Path

HIGHEST = 1.0 - 1e-6  # the highest score, which scaling to [-1, 1] may round


def best_proven(node: Node) -> list[float] | None:
    """The values of the proven action that is best for the mover, the first on a tie."""
    proven = [edge.proven for edge in node.edges.values() if edge.proven is not None]
    return max(proven, key=lambda values: values[node.mover]) if proven else None


def proof(node: Node) -> list[float] | None:
    """The exact value for each seat, if the node is proven."""
    best = best_proven(node)
    if best is None:
        return None
    is_won = best[node.mover] >= HIGHEST
    return best if is_won or all(edge.proven is not None for edge in node.edges.values()) else None


def candidates(node: Node) -> dict[int, Edge]:
    """The actions that may be the best: the best proven ones, and those not proven unless the node is."""
    best, is_proven = best_proven(node), proof(node) is not None

    def may_be_best(edge: Edge) -> bool:
        if edge.proven is None or best is None:
            return not is_proven
        return edge.proven[node.mover] == best[node.mover]

    return {action: edge for action, edge in node.edges.items() if may_be_best(edge)}


def considered(root: Node, visits: int | None) -> list[int]:
    """The candidates with so many visits; None: all.

    If proofs leave none, those with the next higher number of visits, or with the highest if there is none.
    """
    edges = candidates(root)
    if visits is None:
        return list(edges)
    counts = [edge.visits for edge in edges.values()]
    wanted = min((count for count in counts if count >= visits), default=max(counts))
    return [action for action, edge in edges.items() if edge.visits == wanted]


def prove(path: Path, values: list[float]) -> list[float]:
    """Mark on the path, from its end, what the last action proves; the values of the highest position proven."""
    proven = path[-1][0].edges[path[-1][1]].proven
    for node, action in reversed(path):
        if proven is None:
            break
        if proof(node) is None:
            node.edges[action].proven = proven
        values, proven = proven, proof(node)
    return values if proven is None else proven
