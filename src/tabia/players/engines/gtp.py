"""Engines that speak the Go Text Protocol: Go, Othello and Hex."""

from __future__ import annotations

import re

from tabia.core.text import quote
from tabia.games.protocols.gtp import COLORS, RESIGN, GtpGame, Response, parse_response
from tabia.games.protocols.gtp import Command as GtpCommand
from tabia.games.protocols.notation import ProtocolError, base_state
from tabia.players.engines.engine import Engine, RulesDiffer
from tabia.players.engines.process import Command, EngineFault
from tabia.players.player import Line

_SCORE = re.compile(r"(?P<color>[BW])\+(?P<points>[0-9.]+).*|(?P<draw>0|draw|jigo)\s*", re.IGNORECASE | re.ASCII)
_START = 20.0  # seconds to answer the first command, if the time for a reply is longer


class GtpEngine(Engine):
    """A GTP engine."""

    notation: GtpGame

    def __init__(self, command: Command, notation: GtpGame, *, seconds: float | None = None) -> None:
        self._seconds = seconds
        self._known: set[str] = set()
        super().__init__(command, notation)

    def introduce(self) -> str:
        version = self._ask_first("protocol_version")
        if version != "2":
            raise EngineFault(f"{self.command.program} speaks version {version!r:.20} of GTP; expected 2")
        self._known = set(self._ask("list_commands").split())
        if "set_game" in self._known:
            self._ask("set_game", self.notation.title)
        self._ask("boardsize", str(self.notation.size))
        name, version = self._ask("name"), self._ask("version")
        return f"{name or self.command.program} {version}".rstrip()

    def new_game(self) -> None:
        self._ask("clear_board")
        if self.notation.komi is not None:
            self._ask("komi", f"{self.notation.komi:g}")
        if self._seconds is not None:
            self._ask("time_settings", "0", f"{max(1, round(self._seconds))}", "1")

    def play_move(self, seat: int, move: str) -> None:
        response = self._send("play", COLORS[seat], move)
        # In Othello a pass is forced and changes nothing; some engines do not take the word.
        if not response.ok and not (move == "pass" and self.notation.title == "Othello"):
            raise RulesDiffer(f"{self.identity} refused {COLORS[seat]} {move}: {quote(response.text)}")

    def ask(self, seat: int) -> str | None:
        answer = self._ask("genmove", COLORS[seat], extra=self._seconds or 0.0)
        return None if answer.lower() == RESIGN else answer

    def difference(self, line: Line) -> str:
        """Go's differences: repetition, the move limit, and the score of the final position."""
        if self.notation.title != "Go":
            return ""
        return _repetition(self.notation, line) or self._other_score(line)

    def _other_score(self, line: Line) -> str:
        if "final_score" not in self._known:
            return ""
        self.follow(line)
        text = self._ask("final_score")
        found = _SCORE.fullmatch(text.strip())
        if found is None:
            return f"{self.identity} gave the score {quote(text)}"
        winner = None if found["draw"] else "bw".index(found["color"].lower())
        scores = [float(score) for score in self.notation.game.scores(line.state)]
        if winner is not None and scores[winner] > scores[1 - winner]:
            return ""
        return f"{self.identity} scores the final position {text.strip()}, the game {scores[0]:+g} for black"

    def _ask(self, name: str, *arguments: str, extra: float = 0.0) -> str:
        """The text of a successful response."""
        response = self._send(name, *arguments, extra=extra)
        if not response.ok:
            line = GtpCommand(name, arguments)
            raise EngineFault(f"{self.command.program} answered {str(line)!r} with {quote(f'? {response.text}')}")
        return response.text

    def _ask_first(self, name: str) -> str:
        """As `_ask`, with less time and a hint about the protocol."""
        try:
            return self._ask(name, extra=min(0.0, _START - self.command.timeout))
        except EngineFault as fault:
            raise EngineFault(f"{fault}; does `{' '.join(self.command.words)}` speak GTP?") from None

    def _send(self, name: str, *arguments: str, extra: float = 0.0) -> Response:
        self.process.send(str(GtpCommand(name, arguments)))
        deadline = self.process.deadline(extra)
        lines: list[str] = []
        while True:
            line = self.process.line(deadline)
            if not line and lines:
                break
            if line:
                lines.append(line)
                if len(lines) == 1 and line[0] not in "=?":
                    break
        try:
            return parse_response(lines)
        except ProtocolError as error:
            raise EngineFault(f"{self.command.program}: {error}") from None


def _repetition(notation: GtpGame, line: Line) -> str:
    """Why pgx ended a game of Go, if engines would have played on."""
    state = base_state(notation.game, line.state)
    if bool(state._x.is_psk):
        return "a position was repeated, which loses here and is no end for the engine"
    if int(state._x.consecutive_pass_count) < 2:
        return "the game ended at its move limit"
    return ""
