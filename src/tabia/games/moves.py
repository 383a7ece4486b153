"""Moves as text: the names of legal moves, and the first move of a text such as `4453` or `d3c5f6`.

`tabia.games.session` reads whole games with this, one at a time; `tabia.players.reading` reads many at once.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import jax
import jax.numpy as jnp
import numpy as np

from tabia.games.errors import GameError, IllegalMove
from tabia.games.game import Game, Key, State
from tabia.games.registry import is_of_library, is_own

NUMBERED = re.compile(r"#([0-9]{1,9})", re.ASCII)
"""An action by its number, for moves without a name of one word."""


def next_move(game: Game, word: str, state: State, number: int, legal: np.ndarray | None = None) -> tuple[int, str]:
    """The first move of `word` and the rest of it; `legal` [A] saves computing it again.

    The longest legal name that fits is the move; `#` and a number name an action. GameError gives the number of the
    move in the game.
    """
    legal = np.asarray(game.legal(state) if legal is None else legal)
    lowered = word.lower()
    names = legal_names(game, legal, state).items()
    fitting = [(len(name), action) for action, name in names if lowered.startswith(name.lower())]
    if fitting:
        length, action = max(fitting, key=lambda found: found[0])
        return action, word[length:]
    if (numbered := NUMBERED.fullmatch(word)) and int(numbered[1]) in dict(names):
        return int(numbered[1]), ""
    try:
        return game.parse_move(word, jax.tree.map(jnp.asarray, state)), ""
    except IllegalMove as error:
        raise GameError(f"Move {number}: {error}") from None


def legal_names(game: Game, legal: np.ndarray, state: State) -> dict[int, str]:
    """The names of the legal actions [A] of a position, by action."""
    return {action: game.move_name(action, state) for action in np.flatnonzero(legal).tolist()}


def row(game: Game, states: State, index: int) -> State:
    """One state of a batch in the host's memory, for naming moves.

    Tabia's own games and those of libraries name moves from NumPy arrays, which is 50 times as fast as from JAX
    arrays. Games from a user's file get the JAX arrays they were written for.
    """
    known = is_own(game.id) or is_of_library(game.id)
    return jax.tree.map((lambda leaf: leaf[index]) if known else (lambda leaf: jnp.asarray(leaf[index])), states)


def keys(seed: int) -> Iterator[Key]:
    """The keys of a game's start and of each of its moves, as a session with this seed uses them."""
    key = jax.random.key(seed)
    while True:
        key, used = jax.random.split(key)
        yield used
