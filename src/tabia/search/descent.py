"""Descent from the root to a leaf in every tree, and backup: the inner loops of the search in XLA.

Axis letters: D depth, B batch, P seats, K leaves per step. Rows of a path beyond its depth are undefined.
"""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search import tree as trees
from tabia.search.rules.rule import Rule, select_action
from tabia.search.ties import order_at
from tabia.search.tree import CERTAIN, LINK, PENDING, SEAT, TOTAL, UNPROVEN, VISITS, Tree, view


class Path(NamedTuple):
    """A path from the root in every tree."""

    nodes: Array  # int32[D, B]
    actions: Array  # int32[D, B]
    seats: Array  # int32[D, B] the seat to move at each node
    depth: Array  # int32[B] number of actions
    leaf: Array  # int32[B] the last node
    action: Array  # int32[B] the last action
    link: Array  # float32[B] its link: NO_CHILD, PENDING, or a node if the path stopped early (depth, loop, proof)
    outcome: Array | None = None  # int32[B] the sampled outcome of the last action, in games with chance
    proven: Array | None = None  # [B, P] its exact values, UNPROVEN if unknown, if the tree has proofs


def descend(tree: Tree, first: Array, rule: Rule, *, max_depth: int) -> Path:
    """From the root action `first` [B], follow the rule to an action without a child, or for `max_depth` actions."""

    def deeper(carry: tuple[Array, Path]) -> tuple[Array, Path]:
        level, path = carry
        going = _continues(tree, path)
        node = jnp.where(going, path.link.astype(jnp.int32), path.leaf)
        row = _row(tree, node)
        # A finished path repeats its last action and reads the same link again.
        step = _follow(tree, node, row, jnp.where(going, _best_action(tree, node, row, rule), path.action))
        return level + 1, _append(path, level, node, step, going)

    def going(carry: tuple[Array, Path]) -> Array:
        level, path = carry
        return (level < max_depth) & jnp.any(_continues(tree, path))

    return jax.lax.while_loop(going, deeper, (jnp.int32(1), _start(tree, first, max_depth)))[1]


def _best_action(tree: Tree, node: Array, row: Array, rule: Rule) -> Array:
    """The action with the highest score at `node` [B] of every tree, given its record."""
    lanes = jnp.arange(node.shape[0])
    squares, proven = (None if part is None else part[node, lanes] for part in (tree.squares, tree.proven))
    seen = view(row, squares, proven)
    return select_action(rule.scores(seen), seen.candidates, order_at(tree, node, seen))


def _row(tree: Tree, node: Array) -> Array:
    """The node's record [B, A + 1, 4]."""
    return tree.records.at[node, jnp.arange(node.shape[0])].get(mode="promise_in_bounds")


class _Step(NamedTuple):
    action: Array
    seat: Array
    link: Array
    outcome: Array | None = None
    proven: Array | None = None


def _follow(tree: Tree, node: Array, row: Array, action: Array) -> _Step:
    """The edge of an action."""
    lanes, seat = jnp.arange(node.shape[0]), row[:, -1, SEAT].astype(jnp.int32)
    if tree.links is None:
        link = tree.records.at[node, lanes, action, LINK].get(mode="promise_in_bounds")
        return _Step(action, seat, link, proven=None if tree.proven is None else tree.proven[node, lanes, action])
    visits = tree.records[node, lanes, action, VISITS].astype(jnp.int32)
    # Sampled outcomes alternate; without chance there is only one.
    outcome = jnp.where(row[:, -1, CERTAIN] > 0, 0, visits % tree.links.shape[-1])
    return _Step(action, seat, tree.links[node, lanes, action, outcome], outcome)


def _start(tree: Tree, first: Array, max_depth: int) -> Path:
    """The path of the root action alone."""
    root, blank = jnp.zeros_like(first), jnp.zeros((max_depth, *first.shape), jnp.int32)
    action, seat, link, outcome, proven = _follow(tree, root, tree.records[0], first)
    return Path(blank, _put(blank, action, 0), _put(blank, seat, 0), root + 1, root, action, link, outcome, proven)


def _append(path: Path, level: Array, node: Array, step: _Step, going: Array) -> Path:
    return Path(
        nodes=_put(path.nodes, node, level),
        actions=_put(path.actions, step.action, level),
        seats=_put(path.seats, step.seat, level),
        depth=path.depth + going,
        leaf=node,
        action=step.action,
        link=step.link,
        outcome=step.outcome,
        proven=step.proven,
    )


def _put(steps: Array, new: Array, level: Array | int) -> Array:
    return jax.lax.dynamic_update_index_in_dim(steps, new, level, axis=0)


def _continues(tree: Tree, path: Path) -> Array:
    """Whether the last action is not proven and leads to a node; if nodes are shared, to one not yet on the path."""
    linked = path.link >= 0
    if path.proven is not None:
        linked &= path.proven[:, 0] == UNPROVEN
    if tree.prints is None:
        return linked
    return linked & ~jnp.any((path.nodes == path.link.astype(jnp.int32)[None]) & on_path(path), axis=0)


def on_path(path: Path) -> Array:
    """bool[D, B]: the rows within the depth of each path."""
    return jnp.arange(path.nodes.shape[0])[:, None] < path.depth[None, :]


