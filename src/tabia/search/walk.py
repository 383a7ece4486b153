"""One walk from the root to a leaf in every tree, and the way back: the inner loop of the search in plain XLA.

Axis letters: D depth, B batch, P seats. Rows of a path at or beyond its depth mean nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.search.selection import Rule, choose
from tabia.search.tree import LINK, NO_CHILD, PENDING, SEAT, TOTAL, VISITS, Tree, View, view

Scores = Callable[[View], Array]


class Path(NamedTuple):
    nodes: Array  # int32[D, B]
    actions: Array  # int32[D, B]
    seats: Array  # int32[D, B] who moves at each node
    depth: Array  # int32[B]: how many moves the path has
    leaf: Array  # int32[B] the node the last move starts from
    action: Array  # int32[B] that move
    link: Array  # float32[B] its link: NO_CHILD, PENDING, or a node where the path had to stop (too deep, a loop)
    outcome: Array | None = None  # int32[B] which sampled outcome of that move, in games of chance


def walk(tree: Tree, first: Array, rule: Rule, *, max_depth: int) -> Path:
    """From the root's move `first` [B], follow the rule to a move that leads to no node yet, or `max_depth` moves."""

    def deeper(carry: tuple[Array, Path]) -> tuple[Array, Path]:
        level, path = carry
        walking = _goes_on(tree, path)
        node = jnp.where(walking, path.link.astype(jnp.int32), path.leaf)
        row = _row(tree, node)
        # Who has arrived stays at the same move of the same node and so finds the same link again.
        step = _follow(tree, node, row, jnp.where(walking, chosen(tree, node, row, rule), path.action))
        return level + 1, _note(path, level, node, step, walking)

    def walking(carry: tuple[Array, Path]) -> Array:
        level, path = carry
        return (level < max_depth) & jnp.any(_goes_on(tree, path))

    return jax.lax.while_loop(walking, deeper, (jnp.int32(1), _start(tree, first, max_depth)))[1]


def chosen(tree: Tree, node: Array, row: Array, scores: Scores) -> Array:
    """The move with the best score at `node` [B] of every tree, given its record."""
    seen = view(row, None if tree.squares is None else tree.squares[node, jnp.arange(node.shape[0])])
    return choose(scores(seen), seen.legal)


def _row(tree: Tree, node: Array) -> Array:
    """The node's record [B, A + 1, 4]."""
    return tree.records.at[node, jnp.arange(node.shape[0])].get(mode="promise_in_bounds")


class _Step(NamedTuple):
    action: Array
    seat: Array
    link: Array
    outcome: Array | None


def _follow(tree: Tree, node: Array, row: Array, action: Array) -> _Step:
    """Where the action leads."""
    lanes, seat = jnp.arange(node.shape[0]), row[:, -1, SEAT].astype(jnp.int32)
    if tree.links is None:
        return _Step(action, seat, tree.records.at[node, lanes, action, LINK].get(mode="promise_in_bounds"), None)
    visits = tree.records[node, lanes, action, VISITS].astype(jnp.int32)
    outcome = visits % tree.links.shape[-1]  # sampled outcomes take turns
    return _Step(action, seat, tree.links[node, lanes, action, outcome], outcome)


def _start(tree: Tree, first: Array, max_depth: int) -> Path:
    """The path of the root's move alone."""
    root, blank = jnp.zeros_like(first), jnp.zeros((max_depth, *first.shape), jnp.int32)
    action, seat, link, outcome = _follow(tree, root, tree.records[0], first)
    return Path(blank, _put(blank, action, 0), _put(blank, seat, 0), root + 1, root, action, link, outcome)


def _note(path: Path, level: Array, node: Array, step: _Step, walking: Array) -> Path:
    return Path(
        nodes=_put(path.nodes, node, level),
        actions=_put(path.actions, step.action, level),
        seats=_put(path.seats, step.seat, level),
        depth=path.depth + walking,
        leaf=node,
        action=step.action,
        link=step.link,
        outcome=step.outcome,
    )


def _put(steps: Array, new: Array, level: Array | int) -> Array:
    return jax.lax.dynamic_update_index_in_dim(steps, new, level, axis=0)


def _goes_on(tree: Tree, path: Path) -> Array:
    """Whether the last move leads to a node; where nodes are shared, to one not yet on the path."""
    linked = path.link >= 0
    if tree.prints is None:
        return linked
    return linked & ~jnp.any((path.nodes == path.link.astype(jnp.int32)[None]) & on_path(path), axis=0)


