"""Whole trees compared: the array search's against the plain twin's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import jax.numpy as jnp
import numpy as np
from jax import Array
from tabia.search.gumbel import Gumbel
from tabia.search.selection import Rule

from tabia.search.reference import Node
from tabia.search.tree import LINK, TOTAL, VALUE, VISITS, Tree, View

TOLERANCE = 1e-4


@dataclass(frozen=True)
class ByLane(Gumbel):
    """Another rule in every lane, taking turns, so that one compiled search tries them all.

    It says it is Gumbel's, so that the search draws noise and a schedule at the roots and asks for a policy; only lanes
    whose rule is Gumbel's look at the noise. `result.action` means something for these alone.
    """

    rules: tuple[Rule, ...] = ()
    squares: bool = True  # which also keeps the GPU's kernels away: they know no lanes

    def __call__(self, node: View) -> Array:
        return self._deal([rule(node) for rule in self.rules])

    def root_scores(self, node: View, gumbel: Array, considered_visits: Array) -> Array:
        return self._deal(
            [
                rule.root_scores(node, gumbel, considered_visits) if isinstance(rule, Gumbel) else rule(node)
                for rule in self.rules
            ]
        )

    def improved_policy(self, node: View, among: Array | None = None) -> Array:
        shares = node.visits / jnp.maximum(node.visits.sum(axis=-1, keepdims=True), 1.0)
        return self._deal(
            [rule.improved_policy(node, among) if isinstance(rule, Gumbel) else shares for rule in self.rules]
        )

    def _deal(self, scores: list[Array]) -> Array:
        """From scores [B, A] by each rule, those of each lane's own."""
        lanes = jnp.arange(scores[0].shape[0])
        return jnp.stack(scores)[lanes % len(self.rules), lanes]

    def of(self, lane: int) -> Rule:
        return self.rules[lane % len(self.rules)]


def lane_of(tree: Tree, lane: int) -> np.ndarray:
    """One tree's records [N, A + 1, 4]."""
    return np.asarray(tree.records[:, lane])


def differences(records: np.ndarray, root: Node) -> list[str]:
    """Where the tree in `records` [N, A + 1, 4] is not the twin's; shared nodes must be shared in both."""
    found: list[str] = []
    partner: dict[int, Node] = {}
    waiting: list[tuple[int, Node, Sequence[int]]] = [(0, root, ())]
    while waiting:
        index, node, way = waiting.pop()
        if index in partner:
            if partner[index] is not node:
                found.append(f"after {way}: node {index} stands for two of the twin's nodes")
            continue
        partner[index] = node
        found += _node_differences(records[index], node, way)
        for action, edge in node.edges.items():
            link = int(records[index, action, LINK])
            if (link < 0) != (edge.child is None):
                found.append(f"after {way}, {action}: only one of the trees goes on")
            elif edge.child is not None:
                waiting.append((link, edge.child, (*way, action)))
    if len({id(node) for node in partner.values()}) < len(partner):
        found.append("two nodes stand for one of the twin's")
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
