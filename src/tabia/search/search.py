"""Batched tree search: any game, any number of seats, one evaluator call per simulation for the whole batch.

    select a path in every tree -> expand its leaf -> evaluate all leaves at once -> add the nodes -> back up

The game's rules are written for one state and mapped over the batch; the tree functions handle the batch themselves.
Axis letters: N nodes, B batch, A actions, P seats, K leaves per step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core import lanes
from tabia.games.game import Game, State
from tabia.search import checks, device, layout, one_kernel, ties
from tabia.search import tree as trees
from tabia.search.descent import Path, add_virtual_visits
from tabia.search.evaluators import Evaluate, Evaluation, calls_python
from tabia.search.expansion import NEW, Leaves, expand_leaves, first_equals
from tabia.search.layout import Layout, leaf_record, unusable
from tabia.search.proofs import prove, prove_many, unproven
from tabia.search.result import Result, summarize
from tabia.search.rules import Puct, Rule
from tabia.search.rules.rule import Root, select_action
from tabia.search.tree import NO_FAULT, PENDING, Tree, link_change

PUCT = Puct()
WARM_UP = 8  # with several leaves per step, the first simulations (this many per leaf) use a quarter of the leaves


@dataclass(frozen=True)
class Search:
    """The settings of a search; compiled once per batch size.

    Beyond the rule and the evaluator:
    - `leaves`: leaves that each tree evaluates per step, for few games on a large device;
    - `transpositions`: equal positions share a node; statistics stay on edges;
    - `cut_loops`: a position that repeats one on the path, or one given as `past`, takes its current score;
    - `outcomes`: sampled outcomes that each action keeps in a game with chance;
    - `reuse_nodes`: nodes of an earlier search to keep (see `reuse`);
    - `max_depth`: the maximum length of a path;
    - `random_ties`: of actions with the same score any is taken, not the first;
    - `proven_values`: exact wins, draws and losses are backed up and used (see `proofs`).
    """

    game: Game
    evaluate: Evaluate
    simulations: int
    rule: Rule = PUCT
    leaves: int = 1
    transpositions: bool = False
    cut_loops: bool = False
    outcomes: int = 32
    reuse_nodes: int = 0
    max_depth: int | None = None
    random_ties: bool = False
    proven_values: bool = False

    def __post_init__(self) -> None:
        checks.check_settings(self)

    def run(self, parameters: Any, states: State, key: Array, *, past: Array | None = None) -> Result:
        """Search every position of the batch; raises SearchError if positions or evaluations are invalid.

        `past` holds fingerprints [B, H, 2] of earlier positions of each game, for loop cutting.
        """
        checks.check_roots(self, parameters, states)
        result = _run(self, parameters, states, key, past)
        checks.check_evaluations(self.game, result.tree)
        return result

    def run_unchecked(self, parameters: Any, states: State, key: Array, past: Array | None = None) -> Result:
        """The same without checks, for compiled code."""
        return _run(self, parameters, states, key, past)

    @property
    def calls_python(self) -> bool:
        """Whether compiled rules or the evaluator may call ordinary Python."""
        return self.game.calls_python or calls_python(self.evaluate)

    @property
    def capacity(self) -> int:
        """The maximum number of nodes of a tree."""
        return 1 + max(self.reuse_nodes - 1, 0) + self.simulations

    @property
    def depth(self) -> int:
        """The maximum length of a path."""
        return min(self.max_depth or self.capacity, self.capacity, self.game.max_moves)


@partial(jax.jit, static_argnums=0)
def _run(search: Search, parameters: Any, states: State, key: Array, past: Array | None) -> Result:
    init_key, root_key, simulate_key = jax.random.split(key, 3)
    tree = init_tree(search, parameters, states, init_key)
    tree, root = prepare_root(search, tree, root_key)
    done = 0
    for leaves, count in phases(search):
        step = replace(search, leaves=leaves)
        tree = run_simulations(step, parameters, tree, root, simulate_key, done, count, past)
        done += count
    return summarize(search, tree, root)


def phases(search: Search) -> list[tuple[int, int]]:
    """Leaves per step, and for how many simulations: fewer leaves at first, when every visit matters most."""
    first = search.leaves * WARM_UP
    if search.leaves % 4 or search.simulations < 2 * first:
        return [(search.leaves, search.simulations)]
    return [(search.leaves // 4, first), (search.leaves, search.simulations - first)]


def init_tree(search: Search, parameters: Any, states: State, key: Array) -> Tree:
    """Evaluate the roots and allocate their trees; raises SearchError, while tracing, if memory does not suffice."""
    layout.check(search, jax.tree.leaves(states)[0].shape[0])
    evaluation = evaluate(search.evaluate, parameters, states, key)
    tree = layout.new_tree(Layout.of(search), states, evaluation, search.capacity)
    if not search.random_ties:
        return tree
    return tree._replace(ties=ties.draw_seeds(jax.random.fold_in(key, 1), tree.faults.shape[0]))


def prepare_root(search: Search, tree: Tree, key: Array) -> tuple[Tree, Root]:
    """Let the rule change the roots' priors and prepare what it needs at the roots."""
    before = trees.root_view(tree).logits
    logits, root = search.rule.prepare_root(before, search.simulations, key)
    return tree if logits is before else trees.with_root_logits(tree, logits), root


