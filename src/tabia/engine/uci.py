"""Tabia as a UCI engine: a program such as cutechess sets up positions, asks for moves and shows analyses.

The search looks between two of its pieces whether a command has come: `stop` ends it, `isready` is answered, and other
commands wait until a bounded search is over; they end an endless one.
"""

from __future__ import annotations

from collections.abc import Callable

import tabia
from tabia.core.errors import TabiaError
from tabia.core.text import printable, quote
from tabia.engine import compiling, uci_search
from tabia.engine.console import Console
from tabia.engine.refusal import check_player
from tabia.engine.table import Table
from tabia.engine.thinking import ENDLESS, Thinking
from tabia.games.protocols.fen import state_from_fen
from tabia.games.protocols.notation import ProtocolError
from tabia.games.protocols.uci import Limits, UciGame, parse_go, parse_position
from tabia.players import Player

MOST_SIMULATIONS, MOST_LINES = 1_000_000, 256
_NO_MOVE = "bestmove (none)"  # as Stockfish writes it; 0000 would be a null move, which programs may play
_DURING_SEARCH = ("stop", "isready", "ponderhit", "debug")


class UciEngine:
    """Answers the commands of one program until it quits.

    `make` makes the player with another number of simulations, for the option Simulations.
    """

    def __init__(
        self,
        player: Player,
        notation: UciGame,
        console: Console,
        *,
        make: Callable[[int], Player] | None = None,
        seed: int = 0,
    ) -> None:
        check_player(player)
        self.player, self.notation, self.console, self._make = player, notation, console, make
        self.table = Table(notation, seed=seed)
        self.lines = 1
        self._is_ready = False
        self._commands: dict[str, Callable[[str], None]] = {
            "uci": self._uci,
            "debug": _nothing,
            "isready": self._isready,
            "setoption": self._setoption,
            "register": _nothing,
            "ucinewgame": self._ucinewgame,
            "position": self._position,
            "go": self._go,
            "stop": _nothing,
            "ponderhit": _nothing,
            "d": self._draw,
        }

    def run(self) -> None:
        """Answer commands until `quit` or the end of the input."""
        try:
            while (line := self.console.read()) is not None:
                words = self._known(line)
                if words and words[0] == "quit":
                    return
                self._answer(words)
        except BrokenPipeError:  # the program has gone
            return

    def _known(self, line: str) -> list[str]:
        """The words of a line from the first command on; the protocol asks to skip unknown words before it."""
        words = line.split()
        known = [place for place, word in enumerate(words) if word in self._commands or word == "quit"]
        if words and not known:
            self._say(f"unknown command {quote(line.strip()[:100])}")
        return words[known[0] :] if known else []

    def _answer(self, words: list[str]) -> None:
        if not words:
            return
        try:
            self._commands[words[0]](" ".join(words))
        except TabiaError as error:
            self._say(str(error))

    def _say(self, text: str) -> None:
        """Tell a person what is wrong, in one line."""
        self.console.write(f"info string {printable(' '.join(text.split()))}")

    # Setting up.

    def _uci(self, line: str) -> None:
        write, variant = self.console.write, self.notation.variant
        write(f"id name Tabia {tabia.__version__} {self.player.spec}")
        write("id author the Tabia contributors")
        simulations = uci_search.simulations(self.player)
        if simulations is not None and self._make is not None:
            write(f"option name Simulations type spin default {simulations} min 1 max {MOST_SIMULATIONS}")
        write(f"option name MultiPV type spin default 1 min 1 max {MOST_LINES}")
        write(f"option name UCI_Variant type combo default {variant} var {variant}")
        write("uciok")

    def _isready(self, line: str) -> None:
        """Compile all that searches need, because the clock does not run until `readyok`, which a program waits for."""
        try:
            self._prepare()
        except TabiaError as error:
            self._say(str(error))
        self.console.write("readyok")

    def _prepare(self) -> None:
        if not self._is_ready:
            compiling.searches(self.player, self.notation, ENDLESS)
            compiling.positions(self.notation.game)
            self._is_ready = True

    def _setoption(self, line: str) -> None:
        name, _, value = line.removeprefix("setoption").strip().removeprefix("name").strip().partition(" value ")
        match name.strip().lower():
            case "multipv":
                self.lines = _whole(value, MOST_LINES)
            case "simulations" if self._make is not None:
                self.player = self._make(_whole(value, MOST_SIMULATIONS))
                self._is_ready = False
            case "uci_variant" if value.strip() != self.notation.variant:
                raise ProtocolError(f"this engine plays {self.notation.variant}, not {quote(value.strip()[:40])}")
            case "uci_variant":
                return
            case _:
                raise ProtocolError(f"no such option: {quote(name.strip()[:40])}")

    def _ucinewgame(self, line: str) -> None:
        self.table.clear()

    def _position(self, line: str) -> None:
        fen, moves = parse_position(line)
        start = None if fen is None else state_from_fen(self.notation.game, fen)
        self.table.set_up(fen, moves, start)

    def _draw(self, line: str) -> None:
        self.console.write(self.table.session.draw())

    # Searching.

    def _go(self, line: str) -> None:
        """Search, and answer even if that fails, because a program waits for `bestmove`."""
        answer = _NO_MOVE
        try:
            if self.table.session.over:
                raise ProtocolError("the game is over")
            answer = self._search(parse_go(line))
        except TabiaError as error:
            self._say(str(error))
        self.console.write(answer)

    def _search(self, limits: Limits) -> str:
        """The answer `bestmove`."""
        session = self.table.session
        thinking = Thinking(self.player, session, uci_search.bounds(limits, session.mover))
        shown = uci_search.Shown(self.notation, self.console.write, self.lines)
        is_stopped = False
        while thinking.step() and not is_stopped:
            shown.update(thinking)
            is_stopped = self._is_stopped(limits)
        thought = shown.last(thinking)
        if limits.infinite and not is_stopped:  # it answers only after `stop`, even if its tree is full
            self._is_stopped(limits, wait=True)
        return uci_search.bestmove(self.notation, thought)

    def _is_stopped(self, limits: Limits, *, wait: bool = False) -> bool:
        """Whether a command ends the search; `stop` and `isready` are read here, other commands stay."""
        while wait or self.console.is_waiting:
            line = self.console.peek()
            words = None if line is None else self._known(line)
            if words is None or (words and words[0] not in _DURING_SEARCH):
                return limits.infinite or (words is not None and words[0] == "quit")
            self.console.read()
            if words[:1] == ["stop"]:
                return True
            if words[:1] == ["isready"]:
                self.console.write("readyok")
        return False


def _nothing(line: str) -> None:
    """A command that needs no answer."""


def _whole(text: str, most: int) -> int:
    cleaned = text.strip()
    if not (cleaned.isascii() and cleaned.isdecimal() and len(cleaned) < 10 and 1 <= int(cleaned) <= most):
        raise ProtocolError(f"expected a whole number from 1 to {most}, not {quote(cleaned[:40])}")
    return int(cleaned)
