"""The reference implementation: the textbook algorithm in plain Python, for one tree and any number of seats.

Each simulation has four steps:

    select    descend from the root by the rule's best action until an action has no child
    expand    play that action; the new position becomes a node unless the game is over
    evaluate  the evaluator gives a value for each seat, or the rules do if the game is over
    back up   every edge on the path gets one more visit and the value of its own mover

`reference_rules.py` has the rules. Values on an edge belong to the seat that moves, so nothing changes sign and three
seats are no harder than two.

Two options change where an action leads. With `transpositions` equal positions share a node: an action that reaches a
known position is linked to its node and gets the mean of all values there, but keeps its own visits and total. With
`cut_loops`, and whenever nodes are shared, an action that leads back to a position on the path or in the game's past
gets the current scores and is never linked.

With `proven_values` exact values are backed up, too; see `reference_proofs.py`.

Tests compare it with `tabia.search.search`: with the same evaluator both build the same tree, visit for visit. They
share nothing but the settings. Games with chance are not supported.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.search.errors import SearchError
from tabia.search.evaluators import Evaluate, Evaluation
from tabia.search.reference_proofs import candidates, considered, proof, prove
from tabia.search.reference_rules import best, root_policy, root_ranks, root_visits, scores, tie_order
from tabia.search.rules import Rule


@dataclass
class Edge:
    """An action and its statistics, for the seat that plays it."""

    prior: float
    visits: int = 0
    total: float = 0.0  # sum of the values of all visits
    totals: list[float] = field(default_factory=list)  # the same by seat; empty if unvisited
    squares: float = 0.0  # sum of their squares
    child: Node | None = None
    proven: list[float] | None = None  # by seat: the exact value, if it is known; then `total` and `squares` follow it

    @property
    def mean(self) -> float:
        return self.total / self.visits if self.visits else 0.0

    @property
    def deviation(self) -> float:
        return math.sqrt(max(self.squares / self.visits - self.mean**2, 0.0)) if self.visits else 0.0


@dataclass(eq=False)
class Node:
    """A position with legal actions."""

    state: State
    position: bytes  # equal for positions with the same future
    mover: int
    own: list[float]  # by seat: the evaluator's values
    totals: list[float]  # by seat: the sum of these and all values backed up
    edges: dict[int, Edge]  # by legal action, in order
    has_illegal: bool  # whether some actions are illegal
    number: int = 0  # the simulation that found it, counted from 1; 0 for the root

    @property
    def value(self) -> float:
        return self.own[self.mover]

    @property
    def visits(self) -> int:
        return sum(edge.visits for edge in self.edges.values())

    @property
    def means(self) -> list[float]:
        return [total / (1 + self.visits) for total in self.totals]


Path = list[tuple[Node, int]]  # each node and the action played there


@dataclass(frozen=True)
class Reference:
    """The search and its options, named as in `tabia.search.search.Search`."""

    game: Game
    evaluate: Evaluate
    simulations: int
    rule: Rule
    transpositions: bool = False
    cut_loops: bool = False
    max_depth: int | None = None
    proven_values: bool = False

    def __post_init__(self) -> None:
        if self.game.chance:
            raise SearchError(f"{self.game.id} has chance, which the reference implementation does not support.")

    def run(
        self,
        parameters: Any,
        state: State,
        *,
        past: Iterable[State] = (),
        gumbel: Sequence[float] | None = None,
        kept: Node | None = None,
        ties: int | None = None,
    ) -> Node:
        """The root of the finished tree.

        `past`: the game's earlier positions, `gumbel`: the root's noise by action, `kept`: the node of an earlier
        search for this position, whose subtree is continued, `ties`: the seed for breaking ties at random.
        """
        evaluate = functools.partial(self._evaluate, parameters)
        earlier = {facts(self.game, one).position for one in past}
        root = new_node(facts(self.game, state), evaluate) if kept is None else kept
        known = {node.position: node for node in subtree(root)}
        first = self._first_moves(root, [0.0] * self.game.num_actions if gumbel is None else gumbel, ties)
        for number in range(self.simulations):
            path = self.select(root, next(first), ties)
            values = self.expand(path, known, earlier, evaluate)
            back_up(path, prove(path, values) if self.proven_values else values)
            leaf = path[-1][0].edges[path[-1][1]].child
            if leaf is not None and leaf.number == 0 and leaf is not root:
                leaf.number = number + 1
        return root

    def select(self, root: Node, action: int, ties: int | None = None) -> Path:
        """Descend from the root's `action` to an action without a child, or to a loop."""
        path = [(root, action)]
        limit = min(self.max_depth or self.game.max_moves, self.game.max_moves)
        while len(path) < limit:
            child = root.edges[action].child
            if child is None or root.edges[action].proven is not None or any(child is node for node, _ in path):
                break
            found = scores(self.rule, child)
            root, action = child, best({move: found[move] for move in candidates(child)}, tie_order(ties, child))
            path.append((root, action))
        return path

    def expand(self, path: Path, known: dict[bytes, Node], past: set[bytes], evaluate: EvaluateOne) -> list[float]:
        """Play the last action, link its child, and return the value for each seat."""
        node, action = path[-1]
        edge = node.edges[action]
        if edge.proven is not None:
            return edge.proven
        seen = play(self.game, node.state, action)
        if seen.over:
            edge.proven = seen.scores if self.proven_values else None
            return seen.scores
        repeats = seen.position in past or any(seen.position == node.position for node, _ in path)
        if repeats and (self.transpositions or self.cut_loops):
            return seen.scores
        if self.transpositions and edge.child is None and seen.position in known:
            edge.child = known[seen.position]
            edge.proven = proof(edge.child)
            return edge.child.means if edge.proven is None else edge.proven
        leaf = new_node(seen, evaluate)
        if edge.child is None:  # otherwise the path has the maximum length, and the leaf is not kept
            edge.child = leaf
            known[leaf.position] = leaf
        return list(leaf.totals)

    def _first_moves(self, root: Node, gumbel: Sequence[float], ties: int | None) -> Iterator[int]:
        """The root's action for each simulation."""
        for visits in root_visits(self.rule, len(root.edges), self.simulations):
            ranks = root_ranks(self.rule, root, gumbel)
            yield best({action: ranks[action] for action in considered(root, visits)}, tie_order(ties, root))

    def _evaluate(self, parameters: Any, state: State) -> tuple[list[float], list[float]]:
        """The evaluator's logits and values of one position."""
        output = jax.device_get(_evaluating(self.evaluate)(parameters, state, jax.random.key(0)))
        return output.logits[0].tolist(), output.values[0].tolist()


