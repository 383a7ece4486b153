"""Whole games as text: from `4453` or `d3 c5 f6` to positions and back."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games.errors import GameError, IllegalMove
from tabia.games.game import Game, State
from tabia.games.registry import is_of_library, is_own


def replay(game: Game, text: str, *, seed: int = 0) -> list[State]:
    """Every position of the game that `text` records, the start first.

    Moves may be parted by spaces or commas; where they are not, each is the longest legal name that fits.
    """
    return [state for state, _ in walk(game, text, seed=seed)]


def actions(game: Game, text: str, *, seed: int = 0) -> list[int]:
    """The actions `text` names, checked one by one."""
    return [action for _, action in walk(game, text, seed=seed) if action is not None]


def names(game: Game, played: Sequence[int], *, seed: int = 0) -> str:
    """The inverse of `actions`: the game's moves, parted by spaces."""
    written = []
    drawn = keys(seed)
    state = game.init(next(drawn))
    for action in played:
        written.append(game.move_name(action, state))
        state = _step(game)(state, jnp.int32(action), next(drawn))
    return " ".join(written)


def walk(game: Game, text: str, *, seed: int = 0) -> Iterator[tuple[State, int | None]]:
    """Each position with the action that led to it (None for the start)."""
    drawn = keys(seed)
    state = game.init(next(drawn))
    yield state, None
    played = 0
    for word in text.replace(",", " ").split():
        rest = word
        while rest:
            played += 1
            action, rest = next_move(game, rest, state, played)
            state = _step(game)(state, jnp.int32(action), next(drawn))
            yield state, action


def next_move(game: Game, word: str, state: State, number: int, legal: np.ndarray | None = None) -> tuple[int, str]:
    """The first move of `word`, number `number` of its game, and what is left of it; `legal` [A] saves asking again."""
    open_to = np.flatnonzero(np.asarray(game.legal(state) if legal is None else legal)).tolist()
    lowered = word.lower()
    fitting = [(len(name), action) for action, name in _named(game, open_to, state) if lowered.startswith(name.lower())]
    if fitting:
        length, action = max(fitting, key=lambda found: found[0])
        return action, word[length:]
    try:
        return game.parse_move(word, jax.tree.map(jnp.asarray, state)), ""
    except IllegalMove as error:
        raise GameError(f"Move {number}: {error}") from None


def legal_names(game: Game, legal: np.ndarray, state: State) -> dict[int, str]:
    """The names of the legal actions [A] of a position, by action."""
    return dict(_named(game, np.flatnonzero(legal).tolist(), state))


def _named(game: Game, actions: list[int], state: State) -> Iterator[tuple[int, str]]:
    return ((action, game.move_name(action, state)) for action in actions)


def row(game: Game, states: State, index: int) -> State:
    """One state of a batch in the host's memory, for naming moves.

    Rules known to this package read NumPy arrays, which costs a fiftieth; rules from a file get the JAX arrays they
    were written for.
    """
    known = is_own(game.id) or is_of_library(game.id)
    return jax.tree.map((lambda leaf: leaf[index]) if known else (lambda leaf: jnp.asarray(leaf[index])), states)


@functools.lru_cache(maxsize=64)
def _step(game: Game) -> Callable[..., State]:
    """Compiled, because rules with loops are slow one operation at a time."""
    return jax.jit(game.step)


def keys(seed: int) -> Iterator[jax.Array]:
    """The keys of a game's start and of each of its moves."""
    key = jax.random.key(seed)
    while True:
        key, used = jax.random.split(key)
        yield used
