"""The search as a textbook tells it: one tree, plain Python, any number of seats.

A tree of positions grows by one simulation after the other, each in four steps:

    select    walk down from the root, at each node along the move that looks best, until a move leads to no node
    expand    play that move; the new position becomes a node, unless the rules end the game there
    evaluate  ask the evaluator what each seat may expect there, or the rules if the game is over
    back up   tell every move on the way: one visit more, and the value its own mover got

What "looks best" means is a rule's business (`reference_rules.py`). Numbers on a move are always in the
eyes of the seat that makes it, so nothing changes sign and three seats are no harder than two.

Two options change where a move may lead. With `transpositions` equal positions are one node: a move that reaches a
known position is linked to its node and hears the mean of all that was seen there, while its own visits and total stay
its own. With `cut_loops`, and whenever nodes are shared, a move back to a position on the way, or to one of the game's
past, leads nowhere: it is worth what the game would score as it stands.

This is the judge of `tabia.search.search`, which does the same for whole batches: with the same evaluator both
grow the same tree, visit for visit. Nothing but the settings is shared. Games of chance are not covered.
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
from tabia.search.gumbel import Gumbel
from tabia.search.reference_rules import best, gumbel_root, halving, improved_logits, scores
from tabia.search.selection import Rule


@dataclass
class Edge:
    """A move and what came of it, in the eyes of the seat that makes it."""

    prior: float
    visits: int = 0
    total: float = 0.0  # sum of the values of all visits
    totals: list[float] = field(default_factory=list)  # the same by seat, once visited
    squares: float = 0.0  # sum of their squares
    child: Node | None = None

    @property
    def mean(self) -> float:
        return self.total / self.visits if self.visits else 0.0

    @property
    def deviation(self) -> float:
        return math.sqrt(max(self.squares / self.visits - self.mean**2, 0.0)) if self.visits else 0.0


@dataclass(eq=False)
class Node:
    """A position one can move from."""

    state: State
    position: bytes  # equal for positions with the same future
    mover: int
    own: list[float]  # by seat: the evaluator's word
    totals: list[float]  # by seat: that and the values of all that passed through
    edges: dict[int, Edge]  # by legal action, in order
    closed: bool  # whether some actions are illegal here

    @property
    def value(self) -> float:
        return self.own[self.mover]

    @property
    def visits(self) -> int:
        return sum(edge.visits for edge in self.edges.values())

    @property
    def means(self) -> list[float]:
        return [total / (1 + self.visits) for total in self.totals]


Path = list[tuple[Node, int]]  # each node with the action taken there


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

    def __post_init__(self) -> None:
        if self.game.chance:
            raise SearchError(f"{self.game.id} has chance, which the twin does not know.")

    def run(
        self, parameters: Any, state: State, *, past: Iterable[State] = (), gumbel: Sequence[float] | None = None
    ) -> Node:
        """The root of the grown tree; `past` are the game's earlier positions, `gumbel` the root's noise by action."""
        ask = functools.partial(self._ask, parameters)
        met = {see(self.game, earlier).position for earlier in past}
        root = expand(see(self.game, state), ask)
        known = {root.position: root}
        first = self._first_moves(root, [0.0] * self.game.num_actions if gumbel is None else gumbel)
        for _ in range(self.simulations):
            path = self.select(root, next(first))
            values = self.look(path, known, met, ask)
            back_up(path, values)
        return root

    def select(self, root: Node, action: int) -> Path:
        """Walk down from the root's `action` to a move that leads to no node, or round in a circle."""
        path = [(root, action)]
        limit = min(self.max_depth or self.game.max_moves, self.game.max_moves)
        while len(path) < limit:
            child = root.edges[action].child
            if child is None or any(child is node for node, _ in path):
                break
            root, action = child, best(scores(self.rule, child))
            path.append((root, action))
        return path

    def look(self, path: Path, known: dict[bytes, Node], met: set[bytes], ask: Ask) -> list[float]:
        """Play the last move, link the node it leads to, and say what each seat may expect."""
        node, action = path[-1]
        edge = node.edges[action]
        seen = play(self.game, node.state, action)
        if seen.over:
            return seen.scores
        circle = seen.position in met or any(seen.position == node.position for node, _ in path)
        if circle and (self.transpositions or self.cut_loops):
            return seen.scores  # worth what it would score as it stands, and never entered
        if self.transpositions and edge.child is None and seen.position in known:
            edge.child = known[seen.position]
            return edge.child.means  # the word of all who came here before
        leaf = expand(seen, ask)
        if edge.child is None:  # otherwise the walk was as long as allowed: asked again, not kept
            edge.child = leaf
            known[leaf.position] = leaf
        return list(leaf.totals)

    def _first_moves(self, root: Node, gumbel: Sequence[float]) -> Iterator[int]:
        """The root's move for each simulation, chosen when it is asked for."""
        if not isinstance(self.rule, Gumbel):
            while True:
                yield best(scores(self.rule, root))
        for visits in halving(min(self.rule.considered, len(root.edges)), self.simulations):
            ranks = gumbel_root(self.rule, root, gumbel)
            yield best({action: ranks[action] for action, edge in root.edges.items() if edge.visits == visits})

    def _ask(self, parameters: Any, state: State) -> tuple[list[float], list[float]]:
        """The evaluator's logits and values for one position."""
        answer = jax.device_get(_asking(self.evaluate)(parameters, state, jax.random.key(0)))
        return answer.logits[0].tolist(), answer.values[0].tolist()


