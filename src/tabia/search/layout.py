"""Allocation of trees, and the memory a search needs.

`new_tree` alone decides what a search keeps per node; `needs` measures the shapes of its result, so the two cannot
disagree. Axis letters: N nodes, B batch, A actions, P seats.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.core import devices
from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State
from tabia.search import memory
from tabia.search import tree as trees
from tabia.search.errors import SearchError
from tabia.search.evaluators import Evaluation, needs_of
from tabia.search.memory import Need
from tabia.search.proofs import unproven
from tabia.search.tree import NO_CHILD, NO_FAULT, UNPROVEN, Tree

if TYPE_CHECKING:
    from tabia.search.search import Search

MOST_NODES = 2**24
"""Node numbers and visit counts are stored as float32, which is exact up to here."""

_PATH_BYTES = 16  # per action of a path: node, action, seat, virtual value
_SCHEDULE_BYTES = 4  # per simulation, for rules that plan the root
_STATE_BOUND = 64
_LARGEST_VALUE = 1.01  # scores are scaled to [-1, 1]; half precision may round slightly beyond


class Layout(NamedTuple):
    """What the trees of a search store."""

    game: Game
    squares: bool
    totals: bool
    prints: bool
    proven: bool
    outcomes: int
    size: int  # nodes in use at the start

    @classmethod
    def of(cls, search: Search) -> Layout:
        return cls(
            game=search.game,
            squares=search.rule.needs_squares,
            totals=search.transpositions or search.reuse_nodes > 0,
            prints=search.transpositions or search.cut_loops,
            proven=search.proven_values,
            outcomes=search.outcomes,
            size=max(search.reuse_nodes, 1),
        )


def new_tree(layout: Layout, states: State, evaluation: Evaluation, capacity: int) -> Tree:
    """Trees of at most `capacity` nodes, whose roots are these positions [B, ...]."""
    game = layout.game
    batch, actions = evaluation.logits.shape
    record = leaf_record(game, states, evaluation)
    return Tree(
        records=trees.allocate(record, capacity),
        states=jax.tree.map(lambda leaf: trees.allocate(leaf, capacity), states),
        size=jnp.int32(layout.size),
        root_values=evaluation.values,
        sums=jnp.zeros((batch, actions, game.num_players)),
        faults=jnp.where(unusable(evaluation), 0, NO_FAULT).astype(jnp.int32),  # a weak type would compile loops twice
        squares=jnp.zeros((capacity, batch, actions)) if layout.squares else None,
        totals=trees.allocate(evaluation.values, capacity) if layout.totals else None,
        prints=trees.allocate(jax.vmap(partial(fingerprint, game))(states), capacity) if layout.prints else None,
        links=jnp.full((capacity, batch, actions, layout.outcomes), float(NO_CHILD)) if game.chance else None,
        proven=_no_proofs(record, game.num_players, capacity) if layout.proven else None,
    )


def _no_proofs(record: Array, seats: int, capacity: int) -> Array:
    """`Tree.proven` of trees whose roots have this record [B, A + 1, 4]."""
    root = unproven(record, seats)
    return jnp.full((capacity, *root.shape), UNPROVEN).at[0].set(root)


@partial(jax.jit, static_argnums=0)  # traced once for roots and leaves
def leaf_record(game: Game, states: State, evaluation: Evaluation) -> Array:
    """The records of newly evaluated positions [B, A + 1, 4]."""
    seat = jax.vmap(game.mover)(states)
    value = jnp.take_along_axis(evaluation.values, seat[:, None], axis=1)[:, 0]
    certain = jax.vmap(game.certain)(states) if game.chance else jnp.zeros_like(seat)
    return trees.record(trees.log_priors(evaluation.logits, jax.vmap(game.legal)(states)), value, seat, certain)


def unusable(evaluation: Evaluation) -> Array:
    """bool[B]: whether the evaluator returned NaN, an infinity or a value outside the range of scores."""
    bounded = jnp.abs(evaluation.values) <= _LARGEST_VALUE  # false for NaN
    return ~(jnp.isfinite(evaluation.logits).all(axis=-1) & bounded.all(axis=-1))


def check(search: Search, batch: int) -> None:
    """Raise SearchError if a search of `batch` positions needs more memory than the limit of any device."""
    limit, lanes = memory.device_limit(), devices.per_device(batch)
    if _is_small(search, lanes, limit.bytes):
        return
    sentence = memory.shortage(wanted := needs(search, lanes), limit)
    if sentence is not None:
        fits = limit.bytes * lanes // max(sum(need.bytes for need in wanted), 1) * devices.count()
        smaller = 1 << max(fits.bit_length() - 1, 0)  # batches are padded to powers of two
        raise SearchError(f"{sentence} A batch of {smaller:,} would fit." if batch > 1 and fits else sentence)
    if search.capacity > MOST_NODES:
        raise SearchError(f"simulations={search.simulations:,}: a tree can have at most {MOST_NODES:,} nodes.")


def _is_small(search: Search, batch: int, limit: int) -> bool:
    """Whether a search clearly fits, by a bound that needs no tracing, which would delay the first move.

    The bound assumes that a state is at most `_STATE_BOUND` times as large as its record.
    """
    node = (1 + _STATE_BOUND) * 16 * (search.game.num_actions + 1) * (1 + search.outcomes * search.game.chance)
    nodes = batch * search.capacity * (node + _SCHEDULE_BYTES)
    paths = batch * search.leaves * _PATH_BYTES * search.depth
    others = sum(need.bytes for need in needs_of(search.evaluate, batch, search.leaves))
    return search.capacity <= MOST_NODES and nodes + paths + others < limit


def needs(search: Search, batch: int, *, simulations: int | None = None) -> list[Need]:
    """The memory of a search of `batch` positions, by setting.

    With another number of simulations, if given, and as many more nodes to reuse.
    """
    simulations = search.simulations if simulations is None else simulations
    reused = search.reuse_nodes * simulations // search.simulations
    fixed, node = _lane_bytes(Layout.of(search))
    schedule = _SCHEDULE_BYTES if search.rule.plans_root else 0
    path = _PATH_BYTES * search.depth
    where = "for the tree of one position" if batch == 1 else f"for the trees of {batch:,} positions"
    return [
        Need(
            "simulations",
            simulations,
            batch * simulations * (node + schedule),
            where,
            step=search.leaves,
            most=MOST_NODES,
        ),
        Need("reuse_nodes", reused, batch * max(reused, 1) * node, "to reuse nodes"),
        Need("batch", batch, batch * fixed, "for the roots"),
        Need("leaves", search.leaves, batch * search.leaves * path, "for the paths to the leaves"),
        *needs_of(search.evaluate, batch, search.leaves),
    ]


@lru_cache(maxsize=64)
def _lane_bytes(layout: Layout) -> tuple[int, int]:
    """Bytes of one tree without its nodes, and of each node."""
    game = layout.game
    states = jax.eval_shape(lambda: jax.vmap(game.init)(jax.random.split(jax.random.key(0), 1)))
    evaluation = Evaluation(_floats(1, game.num_actions), _floats(1, game.num_players))
    one, two = (
        memory.nbytes(jax.eval_shape(partial(new_tree, layout, capacity=capacity), states, evaluation))
        for capacity in (1, 2)
    )
    return 2 * one - two, two - one


def _floats(*shape: int) -> Any:
    return jax.ShapeDtypeStruct(shape, jnp.float32)
