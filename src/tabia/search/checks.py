"""What a search refuses before anything runs, and what it reports afterwards."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jax
import numpy as np
from jax import Array

from tabia.games.game import Game, State
from tabia.search.errors import SearchError
from tabia.search.gumbel import Gumbel

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


def answers(game: Game, states: State, faults: Array) -> None:
    """Report an evaluator that answered with NaN or infinity."""
    bad = np.flatnonzero(np.asarray(faults))
    if bad.size:
        first = jax.tree.map(lambda leaf: leaf[bad[0]], states)
        raise SearchError(
            f"The evaluator answered with NaN or infinity while searching {bad.size} of {faults.shape[0]} positions, "
            f"first position {bad[0]}:\n{game.draw(first)}"
        )
