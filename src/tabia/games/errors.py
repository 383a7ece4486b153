"""What can go wrong with a game, said so that the reader knows what to do."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from tabia.core.errors import TabiaError, did_you_mean, nearest
from tabia.core.text import quote

if TYPE_CHECKING:
    from tabia.games.game import Game

__all__ = ["GameError", "IllegalMove", "TabiaError", "did_you_mean", "nearest", "refusal_in"]


class TabiaWarning(UserWarning):
    """Something a user should know that stops nothing; its text is meant for people."""


class GameError(TabiaError):
    """A game that does not exist, cannot be built, or is asked for what it does not have."""


class IllegalMove(GameError):
    """A move text that means nothing, or a move the position does not allow."""

    def __init__(self, game: Game, text: str, state: Any = None) -> None:
        self.text = text
        if state is None:
            message = f"{quote(text)} is no move of {game.id}."
        elif bool(game.over(state)):
            message = f"{quote(text)} cannot be played, the game is over:\n{game.draw(state)}"
        else:
            legal = [game.move_name(int(a), state) for a in np.flatnonzero(np.asarray(game.legal(state)))]
            message = f"{quote(text)} is not legal here:\n{game.draw(state)}\nLegal moves: {' '.join(legal)}"
        super().__init__(message)


def refusal_in(error: Exception) -> TabiaError | None:
    """The refusal behind an error: itself, or one that Python raised for compiled code and JAX wrapped in its own."""
    if isinstance(error, TabiaError):
        return error
    before, raised, sentence = str(error).partition(f"{GameError.__name__}: ")
    return GameError(sentence.strip()) if raised and "callback" in before else None
