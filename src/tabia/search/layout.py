"""Trees of one node, as every search begins, and how much memory their growth will take.

Whatever a search keeps per node is decided in `new_tree` alone; `needs` measures that function's result by its shapes,
so the two cannot disagree. Axis letters: N nodes, B batch, A actions, P seats.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from tabia.games.game import Game, State
from tabia.search import memory
from tabia.search import tree as trees
from tabia.search.errors import SearchError
from tabia.search.evaluators import Evaluation, needs_of
from tabia.search.gumbel import Gumbel
from tabia.search.leaves import fingerprint
from tabia.search.memory import Need
from tabia.search.tree import NO_CHILD, NO_FAULT, Tree

if TYPE_CHECKING:
    from tabia.search.search import Search

MOST_NODES = 2**24
"""Node numbers and visit counts are stored as float32, which is exact up to here."""

_PATH_BYTES = 16  # of one move of a path: node, action, seat, mark
_SCHEDULE_BYTES = 4  # of one simulation, for Gumbel's rule
_STATE_BOUND = 64


class Layout(NamedTuple):
    """What the trees of a search keep."""

    game: Game
    squares: bool
    totals: bool
    prints: bool
    outcomes: int
    size: int  # nodes in use at the start

    @classmethod
    def of(cls, search: Search) -> Layout:
        return cls(
            game=search.game,
            squares=search.rule.squares,
            totals=search.transpositions or search.keep > 0,
            prints=search.transpositions or search.cut_loops,
            outcomes=search.outcomes,
            size=max(search.keep, 1),
        )


def new_tree(layout: Layout, states: State, evaluation: Evaluation, capacity: int) -> Tree:
    """Trees with room for `capacity` nodes, whose roots are these positions [B, ...]."""
    game = layout.game
    batch, actions = evaluation.logits.shape
    return Tree(
        records=trees.room(leaf_record(game, states, evaluation), capacity),
        states=jax.tree.map(lambda leaf: trees.room(leaf, capacity), states),
        size=jnp.int32(layout.size),
        root_values=evaluation.values,
        sums=jnp.zeros((batch, actions, game.num_players)),
        faults=jnp.where(unusable(evaluation), 0, NO_FAULT),
        squares=jnp.zeros((capacity, batch, actions)) if layout.squares else None,
        totals=trees.room(evaluation.values, capacity) if layout.totals else None,
        prints=trees.room(jax.vmap(partial(fingerprint, game))(states), capacity, 0) if layout.prints else None,
        links=jnp.full((capacity, batch, actions, layout.outcomes), float(NO_CHILD)) if game.chance else None,
    )


@partial(jax.jit, static_argnums=0)  # traced once for the root and the leaves
def leaf_record(game: Game, states: State, evaluation: Evaluation) -> Array:
    """The record of freshly evaluated positions [B, A + 1, 4]."""
    seat = jax.vmap(game.mover)(states)
    value = jnp.take_along_axis(evaluation.values, seat[:, None], axis=1)[:, 0]
    return trees.record(trees.log_priors(evaluation.logits, jax.vmap(game.legal)(states)), value, seat)


def unusable(evaluation: Evaluation) -> Array:
    """bool[B]: where the evaluator returned NaN, an infinity, or a value that no score can be."""
    bounded = jnp.abs(evaluation.values) <= _LARGEST_VALUE  # false for NaN
    return ~(jnp.isfinite(evaluation.logits).all(axis=-1) & bounded.all(axis=-1))


_LARGEST_VALUE = 1.01  # scores are scaled to [-1, 1]; half precision may round a little beyond


def check(search: Search, batch: int) -> None:
    """Refuse a search of so many positions at once that would need more memory than the limit."""
    limit = memory.device_limit()
    if _is_small(search, batch, limit.bytes):
        return
    sentence = memory.shortage(wanted := needs(search, batch), limit)
    if sentence is not None:
        fits = limit.bytes * batch // max(sum(need.bytes for need in wanted), 1)
        smaller = 1 << max(fits.bit_length() - 1, 0)  # batches are padded to powers of two
        raise SearchError(f"{sentence} A batch of {smaller:,} would fit." if batch > 1 and fits else sentence)
    if search.capacity > MOST_NODES:
        raise SearchError(f"simulations={search.simulations:,}: a tree has at most {MOST_NODES:,} nodes.")


def _is_small(search: Search, batch: int, limit: int) -> bool:
    """Whether a search fits by far, by a bound that needs no tracing: a first move waits for that.

    A node's state is taken to be no larger than `_STATE_BOUND` times its record.
    """
    node = (1 + _STATE_BOUND) * 16 * (search.game.num_actions + 1) * (1 + search.outcomes * search.game.chance)
    nodes = batch * search.capacity * (node + _SCHEDULE_BYTES)
    paths = batch * search.leaves * _PATH_BYTES * search.depth
    others = sum(need.bytes for need in needs_of(search.evaluate, batch, search.leaves))
    return search.capacity <= MOST_NODES and nodes + paths + others < limit


def needs(search: Search, batch: int, *, simulations: int | None = None) -> list[Need]:
    """The memory that a search of so many positions at once takes, by setting; with another number of simulations."""
    simulations = search.simulations if simulations is None else simulations
    fixed, node = _lane_bytes(Layout.of(search))
    schedule = _SCHEDULE_BYTES if isinstance(search.rule, Gumbel) else 0
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
        Need("keep", search.keep, batch * (search.capacity - search.simulations) * node, "for the nodes kept"),
        Need("batch", batch, batch * fixed, "for the roots"),
        Need("leaves", search.leaves, batch * search.leaves * path, "for the paths to its leaves"),
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
