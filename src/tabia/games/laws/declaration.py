"""Laws about the game alone: what it declares, and the shapes of its answers."""

from __future__ import annotations

import copy
import dataclasses
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games import registry
from tabia.games.errors import GameError
from tabia.games.game import Game, State, result_types
from tabia.games.laws.law import DoesNotApply, Law, first_line


def is_a_constant(game: Game) -> str | None:
    """A game is a constant: frozen, hashable, and equal to itself built again."""
    if _lets_attributes_be_set(game):
        return "Its attributes can be set; expected a frozen dataclass: @dataclass(frozen=True)."
    again = dataclasses.replace(game) if dataclasses.is_dataclass(game) else copy.copy(game)
    if again != game or hash(again) != hash(game):
        return f"{game.id} built again is not equal to itself, or has another hash; expected a frozen dataclass."
    return None


def is_made_by_its_id(game: Game) -> str | None:
    """The id of a registered game makes an equal game."""
    try:
        made = registry.make(game.id)
    except GameError as error:
        if _is_registered(game.name):
            return f"{game.name!r} is registered, but {game.id!r} does not make a game: {first_line(error)}"
        raise DoesNotApply(f"{game.id!r} is not a registered game.") from None
    return None if made == game else f"{game.id!r} makes another game: expected {game!r}, got {made!r}."


def declares_possible_numbers(game: Game) -> str | None:
    """Seats, actions, moves, planes and version are at least 1, and 0 lies within the score range."""
    for name in ("num_players", "num_actions", "max_moves", "version"):
        number = getattr(game, name)
        if not isinstance(number, int) or number < 1:
            return f"{name} is {number!r}; expected a whole number of at least 1."
    shape, (low, high) = game.observation_shape, game.score_range
    if len(shape) != 3 or not all(isinstance(side, int) and side >= 1 for side in shape):
        return f"observation_shape is {shape}; expected three whole numbers of at least 1: height, width, planes."
    if not (math.isfinite(low) and math.isfinite(high) and low < high and low <= 0 <= high):
        return f"score_range is {(low, high)}; expected finite low < high with 0 between them."
    return None


def keeps_shapes(game: Game) -> str | None:
    """A state keeps its structure, shapes and types from `init` through every `step`, none of them weak."""
    first = _start(game)
    for name, state in (("init", first), ("step", _stepped(game, first))):
        shape, first_shape = str(jax.tree.structure(state)), str(jax.tree.structure(first))
        if shape != first_shape:
            return f"{name} gives {shape}; init gave {first_shape}."
        for (path, before), leaf in zip(jax.tree.leaves_with_path(first), jax.tree.leaves(state), strict=True):
            place = f"state{jax.tree_util.keystr(path)}, given by {name},"
            if _kind(leaf) != _kind(before):
                return f"{place} is {_kind(leaf)}; init gave {_kind(before)}."
            if leaf.weak_type:
                return f"{place} has a weak type; name its type, as in jnp.int32(0)."
    return None


def answers_in_shape(game: Game) -> str | None:
    """Answers have their shapes: legal bool[A], mover int32, over bool, scores float32[P], observe float32[H, W, C]."""
    for name, kind in result_types(game).items():
        answer = _kind(jax.eval_shape(getattr(game, name), _start(game)))
        if answer != kind:
            return f"{name} gives {answer}; expected {kind}."
    words = jax.eval_shape(game.position, _start(game))
    return (
        None if words.ndim == 1 and words.dtype == jnp.uint32 else f"position gives {_kind(words)}; expected uint32[K]."
    )


def symmetries_are_permutations(game: Game) -> str | None:
    """Symmetries are permutations of all cells and of all actions, the identity first."""
    height, width, _ = game.observation_shape
    for number, symmetry in enumerate(game.symmetries):
        for name, order, size in (
            ("cells", symmetry.cells, height * width),
            ("actions", symmetry.actions, game.num_actions),
        ):
            if not np.array_equal(np.sort(order), np.arange(size)):
                return f"symmetries[{number}].{name} is not a permutation of 0 to {size - 1}: {np.asarray(order)}"
            if number == 0 and not np.array_equal(order, np.arange(size)):
                return f"symmetries[0].{name} is not the identity: {np.asarray(order)}"
    return None if game.symmetries else "There are no symmetries; expected at least the identity."


LAWS: tuple[Law, ...] = (
    is_a_constant,
    is_made_by_its_id,
    declares_possible_numbers,
    keeps_shapes,
    answers_in_shape,
    symmetries_are_permutations,
)


def _lets_attributes_be_set(game: Any) -> bool:
    try:
        game.set_by_the_laws = True
    except (AttributeError, TypeError):
        return False
    del game.set_by_the_laws
    return True


def _is_registered(name: str) -> bool:
    try:
        registry.make(name)
    except GameError:
        return False
    return True


def _start(game: Game) -> State:
    return jax.eval_shape(game.init, jax.random.key(0))


def _stepped(game: Game, state: State) -> State:
    return jax.eval_shape(game.step, state, jnp.int32(0), jax.random.key(0))


def _kind(leaf: Any) -> str:
    return f"{leaf.dtype}{list(leaf.shape)}"