def back_up(path: Path, values: list[float]) -> None:
    """One visit more for every move on the way, each with its own mover's value."""
    for node, action in path:
        value, edge = values[node.mover], node.edges[action]
        edge.visits += 1
        edge.total += value
        edge.totals = [total + seat for total, seat in zip(edge.totals or [0.0] * len(values), values, strict=True)]
        edge.squares += value**2
        node.totals = [total + seat for total, seat in zip(node.totals, values, strict=True)]


def final_move(rule: Rule, root: Node, gumbel: Sequence[float] | None = None) -> int:
    """The move tried most; with Gumbel's rule, of those tried most the one ranking highest."""
    most = max(edge.visits for edge in root.edges.values())
    leaders = [action for action, edge in root.edges.items() if edge.visits == most]
    if not isinstance(rule, Gumbel):
        return leaders[0]
    ranks = gumbel_root(rule, root, gumbel or [0.0] * (1 + max(root.edges)))
    return best({action: ranks[action] for action in leaders})


def expected(rule: Rule, root: Node) -> list[float]:
    """By seat: the root's own value, and as often as it was visited the mean of the moves tried.

    Tried moves count by their visits; with Gumbel's rule, which also visits what it will not recommend, by the
    improved policy.
    """
    tried = {action: edge for action, edge in root.edges.items() if edge.visits}
    if not isinstance(rule, Gumbel) or not tried:
        return root.means
    logits = improved_logits(rule, root)
    top = max(logits[action] for action in tried)
    weights = {action: math.exp(logits[action] - top) for action in tried}
    moves = [
        math.fsum(weights[action] * edge.totals[seat] / edge.visits for action, edge in tried.items())
        / math.fsum(weights.values())
        for seat in range(len(root.totals))
    ]
    return [(own + root.visits * move) / (1 + root.visits) for own, move in zip(root.own, moves, strict=True)]


# Positions: the only place where compiled code is called.


@dataclass(frozen=True)
class Seen:
    """What the rules say of a position."""

    state: State
    position: bytes
    mover: int
    legal: list[int]
    over: bool
    scores: list[float]  # by seat, scaled to [-1, 1]


Ask = Callable[[State], tuple[list[float], list[float]]]


def see(game: Game, state: State) -> Seen:
    position, mover, legal, over, points = jax.device_get(_seeing(game)(state))
    position = position.tobytes() + bytes([mover])
    return Seen(state, position, int(mover), np.flatnonzero(legal).tolist(), bool(over), points.tolist())


def play(game: Game, state: State, action: int) -> Seen:
    return see(game, _stepping(game)(state, jnp.int32(action)))


def expand(seen: Seen, ask: Ask) -> Node:
    """A node for a position, with a share of the prior for every legal move."""
    logits, values = ask(seen.state)
    top = max(logits[action] for action in seen.legal)
    weights = {action: math.exp(logits[action] - top) for action in seen.legal}
    edges = {action: Edge(prior=weight / sum(weights.values())) for action, weight in weights.items()}
    closed = len(edges) < len(logits)
    return Node(seen.state, seen.position, seen.mover, values, list(values), edges, closed)


@functools.cache
def _stepping(game: Game) -> Callable[..., Any]:
    return jax.jit(game.step)


@functools.cache
def _seeing(game: Game) -> Callable[..., Any]:
    def everything(state: State) -> tuple[Any, ...]:
        points = game.scale(game.scores(state))
        return game.position(state), game.mover(state), game.legal(state), game.over(state), points

    return jax.jit(everything)


@functools.cache
def _asking(evaluate: Evaluate) -> Callable[..., Any]:
    def alone(parameters: Any, state: State, key: Array) -> Evaluation:
        return evaluate(parameters, jax.tree.map(lambda leaf: leaf[None], state), key)

    return jax.jit(alone)
