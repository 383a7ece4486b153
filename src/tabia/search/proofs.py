"""Proven values: exact wins, draws and losses in the tree, for any number of seats (MCTS-Solver).

An action is proven if it ends the game or leads to a proven position. A position is proven if its mover has a proven
action with the highest score, or if all of its actions are proven; its value is then that of the proven action that is
best for its mover, the first on a tie. Loops are never proven, because their score depends on the path.

`Tree.proven` holds the values of proven actions by seat, and nothing else: whether a node is proven follows from its
actions. So a proof survives when tree reuse drops the node below it, and a proven node that is shared is found again by
every path that reaches it. Axis letters: N nodes, D depth, B batch, A actions, P seats, K leaves per step.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.descent import Path
from tabia.search.tree import (
    HIGHEST,
    ILLEGAL,
    IMPOSSIBLE,
    LOGIT,
    SEAT,
    TOTAL,
    UNPROVEN,
    VISITS,
    Tree,
    movers_values,
)


def unproven(records: Array, seats: int) -> Array:
    """The values [..., A, P] of the actions of new nodes, given their records [..., A + 1, 4]."""
    is_legal = records[..., :-1, LOGIT] > ILLEGAL / 2
    return jnp.repeat(jnp.where(is_legal, UNPROVEN, IMPOSSIBLE)[..., None], seats, axis=-1)


def proof(seat: Array, proven: Array) -> tuple[Array, Array]:
    """Whether nodes are proven [B], and the values [B, P] of their best proven action.

    Nodes are given by their movers [B] and the values of their actions [B, A, P].
    """
    own = movers_values(seat, proven)
    is_complete = jnp.all(own != UNPROVEN, axis=-1)
    best = jnp.argmax(own, axis=-1)
    values = jnp.take_along_axis(proven, best[:, None, None], axis=1)[:, 0]
    return is_complete | (own.max(axis=-1) >= HIGHEST), values


def node_proofs(tree: Tree, node: Array) -> tuple[Array, Array]:
    """`proof` of a node [B] of every tree."""
    assert tree.proven is not None
    lanes = jnp.arange(node.shape[0])
    return proof(tree.records[node, lanes, -1, SEAT], tree.proven[node, lanes])


def prove(tree: Tree, path: Path, values: Array, is_proven: Array) -> tuple[Tree, Array]:
    """Mark on every path, from its end, what its leaf proves [B]; the values [B, P] of the highest position proven.

    Without a proof these are the leaf's values. The loop ends with the longest chain of proofs, so most simulations
    cost nothing. It does not read the records: XLA would copy them all, since nodes are added to them afterward.
    """
    assert tree.proven is not None
    lanes = jnp.arange(values.shape[0])

    def up(carry: _Carry) -> _Carry:
        level, going, values, proven = carry
        node, action, seat = (steps[jnp.maximum(level, 0), lanes] for steps in path[:3])
        actions = proven[node, lanes]
        # What is below a proven node no longer changes, so its value stays what the nodes above have copied.
        writes = going & ~proof(seat, actions)[0]
        is_here = (jnp.arange(actions.shape[1])[None, :] == action[:, None]) & writes[:, None]
        is_complete, best = proof(seat, jnp.where(is_here[:, :, None], values[:, None, :], actions))
        proven = proven.at[jnp.where(writes, node, tree.capacity), lanes, action].set(values, mode="drop")
        going &= is_complete
        return level - 1, going & (level > 0), jnp.where(going[:, None], best, values), proven

    start = (path.depth - 1, is_proven, values, tree.proven)
    _, _, values, proven = jax.lax.while_loop(lambda carry: jnp.any(carry[1]), up, start)
    return tree._replace(proven=proven), values


_Carry = tuple[Array, Array, Array, Array]  # level [B], whether it goes on [B], values [B, P], `Tree.proven`


def prove_many(tree: Tree, paths: Path, values: Array, is_proven: Array) -> tuple[Tree, Array]:
    """`prove` for paths [K, ...], one after the other, their values [K, B, P] and proofs [K, B]."""

    def once(tree: Tree, step: tuple[Path, Array, Array]) -> tuple[Tree, Array]:
        return prove(tree, *step)

    return jax.lax.scan(once, tree, (paths, values, is_proven))


def exact_records(tree: Tree) -> Array:
    """The records [N, B, A + 1, 4], in which proven actions have their exact value in every visit."""
    if tree.proven is None:
        return tree.records
    own, edges = movers_values(tree.records[..., -1, SEAT], tree.proven), tree.records[:, :, :-1]
    totals = jnp.where(own > UNPROVEN, own * edges[..., VISITS], edges[..., TOTAL])
    return tree.records.at[:, :, :-1, TOTAL].set(totals)
