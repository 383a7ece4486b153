"""What a search refuses before anything runs, and what it reports afterward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.search import layout
from tabia.search.errors import SearchError
from tabia.search.gumbel import Gumbel
from tabia.search.memory import count_text
from tabia.search.tree import NO_FAULT, Tree

if TYPE_CHECKING:
    from tabia.search.search import Search


def settings(search: Search) -> None:
    """Refuse a search that makes no sense for any position."""
    for name, least in (("simulations", 1), ("leaves", 1), ("outcomes", 1), ("keep", 0)):
        if getattr(search, name) < least:
            raise SearchError(f"{name}={getattr(search, name)}: at least {least} is needed.")
    if search.max_depth is not None and search.max_depth < 1:
        raise SearchError(f"max_depth={search.max_depth}: at least 1 is needed.")
    if search.simulations % search.leaves:
        raise SearchError(
            f"{search.simulations} simulations cannot be done {search.leaves} leaves at a time; use a multiple."
        )
    if search.leaves > 1 and search.rule.squares:
        raise SearchError(
            f"{type(search.rule).__name__} measures variance, which virtual visits would spoil; use leaves=1."
        )
    if search.keep and isinstance(search.rule, Gumbel):
        raise SearchError(
            "Gumbel's sequential halving starts from nothing; a kept tree needs another rule, such as Puct."
        )
    if search.game.chance and (search.transpositions or search.cut_loops or search.keep):
        raise SearchError(
            f"{search.game.id} has chance; transpositions, loop cutting and kept trees need a game without."
        )
    layout.check(search, batch=1)


MOST_POSITIONS = 10**11
"""Positions one move may look at: hours on a CPU, minutes on a large GPU."""


def work(what: str, positions: int) -> None:
    """Refuse a move that would look at so many positions that nobody can wait for it."""
    if positions > MOST_POSITIONS:
        raise SearchError(
            f"{what} is {count_text(positions)} positions per move; at most {count_text(MOST_POSITIONS)} are allowed."
        )


def roots(search: Search, parameters: Any, states: State) -> None:
    """Refuse positions that are not this game's or already over, and evaluators of the wrong shape."""
    positions(search.game, states)
    evaluator(search, parameters, states)


def positions(game: Game, states: State) -> None:
    """Refuse positions that are not this game's or already over."""
    expected = jax.eval_shape(game.init, jax.random.key(0))
    came, wanted = str(jax.tree.structure(states)), str(jax.tree.structure(expected))
    if came != wanted:
        raise SearchError(f"These are not positions of {game.id}: another kind of state came.")
    pairs = list(zip(jax.tree.leaves(states), jax.tree.leaves(expected), strict=True))
    if all(np.shape(leaf) == like.shape for leaf, like in pairs):
        raise SearchError(
            f"This is one position of {game.id}, but a batch of positions is needed. Add a batch axis: "
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
        raise SearchError(f"A batch of one or more positions of {game.id} is needed; these states have {shown} rows.")
    over = np.flatnonzero(np.asarray(jax.vmap(game.over)(states)))
    if over.size:
        raise SearchError(f"Position {over[0]} of the batch is already over; there is nothing to search.")


def evaluator(search: Search, parameters: Any, states: State) -> None:
    """Refuse an evaluator whose answer has the wrong shape."""
    batch = jax.tree.leaves(states)[0].shape[0]
    answer = jax.eval_shape(search.evaluate, parameters, states, jax.random.key(0))
    wanted = {"logits": (batch, search.game.num_actions), "values": (batch, search.game.num_players)}
    for name, shape in wanted.items():
        if getattr(answer, name).shape != shape:
            raise SearchError(
                f"The evaluator's {name} have shape {list(getattr(answer, name).shape)}; "
                f"{search.game.id} needs {list(shape)}."
            )


def answers(game: Game, tree: Tree) -> None:
    """Report an evaluator that returned NaN, an infinity or an impossible value, with the first such position."""
    if (np.asarray(tree.faults) != NO_FAULT).any():
        raise unusable_answer(game, tree.faults.shape[0], first_fault(tree.faults, tree.states))


class Fault(NamedTuple):
    """Where an evaluator first returned something that cannot be used."""

    searches: Array  # int32: how many of the batch met such a position; 0: none, and the rest means nothing
    lane: Array  # int32: the first of them
    node: Array  # int32: the node of its tree; 0 is the root
    state: State  # the position there


@jax.jit
def first_fault(faults: Array, states: State) -> Fault:
    """The first fault of a batch, from `Tree.faults` [B] and states [N, B, ...]."""
    bad = faults != NO_FAULT
    lane = jnp.argmax(bad).astype(jnp.int32)
    node = jnp.maximum(faults[lane], 0)
    return Fault(bad.sum(dtype=jnp.int32), lane, node, jax.tree.map(lambda leaf: leaf[node, lane], states))


def unusable_answer(game: Game, batch: int, fault: Fault) -> SearchError:
    """The error for a fault, which draws its position."""
    asked = "this position" if batch == 1 else f"position {int(fault.lane) + 1} of {batch}"
    many = "" if batch == 1 else f"; {int(fault.searches)} of {batch} searches met such a position"
    where = f"for {asked}" if not int(fault.node) else f"for a position met while searching {asked}"
    return SearchError(
        f"The evaluator returned NaN, an infinity or a value outside [-1, 1] {where}{many}:\n{game.draw(fault.state)}\n"
        "A network does that when its weights are damaged or too large; use another checkpoint."
    )