def subtree(root: Node) -> list[Node]:
    """The root and all nodes below it."""
    found, waiting = dict[int, Node](), [root]
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting += [edge.child for edge in node.edges.values() if edge.child is not None]
    return list(found.values())


def back_up(path: Path, values: list[float]) -> None:
    """One more visit for every edge on the path, with the value of its own mover."""
    for node, action in path:
        value, edge = values[node.mover], node.edges[action]
        edge.visits += 1
        edge.total += value
        edge.totals = [total + seat for total, seat in zip(edge.totals or [0.0] * len(values), values, strict=True)]
        edge.squares += value**2
        if edge.proven is not None:  # earlier visits count with the exact value, too
            edge.totals = [edge.visits * seat for seat in edge.proven]
            edge.total = edge.totals[node.mover]
            edge.squares = edge.total**2 / edge.visits
        node.totals = [total + seat for total, seat in zip(node.totals, values, strict=True)]


def expected(rule: Rule, root: Node) -> list[float]:
    """By seat: the exact value, or (own value + N * weighted mean of the visited actions) / (1 + N).

    Actions are weighted by visits, or by the improved policy with Gumbel's rule. Actions that are proven not to be the
    best do not count.
    """
    visited = {action: edge for action, edge in candidates(root).items() if edge.visits}
    exact = proof(root)
    if exact is not None or not visited:
        return root.own if exact is None else exact
    weights = root_policy(rule, root, visited)
    means = [
        math.fsum(weights[action] * edge.totals[seat] / edge.visits for action, edge in visited.items())
        for seat in range(len(root.totals))
    ]
    visits = sum(edge.visits for edge in visited.values())
    return [(own + visits * mean) / (1 + visits) for own, mean in zip(root.own, means, strict=True)]


# Positions; only these functions call compiled code.


@dataclass(frozen=True)
class Facts:
    """What the rules say about a position."""

    state: State
    position: bytes
    mover: int
    legal: list[int]
    over: bool
    scores: list[float]  # by seat, scaled to [-1, 1]


EvaluateOne = Callable[[State], tuple[list[float], list[float]]]


def facts(game: Game, state: State) -> Facts:
    """The facts of a state."""
    position, mover, legal, over, points = jax.device_get(_facts(game)(state))
    position = position.tobytes() + bytes([mover])
    return Facts(state, position, int(mover), np.flatnonzero(legal).tolist(), bool(over), points.tolist())


def play(game: Game, state: State, action: int) -> Facts:
    """The facts of the state after an action."""
    return facts(game, _stepping(game)(state, jnp.int32(action)))


def new_node(seen: Facts, evaluate: EvaluateOne) -> Node:
    """A node for a position, with a prior for every legal action."""
    logits, values = evaluate(seen.state)
    top = max(logits[action] for action in seen.legal)
    weights = {action: math.exp(logits[action] - top) for action in seen.legal}
    edges = {action: Edge(prior=weight / sum(weights.values())) for action, weight in weights.items()}
    return Node(
        state=seen.state,
        position=seen.position,
        mover=seen.mover,
        own=values,
        totals=list(values),
        edges=edges,
        has_illegal=len(edges) < len(logits),
    )


@functools.cache
def _stepping(game: Game) -> Callable[..., Any]:
    return jax.jit(game.step)


@functools.cache
def _facts(game: Game) -> Callable[..., Any]:
    def everything(state: State) -> tuple[Any, ...]:
        points = game.scale(game.scores(state))
        return game.position(state), game.mover(state), game.legal(state), game.over(state), points

    return jax.jit(everything)


@functools.cache
def _evaluating(evaluate: Evaluate) -> Callable[..., Any]:
    def alone(parameters: Any, state: State, key: Array) -> Evaluation:
        return evaluate(parameters, jax.tree.map(lambda leaf: leaf[None], state), key)

    return jax.jit(alone)
