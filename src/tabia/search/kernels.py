"""Descent and backup as GPU kernels; `descent.py` has the same functions in XLA.

XLA runs a loop of unknown length by asking the host after each iteration. Here one small program per tree runs the
whole loop, so a simulation costs two launches at any depth.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.experimental import pallas as pl
from jax.experimental.pallas import triton as plgpu

from tabia.core.batching import padded_size
from tabia.search import ties
from tabia.search.descent import Path, virtual_value
from tabia.search.rules.rule import Rule, select_action
from tabia.search.tree import LINK, LOGIT, MISSING, NO_CHILD, PENDING, SEAT, TOTAL, VALUE, VISITS, Tree, View

Choice = Callable[[View, Array, Array], Array]
"""The action at a node, from its statistics, the tree's seed for breaking ties, and the node's number."""


def descend(tree: Tree, first: Array, rule: Rule, *, max_depth: int, interpret: bool = False) -> Path:
    """As `descent.descend`."""
    _, batch, rows, _ = tree.records.shape
    lanes = jax.ShapeDtypeStruct((batch,), jnp.int32)
    steps = jax.ShapeDtypeStruct((max_depth, batch), jnp.int32)
    nodes, actions, seats, depth, leaf, action, link = pl.pallas_call(
        partial(
            _descend, choice=_choice(tree, rule), num_actions=rows - 1, max_depth=max_depth, loops=_has_loops(tree)
        ),
        grid=(batch,),
        out_shape=[steps, steps, steps, lanes, lanes, lanes, jax.ShapeDtypeStruct((batch,), jnp.float32)],
        compiler_params=plgpu.CompilerParams(num_warps=1, num_stages=1),
        interpret=interpret,
        name="tabia_descend",
    )(tree.records, first, _seeds(tree))
    return Path(nodes, actions, seats, depth, leaf, action, link)


def _descend(
    records: Any,
    firsts: Any,
    seeds: Any,
    nodes: Any,
    actions: Any,
    seats: Any,
    depth: Any,
    leaf: Any,
    last: Any,
    link: Any,
    *,
    choice: Choice,
    num_actions: int,
    max_depth: int,
    loops: bool,
) -> None:
    lane = pl.program_id(0)
    seed = plgpu.load(seeds.at[lane])

    def at(node: Array, action: Array, level: Array) -> Array:
        """Record the step and return its link."""
        plgpu.store(nodes.at[level, lane], node)
        plgpu.store(actions.at[level, lane], action)
        plgpu.store(seats.at[level, lane], plgpu.load(_cell(records, node, lane, num_actions, SEAT)).astype(jnp.int32))
        return plgpu.load(_cell(records, node, lane, action, LINK))

    def deeper(step: _Step) -> _Step:
        level, _, _, to, visited = step
        node = to.astype(jnp.int32)
        seen = _view(records, node, lane, num_actions)
        action = choice(seen, seed, node)
        return _Step(level + 1, node, action, at(node, action, level), _with_node(visited, level, node))

    first = plgpu.load(firsts.at[lane])
    root = _with_node(_no_nodes(max_depth) if loops else None, jnp.int32(0), jnp.int32(0))
    start = _Step(jnp.int32(1), jnp.int32(0), first, at(jnp.int32(0), first, jnp.int32(0)), root)
    level, node, action, to = jax.lax.while_loop(partial(_continues, max_depth), deeper, start)[:4]
    plgpu.store(depth.at[lane], level)
    plgpu.store(leaf.at[lane], node)
    plgpu.store(last.at[lane], action)
    plgpu.store(link.at[lane], to)


def _choice(tree: Tree, rule: Rule) -> Choice:
    """How an action is chosen at a node."""

    def choose(seen: View, seed: Array, node: Array) -> Array:
        random = None if tree.ties is None else ties.order(seed, node, seen.visits)
        return select_action(rule.scores(seen), seen.legal, random)

    return choose


def _seeds(tree: Tree) -> Array:
    """uint32[B]: the seeds for breaking ties; any if they are not broken at random."""
    return jnp.zeros(tree.records.shape[1], jnp.uint32) if tree.ties is None else tree.ties


def _has_loops(tree: Tree) -> bool:
    """Whether paths may come back to a node, because nodes are shared."""
    return tree.prints is not None


class _Step(NamedTuple):
    """Where a descent is."""

    level: Array  # int32
    node: Array  # int32
    action: Array  # int32
    link: Array  # float32
    visited: Array | None  # int32[max_depth, padded] the nodes of the path, if paths of the tree may form loops


def _no_nodes(max_depth: int) -> Array:
    return jnp.full(padded_size(max_depth), NO_CHILD, jnp.int32)


def _with_node(visited: Array | None, level: Array, node: Array) -> Array | None:
    """The nodes of the path with one more, in registers: what a program stores, its other threads see too late."""
    return None if visited is None else jnp.where(jnp.arange(visited.shape[0]) == level, node, visited)


def _continues(max_depth: int, step: _Step) -> Array:
    """As `descent._continues`: whether the last action leads to a node that is not yet on the path."""
    further = (step.link >= 0) & (step.level < max_depth)
    if step.visited is None:
        return further
    return further & (jnp.sum(jnp.where(step.visited == step.link.astype(jnp.int32), 1, 0)) == 0)


def _view(records: Any, node: Array, lane: Array, num_actions: int) -> View:
    rows = jnp.arange(padded_size(num_actions))
    known = rows < num_actions

    def column(index: int, other: float) -> Array:
        return plgpu.load(_cell(records, node, lane, rows, index), mask=known, other=other)

    return View(
        logits=column(LOGIT, MISSING),
        visits=column(VISITS, 0.0),
        totals=column(TOTAL, 0.0),
        value=plgpu.load(_cell(records, node, lane, num_actions, VALUE)),
    )


def backup(tree: Tree, path: Path, values: Array, link_change: Array, *, interpret: bool = False) -> Tree:
    """As `descent.backup`."""
    records = pl.pallas_call(
        partial(_backup, levels=path.nodes.shape[0], num_actions=tree.num_actions),
        grid=(values.shape[0],),
        out_shape=jax.ShapeDtypeStruct(tree.records.shape, tree.records.dtype),
        input_output_aliases={0: 0},
        compiler_params=plgpu.CompilerParams(num_warps=1, num_stages=1),
        interpret=interpret,
        name="tabia_backup",
    )(tree.records, path.nodes, path.actions, path.seats, path.depth, values, link_change)
    return tree._replace(records=records)


def _backup(
    _: Any,
    nodes: Any,
    actions: Any,
    seats: Any,
    depth: Any,
    values: Any,
    link_changes: Any,
    records: Any,
    *,
    levels: int,
    num_actions: int,
) -> None:
    lane = pl.program_id(0)
    level = jnp.arange(padded_size(levels))
    length = plgpu.load(depth.at[lane])
    on_path = level < length
    node = plgpu.load(nodes.at[level, lane], mask=on_path, other=0)
    # Nothing is stored off the path; the node's own row keeps the interpreter from rewriting actions there.
    action = plgpu.load(actions.at[level, lane], mask=on_path, other=num_actions)
    seat = plgpu.load(seats.at[level, lane], mask=on_path, other=0)
    value = plgpu.load(values.at[lane, seat], mask=on_path, other=0.0)
    link = jnp.where(level == length - 1, plgpu.load(link_changes.at[lane]), 0.0)
    for column, change in ((VISITS, 1.0), (TOTAL, value), (LINK, link)):
        _add(_cell(records, node, lane, action, column), change, on_path)


def descend_many(
    tree: Tree, rule: Rule, *, leaves: int, max_depth: int, interpret: bool = False
) -> tuple[Tree, Path, Array]:
    """As `descent.descend_many`: all paths of a step in one launch, one after the other in each tree."""
    _, batch, rows, _ = tree.records.shape
    lanes = jax.ShapeDtypeStruct((leaves, batch), jnp.int32)
    steps = jax.ShapeDtypeStruct((leaves, max_depth, batch), jnp.int32)
    links = jax.ShapeDtypeStruct((leaves, batch), jnp.float32)
    virtual = jax.ShapeDtypeStruct((leaves, max_depth, batch), jnp.float32)
    records, *path, values = pl.pallas_call(
        partial(
            _descend_many,
            choice=_choice(tree, rule),
            num_actions=rows - 1,
            leaves=leaves,
            max_depth=max_depth,
            loops=_has_loops(tree),
            alone=interpret,
        ),
        grid=(batch,),
        out_shape=[
            jax.ShapeDtypeStruct(tree.records.shape, tree.records.dtype),
            steps,
            steps,
            steps,
            *[lanes] * 3,
            links,
            virtual,
        ],
        input_output_aliases={0: 0},
        compiler_params=plgpu.CompilerParams(num_warps=1, num_stages=1),
        interpret=interpret,
        name="tabia_descend_many",
    )(tree.records, _seeds(tree))
    return tree._replace(records=records), Path(*path), values


def _descend_many(
    _: Any,
    seeds: Any,
    records: Any,
    nodes: Any,
    actions: Any,
    seats: Any,
    depth: Any,
    leaf: Any,
    last: Any,
    link: Any,
    virtual: Any,
    *,
    choice: Choice,
    num_actions: int,
    leaves: int,
    max_depth: int,
    loops: bool,
    alone: bool,
) -> None:
    lane = pl.program_id(0)
    seed = plgpu.load(seeds.at[lane])

    def deeper(turn: Array, step: _Step) -> _Step:
        level, _, _, to, visited = step
        node = to.astype(jnp.int32)
        seen = _view(records, node, lane, num_actions)
        action = choice(seen, seed, node)
        visits, total = (_cell(records, node, lane, action, column) for column in (VISITS, TOTAL))
        count, sum_ = plgpu.load(visits), plgpu.load(total)
        value = virtual_value(count, sum_)
        plgpu.store(visits, count + 1.0)
        plgpu.store(total, sum_ + value)
        plgpu.store(nodes.at[turn, level, lane], node)
        plgpu.store(actions.at[turn, level, lane], action)
        plgpu.store(virtual.at[turn, level, lane], value)
        plgpu.store(
            seats.at[turn, level, lane], plgpu.load(_cell(records, node, lane, num_actions, SEAT)).astype(jnp.int32)
        )
        further = plgpu.load(_cell(records, node, lane, action, LINK))
        return _Step(level + 1, node, action, further, _with_node(visited, level, node))

    def once(turn: Array, _: Array) -> Array:
        none = _no_nodes(max_depth) if loops else None
        start = _Step(jnp.int32(0), jnp.int32(0), jnp.int32(0), jnp.float32(0.0), none)
        going = partial(_continues, max_depth)
        level, node, action, to = jax.lax.while_loop(going, partial(deeper, turn), start)[:4]
        plgpu.store(depth.at[turn, lane], level)
        plgpu.store(leaf.at[turn, lane], node)
        plgpu.store(last.at[turn, lane], action)
        plgpu.store(link.at[turn, lane], to)
        pending = jnp.where(to == NO_CHILD, float(PENDING), to)
        plgpu.store(_cell(records, node, lane, action, LINK), pending)
        if not alone:
            plgpu.debug_barrier()  # the next path reads what other threads wrote for this one
        return jnp.int32(0)

    jax.lax.fori_loop(0, leaves, once, jnp.int32(0))


def backup_many(
    tree: Tree, paths: Path, values: Array, link_changes: Array, virtual: Array, *, interpret: bool = False
) -> Tree:
    """As `descent.backup_many`: all paths of a step in one launch."""
    leaves, levels, batch = paths.nodes.shape
    records = pl.pallas_call(
        partial(_backup_many, levels=levels, num_actions=tree.num_actions, alone=interpret),
        grid=(batch, leaves),
        out_shape=jax.ShapeDtypeStruct(tree.records.shape, tree.records.dtype),
        input_output_aliases={0: 0},
        compiler_params=plgpu.CompilerParams(num_warps=1, num_stages=1),
        interpret=interpret,
        name="tabia_backup_many",
    )(tree.records, paths.nodes, paths.actions, paths.seats, paths.depth, values, link_changes, virtual)
    return tree._replace(records=records)


def _backup_many(
    _: Any,
    nodes: Any,
    actions: Any,
    seats: Any,
    depth: Any,
    values: Any,
    link_changes: Any,
    virtual: Any,
    records: Any,
    *,
    levels: int,
    num_actions: int,
    alone: bool,
) -> None:
    lane, turn = pl.program_id(0), pl.program_id(1)
    level = jnp.arange(padded_size(levels))
    length = plgpu.load(depth.at[turn, lane])
    on_path = level < length
    node = plgpu.load(nodes.at[turn, level, lane], mask=on_path, other=0)
    action = plgpu.load(actions.at[turn, level, lane], mask=on_path, other=num_actions)
    seat = plgpu.load(seats.at[turn, level, lane], mask=on_path, other=0)
    value = plgpu.load(values.at[turn, lane, seat], mask=on_path, other=0.0)
    assumed = plgpu.load(virtual.at[turn, level, lane], mask=on_path, other=0.0)
    link = jnp.where(level == length - 1, plgpu.load(link_changes.at[turn, lane]), 0.0)
    for column, change in ((TOTAL, value - assumed), (LINK, link)):
        if alone:
            _add(_cell(records, node, lane, action, column), change, on_path)
        else:  # paths of one tree share their first actions and are written concurrently
            plgpu.atomic_add(records, (node, lane, action, jnp.int32(column)), change, mask=on_path)


def _add(cell: Any, change: Array | float, mask: Array) -> None:
    plgpu.store(cell, plgpu.load(cell, mask=mask, other=0.0) + change, mask=mask)


def _cell(records: Any, node: Array, lane: Array, row: Array | int, column: int) -> Any:
    return records.at[node, lane, jnp.int32(row), jnp.int32(column)]
