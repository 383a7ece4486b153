"""Where actors go: on nodes with room for them, evenly, and never on a node that has been given up.

A node is given up if it cannot be used (other versions, no memory), or after several errors in a row. Actors may be
killed at any time, which says nothing about the node. A node that restarts has a new id, and so another chance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tabia.cluster.connection import Node

DEATH, ERROR, HOPELESS = 0, 1, 5
"""What a failure counts. A node is given up once its failures without a chunk in between add up to `HOPELESS`."""


@dataclass(frozen=True)
class Need:
    """What one actor takes of its node."""

    cpus: float = 1.0
    gpus: float = 0.0

    @property
    def platform(self) -> str:
        """The platform that JAX uses in the actor; empty for the best one."""
        return "" if self.gpus else "cpu"

    def capacity(self, node: Node) -> int:
        """How many actors a node has room for."""
        by_cpu = int(node.cpus / self.cpus) if self.cpus else 2**31
        return min(by_cpu, int(node.gpus / self.gpus)) if self.gpus else by_cpu

    def share(self, actors: int, node: Node, nodes: Sequence[Node]) -> int:
        """How many of all actors `Placement` puts on a node, at most: it leaves as much free on all that it uses."""
        capacities, free = sorted(map(self.capacity, nodes), reverse=True), 0
        for count, smallest in enumerate(capacities, start=1):
            left = (sum(capacities[:count]) - actors) // count
            free = max(free, min(left, smallest))
        return max(1, self.capacity(node) - free)


ONE_CPU = Need()


def default_need(nodes: Iterable[Node]) -> Need:
    """One CPU per actor and, if any of the nodes has a GPU, one GPU."""
    return Need(gpus=float(any(node.gpus for node in nodes)))


@dataclass
class Placement:
    """The choice of nodes."""

    need: Need
    given_up: dict[str, str] = field(default_factory=dict)  # the reason by the node's id
    _failures: Counter[str] = field(default_factory=Counter)  # since the last chunk, by the node's id

    def choose(self, nodes: Sequence[Node], used: Iterable[str]) -> Node | None:
        """The node with the most room left, given the node ids of all actors; None if there is no room."""
        taken = Counter(used)
        left = {node: self.need.capacity(node) - taken[node.id] for node in nodes if node.id not in self.given_up}
        best = max(left, key=lambda node: left[node], default=None)
        return best if best is not None and left[best] > 0 else None

    def succeeded(self, node: Node) -> None:
        """Note a chunk of this node."""
        self._failures.pop(node.id, None)

    def failed(self, node: Node, why: str, weight: int) -> bool:
        """Note a failure; whether the node is given up now."""
        self._failures[node.id] += weight
        if self._failures[node.id] >= HOPELESS:
            self.given_up[node.id] = f"{node.name}: {why}"
        return node.id in self.given_up

    def is_hopeless(self, nodes: Sequence[Node]) -> bool:
        """Whether there are nodes, and all of those with room for an actor have been given up."""
        usable = [node for node in nodes if self.need.capacity(node) > 0]
        return bool(usable) and all(node.id in self.given_up for node in usable)
