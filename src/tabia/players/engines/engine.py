"""The interface of engines, and the game that an engine is following."""

from __future__ import annotations

import abc
from collections.abc import Callable

import numpy as np

from tabia.games.errors import IllegalMove
from tabia.games.protocols.notation import Notation
from tabia.games.session import Session
from tabia.players.engines.process import Command, EngineFault, EngineProcess
from tabia.players.player import Line, Reply


class RulesDiffer(Exception):
    """An engine and a game disagree about a rule; the text says which, in one line."""


class Engine(abc.ABC):
    """One process that plays one game at a time.

    It follows a game move by move. A game that does not continue the one before is sent from its start.
    """

    def __init__(self, command: Command, notation: Notation) -> None:
        self.command = command
        self.notation = notation
        self.process = EngineProcess(command)
        self._session = Session.start(notation.game)
        self.fresh = True  # whether it has answered nothing yet
        try:
            self.identity = self.introduce()
            self.new_game()
        except BaseException:
            self.process.kill()
            raise

    @abc.abstractmethod
    def introduce(self) -> str:
        """Greet the engine and set its options; returns its name and version."""

    @abc.abstractmethod
    def new_game(self) -> None:
        """Go to the start of a game."""

    @abc.abstractmethod
    def play_move(self, seat: int, move: str) -> None:
        """Tell the engine a move that was played."""

    @abc.abstractmethod
    def ask(self, seat: int) -> str | None:
        """The engine's move for a seat, in the current position; None if it resigns. The engine then knows it."""

    @property
    def actions(self) -> tuple[int, ...]:
        """The actions of the game that the engine follows."""
        return self._session.actions

    def continues(self, line: Line) -> bool:
        """Whether a game continues the one that the engine follows."""
        return line.actions[: len(self.actions)] == self.actions

    def reply(self, line: Line) -> Reply:
        """The engine's reply in a position; EngineFault or RulesDiffer if it fails."""
        self.follow(line)
        session = self._session
        move = self.ask(session.mover)
        if move is None:
            return Reply(None, "resigned", f"{self.identity} resigned")
        try:
            action = self.notation.action(move, session.state, session.legal)
        except IllegalMove:
            difference = self.explain_illegal(move, session)
            if difference:
                raise RulesDiffer(difference) from None
            raise EngineFault(f"{self.identity} played {move!r:.80}, which is not legal") from None
        self._session = session.play(action)
        self.fresh = False
        return Reply(action)

    def follow(self, line: Line) -> None:
        """Tell the engine all moves of a game that it does not know."""
        if not self.continues(line):
            self._session = Session.start(self.notation.game)
            self.new_game()
        for action in line.actions[len(self.actions) :]:
            session = self._session
            self.play_move(session.mover, self.notation.text(action, session.state))
            self._session = session.play(action)

    def explain_illegal(self, move: str, session: Session) -> str:
        """The rule by which an illegal move is legal for the engine; empty if there is none."""
        return ""

    def difference(self, line: Line) -> str:
        """How the engine's rules differ in a finished game; empty if they agree."""
        return ""

    def report(self) -> str:
        """The position and what was said last."""
        session = self._session
        legal = " ".join(self.notation.text(action, session.state) for action in np.flatnonzero(session.legal).tolist())
        said = "\n".join(self.process.transcript)
        return f"{session.draw()}\nLegal moves: {legal}\nMoves: {session.text}\nTranscript:\n{said}"


Factory = Callable[[], Engine]
