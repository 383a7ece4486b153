"""How a protocol writes the moves of one game."""

from __future__ import annotations

import abc

import jax
import jax.numpy as jnp
import numpy as np

from tabia.core.errors import TabiaError
from tabia.games.errors import IllegalMove
from tabia.games.game import Game, State
from tabia.games.history import History


class ProtocolError(TabiaError):
    """A message that does not follow its protocol, or a game that the protocol cannot express."""


class Notation(abc.ABC):
    """The text of a game's moves in a protocol.

    Law: in every position, `action(text(a, state), state) == a` for every legal action a.
    """

    game: Game

    @abc.abstractmethod
    def text(self, action: int, state: State) -> str:
        """A legal action as the protocol writes it; `state` is one position, before the move."""

    def action(self, text: str, state: State, legal: np.ndarray | None = None) -> int:
        """The legal action of a text, in upper or lower case; `legal` bool[A] saves computing it again.

        IllegalMove shows the position and its legal moves.
        """
        wanted = text.strip().lower()
        for action in self.legal_actions(state, legal):
            if self.text(action, state).lower() == wanted:
                return action
        raise IllegalMove(self.game, text, jax.tree.map(jnp.asarray, state))

    def legal_actions(self, state: State, legal: np.ndarray | None = None) -> list[int]:
        """The legal actions of a position, in ascending order."""
        mask = np.asarray(self.game.legal(jax.tree.map(jnp.asarray, state)) if legal is None else legal)
        return np.flatnonzero(mask).tolist()


def base(game: Game) -> Game:
    """The game itself, without a history of observations."""
    return base(game.game) if isinstance(game, History) else game


def base_state(game: Game, state: State) -> State:
    """The state of `base(game)`."""
    return base_state(game.game, state.now) if isinstance(game, History) else state
