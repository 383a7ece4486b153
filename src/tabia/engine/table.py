"""The position that a program has set up, by moves in the notation of its protocol."""

from __future__ import annotations

from collections.abc import Sequence

from tabia.games.boards.board import on_host
from tabia.games.game import State
from tabia.games.protocols.notation import Notation
from tabia.games.session import Session


class Table:
    """A game in progress; a command that fails leaves it unchanged."""

    def __init__(self, notation: Notation, *, seed: int = 0) -> None:
        self.notation, self.seed = notation, seed
        self.session = Session.start(notation.game, seed=seed)
        self._setup: tuple[str | None, tuple[str, ...]] = (None, ())  # as `set_up` was asked for it last

    def clear(self) -> None:
        """Begin a new game."""
        self.session = Session.start(self.notation.game, seed=self.seed)
        self._setup = (None, ())

    def play(self, text: str) -> None:
        """Play a move of the seat whose turn it is; IllegalMove lists the legal ones."""
        self.play_action(self.notation.action(text, on_host(self.session), self.session.legal))

    def play_action(self, action: int) -> None:
        """Play a legal action."""
        self.session = self.session.play(action)

    def text(self, action: int) -> str:
        """An action of the position as the protocol writes it."""
        return self.notation.text(action, on_host(self.session))

    def set_up(self, fen: str | None, moves: Sequence[str], start: State | None) -> None:
        """Set up the position after moves from the start, or from `start`, the position of a FEN.

        Programs repeat all moves before each search, so only those that are new are played.
        """
        before, known = self._setup
        is_longer = before == fen and tuple(moves[: len(known)]) == known
        session = self.session
        if not is_longer:
            known = ()
            session = (
                Session.start(session.game, seed=self.seed)
                if start is None
                else Session.from_state(session.game, start, seed=self.seed)
            )
        for text in moves[len(known) :]:
            session = session.play(self.notation.action(text, on_host(session), session.legal))
        self.session, self._setup = session, (fen, tuple(moves))
