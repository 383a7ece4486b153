"""GNU Backgammon as a player.

Tabia lists the legal turns and GNU Backgammon evaluates the position after each; the one that is worst for the
opponent is played. It evaluates at 0 plies, without noise and without a doubling cube, by its cubeless equity, in which
a gammon counts double and a backgammon three times. It answers through a socket in a private directory (its command
`external`).
"""

from __future__ import annotations

import shutil
import socket
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.core.text import quote
from tabia.games.game import Game, State
from tabia.games.protocols import backgammon
from tabia.games.protocols.notation import base, base_state
from tabia.games.session import Session
from tabia.players.engines.process import Command, EngineEnded, EngineFault, EngineProcess
from tabia.players.player import Choice, Line, Reply
from tabia.players.spec import PlayerError

_NUMBERS = 6  # of an evaluation: wins, gammons and backgammons of both sides, and the equity
_POLL = 0.01  # seconds between two looks for the socket


class Gnubg:
    """A running GNU Backgammon."""

    def __init__(self, command: Command, plies: int) -> None:
        self._command, self._plies = command, plies
        self._directory = Path(tempfile.mkdtemp(prefix="tabia-gnubg-"))
        self.process = EngineProcess(command)
        self._known: dict[tuple[int, ...], float] = {}
        try:
            self._socket = self._connect(self._directory / "socket")
            shutil.rmtree(self._directory, ignore_errors=True)  # a connection outlives the name of its socket
            self.identity = self._identity()
        except BaseException:
            self.close()
            raise

    def equity(self, board: tuple[int, ...]) -> float:
        """The expected points of the side on roll."""
        if board not in self._known:
            line = f"evaluation fibsboard {backgammon.fibs_board(board)} plies {self._plies} noise 0"
            answer = self._ask(line)
            try:
                *_, equity = numbers = [float(word) for word in answer.split()]
            except ValueError:
                numbers, equity = [], 0.0
            if len(numbers) != _NUMBERS:
                raise EngineFault(f"GNU Backgammon answered {quote(answer)}; expected {_NUMBERS} numbers")
            self._known[board] = equity
        return self._known[board]

    def best(self, board: tuple[int, ...], dice: tuple[int, ...]) -> backgammon.Turn:
        """The best turn with these dice; of equal ones the first."""
        self._known.clear()
        choices = backgammon.turns(board, dice)
        return min(choices, key=lambda turn: self._after(turn.board)) if len(choices) > 1 else choices[0]

    def close(self) -> None:
        """End the process."""
        self.process.kill()
        shutil.rmtree(self._directory, ignore_errors=True)
        if hasattr(self, "_socket"):
            self._socket.close()

    def _after(self, board: tuple[int, ...]) -> float:
        """The opponent's equity after a turn; the mover has won if all its checkers are off."""
        return self.equity(backgammon.turned(board))

    def _connect(self, path: Path) -> socket.socket:
        self.process.send(f"external {path}")
        deadline = self.process.deadline()
        found = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        while True:
            try:
                found.connect(str(path))
                break
            except OSError:
                if not self.process.running:
                    raise EngineEnded(f"{self._command.program} ended before it opened its socket") from None
                if time.monotonic() > deadline:
                    raise EngineFault(f"{self._command.program} opened no socket; is it GNU Backgammon?") from None
                time.sleep(_POLL)
        found.settimeout(self._command.timeout)
        return found

    def _identity(self) -> str:
        answer = self._ask("version", lines=4)
        versions = [line.partition(":")[2].strip() for line in answer.splitlines() if line.startswith("Software:")]
        if not versions:
            raise EngineFault(f"{self._command.program} answered {quote(answer)}; is it GNU Backgammon?")
        return f"GNU Backgammon {versions[0]}"

    def _ask(self, line: str, lines: int = 1) -> str:
        received = b""
        try:
            self._socket.sendall(f"{line}\n".encode())
            while received.count(b"\n") < lines:
                chunk = self._socket.recv(1 << 12)
                if not chunk or len(received) > 1 << 16:
                    raise EngineEnded("GNU Backgammon closed its connection")
                received += chunk
        except TimeoutError:
            raise EngineFault(f"GNU Backgammon did not answer within {self._command.timeout:g} s") from None
        except OSError as error:
            raise EngineEnded(f"the connection to GNU Backgammon failed: {error.strerror or error}") from None
        return received.decode(errors="replace").strip()


class GnubgPlayer:
    """Plays pgx's backgammon with GNU Backgammon's evaluation."""

    def __init__(self, game: Game, spec: str, command: Command, *, plies: int = 0) -> None:
        if base(game).id != "pgx:backgammon":
            raise PlayerError(f"{spec}: GNU Backgammon plays pgx:backgammon, not {game.id}.")
        self.game, self.spec = game, spec
        self._command, self._plies = command, plies
        try:
            self._gnubg = Gnubg(command, plies)
        except EngineFault as fault:
            raise PlayerError(f"{spec}: {fault.sentence}") from None
        self.identity = self._gnubg.identity

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        host = jax.device_get(states)
        rows = [jax.tree.map(lambda leaf, row=row: leaf[row], host) for row in range(len(jax.tree.leaves(host)[0]))]
        replies = self.follow([Line(state, ()) for state in rows])
        for reply in replies:
            if reply.action is None:
                raise PlayerError(f"{self.spec}: {reply.reason}.")
        return Choice(jnp.array([reply.action for reply in replies], jnp.int32))

    def follow(self, lines: Sequence[Line]) -> list[Reply]:
        """One reply per game; positions suffice, because a game's past does not matter."""
        return [self._reply(line) for line in lines]

    def difference(self, line: Line, seed: int) -> str:
        """A turn that breaks the rules of the dice, which pgx does not enforce."""
        session = Session.replay(self.game, line.actions, seed=seed)
        states = (base_state(self.game, position.state) for position in session.positions)
        return backgammon.broken_rule(states, session.actions)

    def close(self) -> None:
        """End the process."""
        self._gnubg.close()

    def _reply(self, line: Line, *, again: bool = True) -> Reply:
        state = base_state(self.game, line.state)
        try:
            turn = self._gnubg.best(*backgammon.board_of(jax.tree.map(np.asarray, state)))
            return Reply(turn.actions[0] if turn.actions else backgammon.PASS)
        except EngineFault as fault:
            lost = Reply(None, "forfeited", str(fault), self.game.draw(line.state))
            again = again and isinstance(fault, EngineEnded)
        self._gnubg.close()
        try:
            self._gnubg = Gnubg(self._command, self._plies)
        except EngineFault as fault:
            raise PlayerError(f"{self.spec} cannot be started again: {fault.sentence}") from None
        return self._reply(line, again=False) if again else lost