def run_simulations(
    search: Search,
    parameters: Any,
    tree: Tree,
    root: Root,
    key: Array,
    first: Array | int,
    count: Array | int,
    past: Array | None,
) -> Tree:
    """Run `count` simulations, starting with number `first`; on several devices, each runs those of its own lanes."""
    specs, every = trees.split_specs(tree), lanes.spec(None)
    roots = tuple(map(lanes.spec, search.rule.root_lanes)) if root else ()
    earlier = None if past is None else lanes.spec(0)
    return lanes.each_device(
        partial(_run_simulations, search, count),
        (every, specs, roots, every, every, earlier),
        specs,
        *(parameters, tree, root, key, first, past),
    )


def _run_simulations(
    search: Search,
    count: Array | int,
    parameters: Any,
    tree: Tree,
    root: Root,
    key: Array,
    first: Array | int,
    past: Array | None,
) -> Tree:
    simulations = simulate if search.leaves == 1 else simulate_leaves

    def step(index: Array, tree: Tree, given: Any) -> Tree:
        parameters, root, key, first, past = given
        return simulations(search, parameters, tree, root, key, first + index * search.leaves, past)

    given = (parameters, root, key, jnp.asarray(first, jnp.int32), past)
    count = count // search.leaves
    if tree.faults.shape[0] == 1:
        return one_kernel.repeat(step, count, tree, given)
    return jax.lax.fori_loop(0, count, lambda index, tree: step(index, tree, given), tree)


def simulate(
    search: Search, parameters: Any, tree: Tree, root: Root, key: Array, number: Array, past: Array | None
) -> Tree:
    """One simulation in every tree."""
    path = select(search, tree, root, number)
    found = expand(search, tree, path, key, past)
    evaluation = evaluate(search.evaluate, parameters, found.states, jax.random.fold_in(key, number))
    values = jnp.where(found.known[:, None], found.values, evaluation.values)
    if found.proven is not None:
        tree, values = prove(tree, path, values, found.proven)
    child = jnp.where(found.child == NEW, tree.size.astype(jnp.float32), found.child)
    tree = add_nodes(search.game, tree, jax.tree.map(lambda leaf: leaf[None], (found, evaluation, values)))
    tree = add_root_values(tree, path.actions[:1], values[None])
    return device.backup(tree, path, values, link_change(path.link, child))


def simulate_leaves(
    search: Search, parameters: Any, tree: Tree, root: Root, key: Array, number: Array, past: Array | None
) -> Tree:
    """`search.leaves` simulations in every tree with one evaluator call.

    Paths are selected one after the other. Each leaves virtual visits behind, which keep the next one off its path and
    are replaced by real ones in the backup.
    """
    batch, order = tree.faults.shape[0], jnp.arange(search.leaves)
    before = tree  # without virtual visits
    tree, paths, virtual = select_many(search, tree, root, number)
    found = jax.vmap(lambda path: expand(search, before, path, key, past))(paths)
    flat = jax.tree.map(lambda leaf: leaf.reshape(-1, *leaf.shape[2:]), found.states)
    evaluator = _Repeated(search.evaluate, search.leaves)
    evaluation = evaluate(evaluator, parameters, flat, jax.random.fold_in(key, number))
    evaluation = jax.tree.map(lambda leaf: leaf.reshape(search.leaves, batch, -1), evaluation)
    values = jnp.where(found.known[:, :, None], found.values, evaluation.values)
    if found.proven is not None:
        tree, values = prove_many(tree, paths, values, found.proven)
    places = first_equals(found) if search.transpositions else jnp.broadcast_to(order[:, None], found.child.shape)
    child = jnp.where(found.child == NEW, (tree.size + places).astype(jnp.float32), found.child)
    tree = add_nodes(search.game, tree, (found, evaluation, values))
    tree = add_root_values(tree, paths.actions[:, 0], values)
    return device.backup_many(tree, paths, values, link_change(paths.link, child, written=PENDING), virtual)


