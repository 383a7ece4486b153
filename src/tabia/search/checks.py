"""What a search refuses before it runs, and what it reports afterward."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.search import layout
from tabia.search.errors import SearchError
from tabia.search.memory import count_text
from tabia.search.tree import NO_FAULT, Tree

if TYPE_CHECKING:
    from tabia.search.search import Search


def check_settings(search: Search) -> None:
    """Refuse invalid settings."""
    for name, least in (("simulations", 1), ("leaves", 1), ("outcomes", 1), ("reuse_nodes", 0)):
        if getattr(search, name) < least:
            raise SearchError(f"{name}={getattr(search, name)}: at least {least} is needed.")
    if search.max_depth is not None and search.max_depth < 1:
        raise SearchError(f"max_depth={search.max_depth}: at least 1 is needed.")
    if search.simulations % search.leaves:
        raise SearchError(f"simulations={search.simulations} must be a multiple of leaves={search.leaves}.")
    if search.leaves > 1 and search.rule.needs_squares:
        raise SearchError(
            f"{type(search.rule).__name__} measures variance, which virtual visits would distort; use leaves=1."
        )
    if search.reuse_nodes and search.rule.plans_root:
        raise SearchError(
            f"{type(search.rule).__name__} plans all visits of its root and cannot continue an earlier tree; "
            "use another rule, such as Puct."
        )
    if search.game.chance and (search.transpositions or search.cut_loops or search.reuse_nodes):
        raise SearchError(
            f"{search.game.id} has chance; transpositions, cut_loops and reuse_nodes need a game without chance."
        )
    if search.game.chance and search.proven_values:
        raise SearchError(f"{search.game.id} has chance, so no value is proven; set proven_values to false.")
    layout.check(search, batch=1)


MOST_POSITIONS = 10**11
"""The most positions a player may evaluate per move: hours on a CPU, minutes on a large GPU."""


def check_work(what: str, positions: int) -> None:
    """Refuse more than MOST_POSITIONS positions per move; `what` names the settings."""
    if positions > MOST_POSITIONS:
        raise SearchError(
            f"{what} is {count_text(positions)} positions per move; at most {count_text(MOST_POSITIONS)} are allowed."
        )


def check_roots(search: Search, parameters: Any, states: State) -> None:
    """Refuse positions of another game or already over, and evaluators with outputs of the wrong shape."""
    check_positions(search.game, states)
    check_evaluator(search, parameters, states)


def check_positions(game: Game, states: State) -> None:
    """Refuse positions of another game or already over."""
    expected = jax.eval_shape(game.init, jax.random.key(0))
    came, wanted = str(jax.tree.structure(states)), str(jax.tree.structure(expected))
    if came != wanted:
        raise SearchError(f"These are not positions of {game.id}: their states have another structure.")
    pairs = list(zip(jax.tree.leaves(states), jax.tree.leaves(expected), strict=True))
    if all(np.shape(leaf) == like.shape for leaf, like in pairs):
        raise SearchError(
            f"This is one position of {game.id}; expected a batch. Add a batch axis: "
            "jax.tree.map(lambda x: x[None], state)."
        )
    for leaf, like in pairs:
        if leaf.shape[1:] != like.shape or leaf.dtype != like.dtype:
            raise SearchError(
                f"These are not positions of {game.id}: expected a batch of {like.dtype}{list(like.shape)}, "
                f"got {leaf.dtype}{list(leaf.shape)}."
            )
    sizes = {leaf.shape[:1] for leaf in jax.tree.leaves(states)}
    if len(sizes) > 1 or sizes & {(), (0,)}:
        shown = " and ".join(sorted(str(size[0]) if size else "no" for size in sizes))
        raise SearchError(f"Expected a batch of one or more positions of {game.id}; these states have {shown} rows.")
    over = np.flatnonzero(np.asarray(jax.vmap(game.over)(states)))
    if over.size:
        raise SearchError(f"Position {over[0]} of the batch is already over; there is nothing to search.")


def check_evaluator(search: Search, parameters: Any, states: State) -> None:
    """Refuse an evaluator whose outputs have the wrong shape."""
    batch = jax.tree.leaves(states)[0].shape[0]
    output = jax.eval_shape(search.evaluate, parameters, states, jax.random.key(0))
    wanted = {"logits": (batch, search.game.num_actions), "values": (batch, search.game.num_players)}
    for name, shape in wanted.items():
        if getattr(output, name).shape != shape:
            raise SearchError(
                f"The evaluator's {name} have shape {list(getattr(output, name).shape)}; "
                f"{search.game.id} needs {list(shape)}."
            )


def check_evaluations(game: Game, tree: Tree) -> None:
    """Report the first position for which the evaluator returned unusable values."""
    if (np.asarray(tree.faults) != NO_FAULT).any():
        raise unusable_evaluation(game, tree.faults.shape[0], first_fault(tree.faults, tree.states))


class Fault(NamedTuple):
    """The first unusable evaluation of a batch."""

    searches: Array  # int32: number of searches with one; if 0, the other fields are undefined
    lane: Array  # int32: the first such search
    node: Array  # int32: the node of its tree; 0 is the root
    state: State  # the position of that node


@jax.jit
def first_fault(faults: Array, states: State) -> Fault:
    """The first fault of a batch, from `Tree.faults` [B] and states [N, B, ...]."""
    bad = faults != NO_FAULT
    lane = jnp.argmax(bad).astype(jnp.int32)
    node = jnp.maximum(faults[lane], 0)
    return Fault(bad.sum(dtype=jnp.int32), lane, node, jax.tree.map(lambda leaf: leaf[node, lane], states))


def joined_faults(faults: Sequence[Fault], parts: Sequence[State]) -> Fault:
    """The fault of a batch whose parts, of equal size, were searched separately."""
    if len(faults) == 1:
        return faults[0]
    searches = [int(fault.searches) for fault in faults]
    first = next((index for index, count in enumerate(searches) if count), 0)
    lane = faults[first].lane + first * jax.tree.leaves(parts[0])[0].shape[0]
    return faults[first]._replace(searches=jnp.int32(sum(searches)), lane=lane)


def unusable_evaluation(game: Game, batch: int, fault: Fault) -> SearchError:
    """The error for a fault, with a drawing of the position."""
    root = "this position" if batch == 1 else f"position {int(fault.lane) + 1} of {batch}"
    many = "" if batch == 1 else f"; {int(fault.searches)} of {batch} searches contain such a position"
    where = f"for {root}" if not int(fault.node) else f"for a position in the search of {root}"
    return SearchError(
        f"The evaluator returned NaN, an infinity or a value outside [-1, 1] {where}{many}:\n{game.draw(fault.state)}\n"
        "The weights of the network may be damaged or too large; use another checkpoint."
    )