def backup(tree: Tree, path: Path, values: Array, link_change: Array, virtual: Array | None = None) -> Tree:
    """Along every path add a visit and each mover's value [B, P]; add `link_change` [B] to the last action's link.

    If the path has virtual visits, their values `virtual` [D, B] are replaced and no visit is added.
    """
    lanes = jnp.arange(values.shape[0])

    def level(depth: Array, tree: Tree) -> Tree:
        # A finished path writes to a node out of bounds, which is dropped.
        nodes, actions = jnp.where(depth < path.depth, path.nodes[depth], tree.capacity), path.actions[depth]
        value = jnp.take_along_axis(values, path.seats[depth][:, None], axis=1)[:, 0]
        link = jnp.where((depth == path.depth - 1) & (tree.links is None), link_change, 0.0)
        visits, change = (
            (jnp.ones_like(value), value) if virtual is None else (jnp.zeros_like(value), value - virtual[depth])
        )
        added = jnp.stack([visits, change, link], axis=-1)
        tree = tree._replace(records=tree.records.at[nodes, lanes, actions, VISITS : LINK + 1].add(added, mode="drop"))
        if tree.squares is not None:
            tree = tree._replace(squares=tree.squares.at[nodes, lanes, actions].add(value**2, mode="drop"))
        if tree.totals is not None:
            tree = tree._replace(totals=tree.totals.at[nodes, lanes].add(values, mode="drop"))
        return tree

    tree = jax.lax.fori_loop(0, jnp.max(path.depth), level, tree)
    if tree.links is None:
        return tree
    return tree._replace(links=tree.links.at[path.leaf, lanes, path.action, path.outcome].add(link_change))


def add_totals(tree: Tree, path: Path, values: Array) -> Tree:
    """Add values [B, P] to the totals of all nodes of a path, or [K, B, P] for paths [K, ...], if the tree has totals.

    For kernels, which write records alone; `backup` does both.
    """
    if tree.totals is None:
        return tree
    on = on_path(path) if values.ndim == 2 else jax.vmap(on_path)(path)
    nodes = jnp.where(on, path.nodes, tree.capacity)
    lanes = jnp.broadcast_to(jnp.arange(nodes.shape[-1]), nodes.shape)
    each = jnp.broadcast_to(values[..., None, :, :], (*nodes.shape, values.shape[-1]))
    return tree._replace(totals=tree.totals.at[nodes, lanes].add(each, mode="drop"))


def add_virtual_visits(tree: Tree, path: Path) -> tuple[Tree, Array]:
    """Add virtual visits along every path, so that the next path of the same step differs.

    A virtual visit has the action's mean value so far, so it changes exploration but not the value; it is a loss if the
    action is unvisited. The last action's link becomes PENDING. Returns the virtual values [D, B] for `backup`.
    """
    lanes = jnp.arange(path.leaf.shape[0])
    reached = jnp.where(on_path(path), path.nodes, tree.capacity)
    pending = trees.link_change(path.link, jnp.full_like(path.link, PENDING))

    def level(depth: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        records, virtual = carry
        nodes, actions = reached[depth], path.actions[depth]
        edge = records[jnp.minimum(nodes, tree.capacity - 1), lanes, actions]
        value = virtual_value(edge[:, VISITS], edge[:, TOTAL])
        last = (depth == path.depth - 1) & (tree.links is None)
        added = jnp.stack([jnp.ones_like(value), value, jnp.where(last, pending, 0.0)], axis=-1)
        records = records.at[nodes, lanes, actions, VISITS : LINK + 1].add(added, mode="drop")
        return records, virtual.at[depth].set(value)

    start = (tree.records, jnp.zeros(path.nodes.shape, tree.records.dtype))
    records, virtual = jax.lax.fori_loop(0, jnp.max(path.depth), level, start)
    tree = tree._replace(records=records)
    if tree.links is None:
        return tree, virtual
    return tree._replace(links=tree.links.at[path.leaf, lanes, path.action, path.outcome].add(pending)), virtual


def virtual_value(visits: Array, total: Array) -> Array:
    """The value of a virtual visit."""
    return jnp.where(visits > 0, total / jnp.maximum(visits, 1.0), -1.0)


def descend_many(tree: Tree, rule: Rule, *, leaves: int, max_depth: int) -> tuple[Tree, Path, Array]:
    """K paths, one after the other: the tree with their virtual visits, the paths [K, ...], the virtual values."""

    def once(tree: Tree, _: None) -> tuple[Tree, tuple[Path, Array]]:
        root = jnp.zeros(tree.records.shape[1], jnp.int32)
        path = descend(tree, _best_action(tree, root, tree.records[0], rule), rule, max_depth=max_depth)
        tree, virtual = add_virtual_visits(tree, path)
        return tree, (path, virtual)

    tree, (paths, virtual) = jax.lax.scan(once, tree, length=leaves)
    return tree, paths, virtual


def backup_many(tree: Tree, paths: Path, values: Array, link_changes: Array, virtual: Array) -> Tree:
    """Back up paths [K, ...] with virtual visits, their values [K, B, P] and link changes [K, B]."""

    def once(tree: Tree, step: tuple[Path, Array, Array, Array]) -> tuple[Tree, None]:
        return backup(tree, *step), None

    return jax.lax.scan(once, tree, (paths, values, link_changes, virtual))[0]


assert (VISITS, TOTAL, LINK) == (1, 2, 3), "backup writes these three columns as one"