@dataclass(frozen=True)
class _Repeated:
    """An evaluator of batches that hold every lane several times."""

    evaluate: Evaluate
    copies: int

    def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
        with lanes.repeated(self.copies):
            return self.evaluate(parameters, states, key)


def select_many(search: Search, tree: Tree, root: Root, number: Array) -> tuple[Tree, Path, Array]:
    """K paths [K, ...], one after the other, with the tree that has their virtual visits and the virtual values."""
    if not search.rule.plans_root:
        return device.descend_many(tree, search.rule, leaves=search.leaves, max_depth=search.depth)

    def once(tree: Tree, index: Array) -> tuple[Tree, tuple[Path, Array]]:
        path = select(search, tree, root, number + index)
        tree, virtual = add_virtual_visits(tree, path)
        return tree, (path, virtual)

    tree, (paths, virtual) = jax.lax.scan(once, tree, jnp.arange(search.leaves))
    return tree, paths, virtual


def select(search: Search, tree: Tree, root: Root, number: Array) -> Path:
    """The path of simulation `number` in every tree."""
    node = trees.root_view(tree)
    scores = search.rule.root_scores(node, root, number)
    action = select_action(scores, node.candidates, ties.root_order(tree, node))
    return device.descend(tree, action, search.rule, max_depth=search.depth)


def expand(search: Search, tree: Tree, path: Path, key: Array, past: Array | None) -> Leaves:
    """Play the last action of every path."""
    keys = outcome_keys(path, key) if search.game.chance else None
    return expand_leaves(search.game, tree, path, keys, past=past, share=search.transpositions)


def outcome_keys(path: Path, key: Array) -> Array:
    """A key per leaf, the same for the same sampled outcome at the same depth.

    So actions are compared with the same dice, which cancels most of their luck, and no path uses a key twice.
    """
    assert path.outcome is not None

    def one(key: Array, *places: Array) -> Array:
        for place in places:
            key = jax.random.fold_in(key, place)
        return key

    keys = lanes.draw(jax.random.split, key, path.leaf.shape)
    return jax.vmap(one)(keys, path.depth, path.outcome)


def add_nodes(game: Game, tree: Tree, step: tuple[Leaves, Evaluation, Array]) -> Tree:
    """Write the K leaves [K, B, ...] of a step as the next K nodes of every tree."""
    found, evaluation, values = step

    def put(nodes: Array, new: Array) -> Array:
        return jax.lax.dynamic_update_slice_in_dim(nodes, new, tree.size, axis=0)

    bad = jax.vmap(unusable)(evaluation) & ~found.known
    first_bad = jnp.where(bad.any(axis=0), tree.size + jnp.argmax(bad, axis=0), NO_FAULT)
    records = jax.vmap(partial(leaf_record, game))(found.states, evaluation)
    return tree._replace(
        records=put(tree.records, records),
        states=jax.tree.map(put, tree.states, found.states),
        size=tree.size + values.shape[0],
        faults=jnp.where(tree.faults == NO_FAULT, first_bad, tree.faults).astype(jnp.int32),
        totals=None if tree.totals is None else put(tree.totals, values),
        prints=None if tree.prints is None or found.prints is None else put(tree.prints, found.prints),
        proven=None if tree.proven is None else put(tree.proven, unproven(records, game.num_players)),
    )


def add_root_values(tree: Tree, actions: Array, values: Array) -> Tree:
    """Add the values [K, B, P] of simulations to the sums of the root actions [K, B] they went through."""
    return tree._replace(sums=tree.sums.at[jnp.arange(actions.shape[1])[None, :], actions].add(values))


@partial(jax.jit, static_argnums=0)  # traced once for roots and leaves; tracing is half the time of a warm first move
def evaluate(evaluator: Evaluate, parameters: Any, states: State, key: Array) -> Evaluation:
    """Evaluate a batch of positions."""
    return evaluator(parameters, states, key)