def on_path(path: Path) -> Array:
    """bool[D, B]: the rows that mean something."""
    return jnp.arange(path.nodes.shape[0])[:, None] < path.depth[None, :]


def back_up(tree: Tree, path: Path, values: Array, linked: Array, marks: Array | None = None) -> Tree:
    """Along every path add a visit and each mover's value [B, P]; the last move's link rises by `linked` [B].

    Where the path was marked, its visits are there already and the marks [D, B] give way to the values.
    """
    lanes = jnp.arange(values.shape[0])

    def level(depth: Array, tree: Tree) -> Tree:
        # Who has arrived writes to a node that does not exist: that is dropped.
        nodes, actions = jnp.where(depth < path.depth, path.nodes[depth], tree.capacity), path.actions[depth]
        value = jnp.take_along_axis(values, path.seats[depth][:, None], axis=1)[:, 0]
        link = jnp.where((depth == path.depth - 1) & (tree.links is None), linked, 0.0)
        visits, change = (
            (jnp.ones_like(value), value) if marks is None else (jnp.zeros_like(value), value - marks[depth])
        )
        rise = jnp.stack([visits, change, link], axis=-1)
        tree = tree._replace(records=tree.records.at[nodes, lanes, actions, VISITS : LINK + 1].add(rise, mode="drop"))
        if tree.squares is not None:
            tree = tree._replace(squares=tree.squares.at[nodes, lanes, actions].add(value**2, mode="drop"))
        if tree.totals is not None:
            tree = tree._replace(totals=tree.totals.at[nodes, lanes].add(values, mode="drop"))
        return tree

    tree = jax.lax.fori_loop(0, jnp.max(path.depth), level, tree)
    if tree.links is None:
        return tree
    return tree._replace(links=tree.links.at[path.leaf, lanes, path.action, path.outcome].add(linked))


def mark(tree: Tree, path: Path) -> tuple[Tree, Array]:
    """Leave virtual visits along every path, so that the next walk of the same step looks elsewhere.

    A virtual visit is worth the move's mean so far, so that it adds doubt but no opinion; a loss where the move was
    never tried. The last move's link becomes PENDING. Returns the marks [D, B] for `back_up` to replace.
    """
    lanes = jnp.arange(path.leaf.shape[0])
    reached = jnp.where(on_path(path), path.nodes, tree.capacity)
    pending = jnp.where(path.link == NO_CHILD, float(PENDING - NO_CHILD), 0.0)

    def level(depth: Array, carry: tuple[Array, Array]) -> tuple[Array, Array]:
        records, marks = carry
        nodes, actions = reached[depth], path.actions[depth]
        edge = records[jnp.minimum(nodes, tree.capacity - 1), lanes, actions]
        worth = virtual_worth(edge[:, VISITS], edge[:, TOTAL])
        last = (depth == path.depth - 1) & (tree.links is None)
        rise = jnp.stack([jnp.ones_like(worth), worth, jnp.where(last, pending, 0.0)], axis=-1)
        records = records.at[nodes, lanes, actions, VISITS : LINK + 1].add(rise, mode="drop")
        return records, marks.at[depth].set(worth)

    start = (tree.records, jnp.zeros(path.nodes.shape, tree.records.dtype))
    records, marks = jax.lax.fori_loop(0, jnp.max(path.depth), level, start)
    tree = tree._replace(records=records)
    if tree.links is None:
        return tree, marks
    return tree._replace(links=tree.links.at[path.leaf, lanes, path.action, path.outcome].add(pending)), marks


def virtual_worth(visits: Array, total: Array) -> Array:
    """What a virtual visit adds to a move's total."""
    return jnp.where(visits > 0, total / jnp.maximum(visits, 1.0), -1.0)


def descend(tree: Tree, rule: Rule, *, leaves: int, max_depth: int) -> tuple[Tree, Path, Array]:
    """`leaves` walks one after the other, each leaving its marks: the marked tree, the paths [K, ...], the marks."""

    def once(tree: Tree, _: None) -> tuple[Tree, tuple[Path, Array]]:
        root = jnp.zeros(tree.records.shape[1], jnp.int32)
        path = walk(tree, chosen(tree, root, tree.records[0], rule), rule, max_depth=max_depth)
        tree, marks = mark(tree, path)
        return tree, (path, marks)

    tree, (paths, marks) = jax.lax.scan(once, tree, length=leaves)
    return tree, paths, marks


assert (VISITS, TOTAL, LINK) == (1, 2, 3), "back_up writes these three columns as one"
