"""The reference for minimax and exact solving: alpha-beta, max^n and full recursion in plain Python.

Nothing here knows of batches. Rules come through the protocol, which other tests judge.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games.game import Game, State

Heuristic = Callable[[State], jax.Array]


class Node(NamedTuple):
    state: Any
    over: bool
    mover: int
    legal: list[int]
    scores: list[float]  # scaled
    promise: list[float]  # what the heuristic says
    words: bytes


def root(game: Game, state: State, heuristic: Heuristic | None = None) -> Node:
    return _nodes(_look(game, heuristic, jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], state)))[0]


def children(game: Game, node: Node, heuristic: Heuristic | None = None) -> list[tuple[int, Node]]:
    """Each legal action and its successor."""
    after = _nodes(_look(game, heuristic, _after(game, node.state)))
    return [(action, after[action]) for action in node.legal]


@partial(jax.jit, static_argnums=0)
def _after(game: Game, state: State) -> State:
    return jax.vmap(lambda action: game.step(state, action))(jnp.arange(game.num_actions))


@partial(jax.jit, static_argnums=(0, 1))
def _look(game: Game, heuristic: Heuristic | None, states: State) -> tuple[Any, ...]:
    over, mover, legal = jax.vmap(game.over)(states), jax.vmap(game.mover)(states), jax.vmap(game.legal)(states)
    scores = game.scale(jax.vmap(game.scores)(states))
    promise = jnp.zeros_like(scores) if heuristic is None else jax.vmap(heuristic)(states)
    return states, over, mover, legal, scores, promise, jax.vmap(game.position)(states)


def _nodes(looked: tuple[Any, ...]) -> list[Node]:
    states, over, mover, legal, scores, promise, words = jax.device_get(looked)
    return [
        Node(
            jax.tree.map(lambda leaf, i=i: leaf[i], states),
            bool(over[i]),
            int(mover[i]),
            np.flatnonzero(legal[i]).tolist(),
            scores[i].tolist(),
            promise[i].tolist(),
            words[i].tobytes(),
        )
        for i in range(len(over))
    ]


def alpha_beta(
    game: Game,
    node: Node,
    depth: int,
    heuristic: Heuristic | None = None,
    *,
    alpha: float = -np.inf,
    beta: float = np.inf,
) -> float:
    """The value for seat 0 if seat 1 has the opposite scores, with alpha-beta pruning."""
    if node.over:
        return node.scores[0]
    if depth == 0:
        return node.promise[0]
    value = -np.inf if node.mover == 0 else np.inf
    for _, child in children(game, node, heuristic):
        found = alpha_beta(game, child, depth - 1, heuristic, alpha=alpha, beta=beta)
        if node.mover == 0:
            value = max(value, found)
            alpha = max(alpha, value)
        else:
            value = min(value, found)
            beta = min(beta, value)
        if alpha >= beta:
            break
    return value


def max_n(game: Game, node: Node, depth: int, heuristic: Heuristic | None = None) -> list[float]:
    """The value for each seat if every mover plays the first of its best moves."""
    if node.over:
        return node.scores
    if depth == 0:
        return node.promise
    taken = None
    for _, child in children(game, node, heuristic):
        found = max_n(game, child, depth - 1, heuristic)
        if taken is None or found[node.mover] > taken[node.mover]:
            taken = found
    assert taken is not None
    return taken


class Solved(NamedTuple):
    state: Any
    values: list[float]
    distance: int
    best: list[int]
    fastest: list[int]


def solve(game: Game, node: Node, known: dict[bytes, Solved]) -> Solved:
    """Solve a position and all its successors by recursion; a mover with a value above 0 minimizes the distance."""
    if node.words not in known:
        after = [(action, solve(game, child, known)) for action, child in children(game, node)] if not node.over else []
        known[node.words] = _choose(node, after)
    return known[node.words]


def _choose(node: Node, after: list[tuple[int, Solved]]) -> Solved:
    if not after:
        return Solved(node.state, node.scores, 0, [], [])
    top = max(child.values[node.mover] for _, child in after)
    best = [(action, child) for action, child in after if child.values[node.mover] == top]
    distance = (min if top > 0 else max)(child.distance for _, child in best)
    fastest = [action for action, child in best if child.distance == distance]
    return Solved(node.state, best[0][1].values, distance + 1, [action for action, _ in best], fastest)
