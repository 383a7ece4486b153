"""Errors about games and moves."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

from tabia.core.errors import TabiaError
from tabia.core.text import quote

if TYPE_CHECKING:
    from tabia.games.game import Game


class GameError(TabiaError):
    """A game that does not exist or cannot be made, or a request it cannot serve."""


class RulesError(GameError):
    """A mistake in a plain Python class, met in some position; the message names file, class, method and moves."""


class IllegalMove(GameError):
    """A text that is not a move, or a move that is not legal in the position."""

    def __init__(self, game: Game, text: str, state: Any = None) -> None:
        self.text = text
        if state is None:
            message = f"{quote(text)} is not a move of {game.id}."
        elif bool(game.over(state)):
            message = f"{quote(text)} cannot be played: the game is over.\n{game.draw(state)}"
        else:
            legal = [game.move_name(int(a), state) for a in np.flatnonzero(np.asarray(game.legal(state)))]
            message = f"{quote(text)} is not legal here:\n{game.draw(state)}\nLegal moves: {' '.join(legal)}"
        super().__init__(message)


def refusal_in(error: Exception) -> TabiaError | None:
    """The TabiaError behind an error: itself, or a RulesError from a host callback that JAX has wrapped."""
    if isinstance(error, TabiaError):
        return error
    before, raised, sentence = str(error).partition(f"{RulesError.__name__}: ")
    return RulesError(sentence.strip()) if raised and "callback" in before else None


@contextmanager
def unwrap_errors() -> Iterator[None]:
    """Raise the RulesError inside an error of a JAX host callback."""
    try:
        yield
    except Exception as error:  # a RuntimeError or a ValueError, depending on where the result is first read
        refusal = refusal_in(error)
        if refusal is None or refusal is error:
            raise
        raise refusal from None
