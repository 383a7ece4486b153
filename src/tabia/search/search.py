"""Batched tree search: any game, any number of seats, one evaluator call a simulation for the whole batch.

    walk down every tree -> play the leaf's move -> evaluate all leaves at once -> write the new nodes -> back up

The rules are called for one state and mapped over the batch; the tree is written for the batch outright.
Axis letters: N nodes, B batch, A actions, P seats, K leaves a step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.search import checks, device, layout
from tabia.search import tree as trees
from tabia.search.evaluators import Evaluate, Evaluation
from tabia.search.gumbel import Gumbel
from tabia.search.layout import Layout, leaf_record, unusable
from tabia.search.leaves import NEW, Leaves, first_equals, leaves
from tabia.search.roots import Noise, Result, Root, harvest, prepare_root
from tabia.search.selection import Puct, Rule, choose
from tabia.search.tree import NO_CHILD, NO_FAULT, PENDING, Tree, View
from tabia.search.walk import Path, mark

PUCT = Puct()
YOUTH = 8  # a tree is young until it has seen this many simulations for each leaf of a step


@dataclass(frozen=True)
class Search:
    """How to search; compiled once per batch size.

    Beyond the rule and the evaluator:
    - `noise`: Dirichlet noise on the roots' priors;
    - `leaves`: how many leaves each tree evaluates a step, for few games on a big device;
    - `transpositions`: equal positions share a node, statistics stay on edges;
    - `cut_loops`: a position met again on the path, or given as past, is scored as it stands;
    - `outcomes`: how many sampled outcomes each action of a chance game keeps;
    - `keep`: room for that many nodes of an earlier search (see `reuse`);
    - `max_depth`: no path is longer.
    """

    game: Game
    evaluate: Evaluate
    simulations: int
    rule: Rule = PUCT
    noise: Noise | None = None
    leaves: int = 1
    transpositions: bool = False
    cut_loops: bool = False
    outcomes: int = 32
    keep: int = 0
    max_depth: int | None = None

    def __post_init__(self) -> None:
        checks.settings(self)

    def run(self, parameters: Any, states: State, key: Array, *, past: Array | None = None) -> Result:
        """Search every position of the batch; refuses what cannot be searched, reports what went wrong.

        `past` are fingerprints [B, H, 2] of earlier positions of each game, for loop cutting.
        """
        checks.roots(self, parameters, states)
        result = _explore(self, parameters, states, key, past)
        checks.answers(self.game, result.tree)
        return result

    def explore(self, parameters: Any, states: State, key: Array, past: Array | None = None) -> Result:
        """The same without checks, to be called inside compiled code."""
        return _explore(self, parameters, states, key, past)

    @property
    def capacity(self) -> int:
        return 1 + max(self.keep - 1, 0) + self.simulations

    @property
    def depth(self) -> int:
        return min(self.max_depth or self.capacity, self.capacity, self.game.max_moves)


@partial(jax.jit, static_argnums=0)
def _explore(search: Search, parameters: Any, states: State, key: Array, past: Array | None) -> Result:
    plant_key, root_key, grow_key = jax.random.split(key, 3)
    tree = plant(search, parameters, states, plant_key)
    tree, root = prepare_root(search, tree, root_key)
    done = 0
    for width, count in phases(search):
        tree = grow(replace(search, leaves=width), parameters, tree, root, grow_key, done, count, past)
        done += count
    return harvest(search, tree, root)


def phases(search: Search) -> list[tuple[int, int]]:
    """How many leaves a step, and for how many simulations: fewer while the tree is young and every visit counts."""
    young = search.leaves * YOUTH
    if search.leaves % 4 or search.simulations < 2 * young:
        return [(search.leaves, search.simulations)]
    return [(search.leaves // 4, young), (search.leaves, search.simulations - young)]


def plant(search: Search, parameters: Any, states: State, key: Array) -> Tree:
    """Evaluate the roots and make trees of one node each; refused while tracing if they would not fit into memory."""
    layout.check(search, jax.tree.leaves(states)[0].shape[0])
    evaluation = evaluate(search.evaluate, parameters, states, key)
    return layout.new_tree(Layout.of(search), states, evaluation, search.capacity)


def grow(
    search: Search,
    parameters: Any,
    tree: Tree,
    root: Root,
    key: Array,
    first: Array | int,
    count: int,
    past: Array | None,
) -> Tree:
    """Run `count` simulations, the first of them being number `first`."""
    simulate = narrow if search.leaves == 1 else wide

    def step(index: Array, tree: Tree) -> Tree:
        return simulate(search, parameters, tree, root, key, first + index * search.leaves, past)

    return jax.lax.fori_loop(0, count // search.leaves, step, tree)


def narrow(
    search: Search, parameters: Any, tree: Tree, root: Root, key: Array, number: Array, past: Array | None
) -> Tree:
    """One simulation in every tree."""
    path = select(search, tree, root, number)
    found = look(search, tree, path, key, past)
    evaluation = evaluate(search.evaluate, parameters, found.states, jax.random.fold_in(key, number))
    values = jnp.where(found.settled[:, None], found.values, evaluation.values)
    child = jnp.where(found.child == NEW, tree.size.astype(jnp.float32), found.child)
    tree = write(search.game, tree, jax.tree.map(lambda leaf: leaf[None], (found, evaluation, values)))
    tree = credit(tree, path.actions[:1], values[None])
    return device.back_up(tree, path, values, jnp.where(child == NO_CHILD, 0.0, child - NO_CHILD))


def wide(
    search: Search, parameters: Any, tree: Tree, root: Root, key: Array, number: Array, past: Array | None
) -> Tree:
    """`search.leaves` simulations in every tree with one evaluator call.

    The walks follow one another; each leaves virtual visits behind, which keep the next one off its path and are made
    good when the values are known.
    """
    batch, order = tree.faults.shape[0], jnp.arange(search.leaves)
    before = tree  # whose means no virtual visit has touched
    tree, paths, marks = select_many(search, tree, root, number)
    found = jax.vmap(lambda path: look(search, before, path, key, past))(paths)
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), found.states)
    evaluation = evaluate(search.evaluate, parameters, flat, jax.random.fold_in(key, number))
    evaluation = jax.tree.map(lambda leaf: leaf.reshape(search.leaves, batch, -1), evaluation)
    values = jnp.where(found.settled[:, :, None], found.values, evaluation.values)
    places = first_equals(found) if search.transpositions else jnp.broadcast_to(order[:, None], found.child.shape)
    child = jnp.where(found.child == NEW, (tree.size + places).astype(jnp.float32), found.child)
    linked = jnp.where(paths.link == NO_CHILD, child - PENDING, 0.0)
    tree = write(search.game, tree, (found, evaluation, values))
    tree = credit(tree, paths.actions[:, 0], values)
    return device.back_up_many(tree, paths, values, linked, marks)


def select_many(search: Search, tree: Tree, root: Root, number: Array) -> tuple[Tree, Path, Array]:
    """The paths of the next `search.leaves` simulations [K, ...], with their marks left in the tree."""
    if not isinstance(search.rule, Gumbel):
        return device.descend(tree, search.rule, leaves=search.leaves, max_depth=search.depth)

    def once(tree: Tree, index: Array) -> tuple[Tree, tuple[Path, Array]]:
        path = select(search, tree, root, number + index)
        tree, marks = mark(tree, path)
        return tree, (path, marks)

    tree, (paths, marks) = jax.lax.scan(once, tree, jnp.arange(search.leaves))
    return tree, paths, marks


def select(search: Search, tree: Tree, root: Root, number: Array) -> Path:
    """The path of simulation `number` in every tree."""

    def root_scores(node: View) -> Array:
        if isinstance(search.rule, Gumbel):
            return search.rule.root_scores(node, root.gumbel, root.schedule[number])  # type: ignore[arg-type, index]
        return search.rule(node)

    node = trees.root_view(tree)
    return device.walk(tree, choose(root_scores(node), node.legal), search.rule, max_depth=search.depth)


def look(search: Search, tree: Tree, path: Path, key: Array, past: Array | None) -> Leaves:
    """Play the last move of every path and see what stands there."""
    keys = outcome_keys(path, key) if search.game.chance else None
    return leaves(search.game, tree, path, keys, past=past, share=search.transpositions)


def outcome_keys(path: Path, key: Array) -> Array:
    """A key for each leaf's move, the same whenever the same sampled outcome of the same move is played again."""
    assert path.outcome is not None

    def one(lane: Array, *places: Array) -> Array:
        for place in places:
            lane = jax.random.fold_in(lane, place)
        return lane

    return jax.vmap(one)(jax.random.split(key, path.leaf.shape[0]), path.leaf, path.action, path.outcome)


