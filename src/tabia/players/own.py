"""Your own player, from a file: `center.py:Center`, with options `center.py:Center:depth=2`.

A class with `choose(self, position)` is called for one position at a time and needs no JAX; see `position.Position`. A
class with `choose(self, states, key, ply)` is called for whole batches, as in `player.Player`. Options are the
arguments of `__init__`; an argument called `game` receives the game. Errors are reported with the file, line, method
and position.
"""

from __future__ import annotations

import inspect
import operator
import random
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import numpy as np
from jax import Array

from tabia.games.adapters import source
from tabia.games.adapters.source import Source
from tabia.games.errors import GameError, refusal_in
from tabia.games.game import Game, State
from tabia.players.player import Choice, Player
from tabia.players.position import Position
from tabia.players.spec import MODIFIERS, Options, PlayerError

_EXAMPLE = "def choose(self, position): return position.legal_moves[0]"


def make(game: Game, options: Options) -> Player:
    """The player of a class in a Python file; PlayerError says what is wrong with it."""
    path, _, name = options.spec.name.rpartition(":")
    try:
        found = source.load(path, name)
    except GameError as error:
        raise PlayerError(str(error)) from None
    own = {key: text for key, text in options.spec.options.items() if key not in MODIFIERS}
    arguments = source.declared_parameters(found.rules)
    clash = sorted(set(arguments) & set(MODIFIERS))
    if clash:
        raise PlayerError(
            f"{found.place}: the argument {clash[0]!r} has the name of an option of every player; rename it."
        )
    try:
        values = source.read_parameters(found.rules, own, supplied=("game",), also=MODIFIERS)
    except source.ParameterError as error:
        raise PlayerError(f"{found.place}: {error}") from None
    options.known += own
    arguments_of_choose = _count_arguments(found)
    inner = _new(found, values | ({"game": game} if "game" in arguments else {}))
    spec = ":".join(filter(None, (found.id, source.parameters_text(options.spec.options))))
    return (OwnPlayer if arguments_of_choose == 1 else OwnBatchPlayer)(game, spec, found, inner)


def _count_arguments(found: Source) -> int:
    """The number of arguments of `choose`: 1 for one position, 2 or 3 for a batch."""
    choose = getattr(found.rules, "choose", None)
    if choose is None:
        raise PlayerError(f"{found.place}: a player needs a method `{_EXAMPLE}`.")
    count = len(inspect.signature(choose).parameters) - 1
    if count not in {1, 2, 3}:
        raise PlayerError(
            f"{found.place}: choose takes {count} arguments besides self; expected choose(self, position), or "
            "choose(self, states, key, ply) for batches."
        )
    return count


def _new(found: Source, values: dict[str, Any]) -> Any:
    try:
        return found.rules(**values)
    except Exception as error:  # a user's class may raise anything
        raise _raised(found, "__init__", error) from None


def _raised(found: Source, method: str, error: Exception, where: str = "") -> PlayerError:
    line = source.line_of(error, found.file)
    error = refusal_in(error) or error  # the error of a plain Python game without JAX's traceback
    at = f", line {line}" if line else ""
    return PlayerError(
        f"{found.path}{at}, {found.rules.__name__}.{method} raised {type(error).__name__}: {error}{where}"
    )


@dataclass(frozen=True, eq=False)
class OwnPlayer:
    """A plain Python class that chooses one move at a time."""

    game: Game
    spec: str
    found: Source
    inner: Any

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        states, over = jax.device_get((states, _over(self.game, states)))
        plies = None if ply is None else np.asarray(ply)
        # One generator per row, so that a game does not depend on the others in the batch.
        seeds = np.asarray(jax.random.bits(key, over.shape)).tolist()
        actions = np.zeros(over.shape, np.int32)
        for row in np.flatnonzero(~over):
            state = jax.tree.map(lambda leaf, row=row: leaf[row], states)
            rng = random.Random(seeds[row])
            actions[row] = self._choose(Position(self.game, state, rng, None if plies is None else int(plies[row])))
        return Choice(jax.numpy.asarray(actions))

    def _choose(self, position: Position) -> int:
        try:
            answer = self.inner.choose(position)
        except Exception as error:  # a user's class may raise anything
            raise _raised(self.found, "choose", error, f", in this position:\n{position}") from None
        if isinstance(answer, str):
            named = {position.name(action).lower(): action for action in position.legal_moves}
            action = named.get(answer.strip().lower(), -1)
        else:
            action = _whole(answer)
        if action not in position.legal_moves:
            raise _illegal(self.found, answer, position)
        return action


@dataclass(frozen=True, eq=False)
class OwnBatchPlayer:
    """A Python class that chooses moves for whole batches, as `Player` does."""

    game: Game
    spec: str
    found: Source
    inner: Any

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        given = (states, key, ply)[: _count_arguments(self.found)]
        try:
            answer = self.inner.choose(*given)
        except Exception as error:  # a user's class may raise anything
            raise _raised(self.found, "choose", error) from None
        choice = answer if isinstance(answer, Choice) else Choice(answer)
        self._check(choice.actions, states)
        return choice._replace(actions=jax.numpy.asarray(choice.actions, jax.numpy.int32))

    def _check(self, actions: Any, states: State) -> None:
        legal = np.asarray(_legal(self.game, states))
        wanted, found = (len(legal),), np.shape(actions)
        kind = np.asarray(actions).dtype if found else None
        if found != wanted or kind is None or not np.issubdtype(kind, np.integer):
            came = f"{kind}{list(found)}" if found else repr(actions)
            raise PlayerError(
                f"{_choose_place(self.found)} returned {came}; expected a Choice, or int32{[*wanted]}, one action for "
                "each position."
            )
        chosen = np.asarray(actions)
        inside = (chosen >= 0) & (chosen < legal.shape[1])
        right = inside & legal[np.arange(len(legal)), np.where(inside, chosen, 0)]
        wrong = np.flatnonzero(legal.any(axis=1) & ~right)
        if wrong.size:
            state = jax.tree.map(lambda leaf: leaf[wrong[0]], jax.device_get(states))
            raise _illegal(self.found, int(chosen[wrong[0]]), Position(self.game, state, random.Random(0)))


@partial(jax.jit, static_argnums=0)
def _over(game: Game, states: State) -> Array:
    return jax.vmap(game.over)(states)


@partial(jax.jit, static_argnums=0)
def _legal(game: Game, states: State) -> Array:
    return jax.vmap(game.legal)(states)


def _whole(answer: Any) -> int:
    try:
        return operator.index(answer)
    except TypeError:
        return -1


def _choose_place(found: Source) -> str:
    """The place of `choose` in the file."""
    code = getattr(found.rules.choose, "__code__", None)  # type: ignore[attr-defined]
    line = f", line {code.co_firstlineno}" if code is not None and code.co_filename == found.file else ""
    return f"{found.path}{line}, {found.rules.__name__}.choose"


def _illegal(found: Source, answer: Any, position: Position) -> PlayerError:
    legal = ", ".join(f"{action} ({position.name(action)})" for action in position.legal_moves)
    is_move = isinstance(answer, str) or (_whole(answer) >= 0)
    what = (
        "which is not legal here" if is_move else f"a {type(answer).__name__}; expected an action or the name of a move"
    )
    return PlayerError(
        f"{_choose_place(found)} returned {answer!r}, {what}:\n{position}\nLegal actions (and their names): {legal}"
    )
