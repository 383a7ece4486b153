"""Errors about games and moves."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tabia.core.errors import TabiaError
from tabia.core.text import quote

if TYPE_CHECKING:
    from tabia.games.game import Game


class GameError(TabiaError):
    """A game that does not exist or cannot be made, or a request it cannot serve."""


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
    """The TabiaError behind an error: itself, or a GameError from a host callback that JAX has wrapped."""
    if isinstance(error, TabiaError):
        return error
    before, raised, sentence = str(error).partition(f"{GameError.__name__}: ")
    return GameError(sentence.strip()) if raised and "callback" in before else None