def write(game: Game, tree: Tree, step: tuple[Leaves, Evaluation, Array]) -> Tree:
    """Write the K leaves [K, B, ...] of a step as the next K nodes of every tree."""
    found, evaluation, values = step

    def put(nodes: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(nodes, new, tree.size, axis=0)

    bad = jax.vmap(unusable)(evaluation) & ~found.settled
    first_bad = jnp.where(bad.any(axis=0), tree.size + jnp.argmax(bad, axis=0), NO_FAULT)
    return tree._replace(
        records=put(tree.records, jax.vmap(partial(leaf_record, game))(found.states, evaluation)),
        states=jax.tree.map(put, tree.states, found.states),
        size=tree.size + values.shape[0],
        faults=jnp.where(tree.faults == NO_FAULT, first_bad, tree.faults).astype(jnp.int32),
        totals=None if tree.totals is None else put(tree.totals, values),
        prints=None if tree.prints is None or found.prints is None else put(tree.prints, found.prints),
    )


def credit(tree: Tree, first: Array, values: Array) -> Tree:
    """Tell the root's moves `first` [K, B] what the simulations through them found, the values [K, B, P]."""
    return tree._replace(sums=tree.sums.at[jnp.arange(first.shape[1])[None, :], first].add(values))


@partial(jax.jit, static_argnums=0)  # traced once for the root and the leaves: tracing is half of a warm first move
def evaluate(evaluator: Evaluate, parameters: Any, states: State, key: Array) -> Evaluation:
    """What the evaluator says of a batch of positions."""
    return evaluator(parameters, states, key)
