"""Comparison of whole trees: the batched search against the reference implementation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.search.proofs import exact_records
from tabia.search.reference import Node
from tabia.search.rules import Gumbel, Rule
from tabia.search.rules.rule import Recommendation, Root
from tabia.search.tree import LINK, TOTAL, VALUE, VISITS, Tree, View

TOLERANCE = 1e-4


@dataclass(frozen=True)
class ByLane(Rule):
    """A different rule in each lane, so that one compiled search covers all rules.

    The roots are prepared as for Gumbel's rule; the other rules ignore that.
    """

    needs_squares: ClassVar[bool] = True  # also disables the GPU kernels, which have no lanes
    plans_root: ClassVar[bool] = True

    gumbel: Gumbel
    rules: tuple[Rule, ...]

    def scores(self, node: View) -> Array:
        return self._by_lane([rule.scores(node) for rule in self.rules])

    def prepare_root(self, logits: Array, simulations: int, key: Array) -> tuple[Array, Root]:
        return self.gumbel.prepare_root(logits, simulations, key)

    def root_scores(self, node: View, root: Root, simulation: Array) -> Array:
        return self._by_lane([rule.root_scores(node, root, simulation) for rule in self.rules])

    def recommend(self, node: View, root: Root) -> Recommendation:
        found = [rule.recommend(node, root) for rule in self.rules]
        return Recommendation(*(self._by_lane(list(part)) for part in zip(*found, strict=True)))

    def _by_lane(self, scores: list[Array]) -> Array:
        """Each lane's own scores, from the scores [B, A] of each rule."""
        lanes = jnp.arange(scores[0].shape[0])
        return jnp.stack(scores)[lanes % len(self.rules), lanes]

    def of(self, lane: int) -> Rule:
        return self.rules[lane % len(self.rules)]


def lane_of(tree: Tree, lane: int) -> np.ndarray:
    """One tree's records [N, A + 1, 4], in which proven actions have their exact value."""
    return np.asarray(exact_records(tree)[:, lane])


def differences(records: np.ndarray, root: Node) -> list[str]:
    """Differences between the tree in `records` [N, A + 1, 4] and the reference's; shared nodes must match."""
    found: list[str] = []
    partner: dict[int, Node] = {}
    waiting: list[tuple[int, Node, Sequence[int]]] = [(0, root, ())]
    while waiting:
        index, node, way = waiting.pop()
        if index in partner:
            if partner[index] is not node:
                found.append(f"after {way}: node {index} matches two nodes of the reference")
            continue
        partner[index] = node
        found += _node_differences(records[index], node, way)
        for action, edge in node.edges.items():
            link = int(records[index, action, LINK])
            if (link < 0) != (edge.child is None):
                found.append(f"after {way}, {action}: only one of the trees has a child")
            elif edge.child is not None:
                waiting.append((link, edge.child, (*way, action)))
    if len({id(node) for node in partner.values()}) < len(partner):
        found.append("two nodes match one node of the reference")
    return found


def _node_differences(record: np.ndarray, node: Node, way: Sequence[int]) -> list[str]:
    found = []
    if abs(record[-1, VALUE] - node.value) > TOLERANCE:
        found.append(f"after {way}: value {record[-1, VALUE]} instead of {node.value}")
    for action in range(len(record) - 1):
        visits, total = (record[action, column] for column in (VISITS, TOTAL))
        edge = node.edges.get(action)
        if visits != (edge.visits if edge else 0):
            found.append(f"after {way}, {action}: {visits:g} visits instead of {edge.visits if edge else 0}")
        elif edge and edge.visits and abs(total / visits - edge.mean) > TOLERANCE:
            found.append(f"after {way}, {action}: mean {total / visits} instead of {edge.mean}")
    return found
