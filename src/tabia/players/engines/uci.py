"""Engines that speak the Universal Chess Interface: chess, its variants, animal shogi, breakthrough."""

from __future__ import annotations

import re
from collections.abc import Mapping

from tabia.games.protocols.uci import Limits, UciGame, parse_bestmove, position_text
from tabia.games.session import Session
from tabia.players.engines.engine import Engine, RulesDiffer
from tabia.players.engines.process import Command, EngineFault

_START = 20.0  # seconds to answer the first command, if the time for a reply is longer
_NO_MOVE = ("(none)", "0000")
_SPIN = re.compile(r" type spin (?=.*\bmin (-?[0-9]{1,18})\b)(?=.*\bmax (-?[0-9]{1,18})\b)")


class UciEngine(Engine):
    """A UCI engine."""

    notation: UciGame

    def __init__(
        self, command: Command, notation: UciGame, *, limits: Limits, options: Mapping[str, str], variant: str
    ) -> None:
        self._limits, self._options, self._variant = limits, options, variant
        self._moves: list[str] = []
        super().__init__(command, notation)

    def introduce(self) -> str:
        self.process.send("uci")
        lines = self._read_until("uciok", extra=min(0.0, _START - self.command.timeout), first=True)
        known = {_option_name(line): line for line in lines if line.startswith("option name ")}
        for name, value in self._wanted(known).items():
            self.process.send(f"setoption name {name} value {value}")
        self._ready()
        names = [line.removeprefix("id name ").strip() for line in lines if line.startswith("id name ")]
        return names[0] if names else self.command.program

    def new_game(self) -> None:
        self._moves = []
        self.process.send("ucinewgame")
        self._ready()

    def play_move(self, seat: int, move: str) -> None:
        self._moves.append(move)

    def ask(self, seat: int) -> str | None:
        self.process.send(position_text(self._moves))
        self.process.send(str(self._limits))
        deadline = self.process.deadline((self._limits.movetime or 0) / 1000)
        move = None
        while move is None:
            move = parse_bestmove(self.process.line(deadline))
        if move in _NO_MOVE:
            raise RulesDiffer(f"{self.identity} has no legal move where the game has")
        self._moves.append(move)
        return move

    def explain_illegal(self, move: str, session: Session) -> str:
        """In animal shogi Fairy-Stockfish may leave a chick on the last rank without promoting it."""
        actions = self.notation.legal_actions(session.state, session.legal)
        if f"{move}+" not in {self.notation.text(action, session.state) for action in actions}:
            return ""
        return f"{self.identity} played {move} without promoting, which the game does not allow"

    def _wanted(self, known: Mapping[str, str]) -> dict[str, str]:
        """The options to set; EngineFault if the engine does not have one of them."""
        wanted = dict(self._options)
        if "UCI_Variant" in known:
            if self._variant not in known["UCI_Variant"].split():
                raise EngineFault(f"{self.command.program} does not play the variant {self._variant!r}")
            wanted["UCI_Variant"] = self._variant
        elif self._variant != "chess":
            raise EngineFault(f"{self.command.program} plays only chess; it has no option UCI_Variant")
        missing = [name for name in wanted if name not in known]
        if missing:
            raise EngineFault(f"{self.command.program} has no option {missing[0]!r}")
        for name, value in wanted.items():
            self._check_range(known[name], name, value)
        return wanted

    def _check_range(self, line: str, name: str, value: str) -> None:
        """Refuse a number that the engine would ignore; EngineFault gives its range."""
        found = _SPIN.search(line)
        if found is None:
            return
        low, high = map(int, found.groups())
        if not low <= int(value) <= high:
            raise EngineFault(f"{self.command.program} takes {name!r} from {low} to {high}, not {value}")

    def _ready(self) -> None:
        self.process.send("isready")
        self._read_until("readyok")

    def _read_until(self, word: str, *, extra: float = 0.0, first: bool = False) -> list[str]:
        """The lines before a word."""
        deadline, lines = self.process.deadline(extra), list[str]()
        hint = f"; does `{' '.join(self.command.words)}` speak UCI?" if first else ""
        try:
            while (line := self.process.line(deadline)).strip() != word:
                if first and line.startswith("?"):
                    raise EngineFault(f"{self.command.program} answered 'uci' with {line!r:.80}")
                lines.append(line)
        except EngineFault as fault:
            raise type(fault)(f"{fault}{hint}") from None
        return lines


def _option_name(line: str) -> str:
    return line.removeprefix("option name ").partition(" type ")[0].strip()
