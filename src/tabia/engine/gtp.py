"""Tabia as a GTP engine: a program such as GoGui or Sabaki sets up positions, asks for moves and shows analyses.

Seat 0 is black. The rules are those of the game: its board size and komi are fixed, and moves alternate. In Othello a
seat that cannot move passes; a program that leaves such passes out is understood.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import tabia
from tabia.core.errors import TabiaError
from tabia.engine import compiling, gtp_analysis, gtp_rules
from tabia.engine.clock import GtpClocks
from tabia.engine.console import Console
from tabia.engine.refusal import check_player
from tabia.engine.table import Table
from tabia.engine.thinking import ENDLESS, Bounds, Thinking, Thought
from tabia.games.protocols.gtp import COLORS, Command, GtpGame, Response, parse_color, parse_command
from tabia.games.protocols.notation import ProtocolError
from tabia.players import Player

PASS = "pass"
Handler = Callable[[tuple[str, ...]], str]


class GtpEngine:
    """Answers the commands of one program until it quits."""

    def __init__(self, player: Player, notation: GtpGame, console: Console, *, seed: int = 0) -> None:
        check_player(player)
        self.player, self.notation, self.console = player, notation, console
        self._is_ready = False
        self._is_open = False  # whether a response has begun that must still be ended
        self.table = Table(notation, seed=seed)
        self._left_out: set[int] = set()  # plies of passes that the program did not send
        self._clocks = GtpClocks()
        self._answers: dict[str, Handler] = {
            "protocol_version": lambda arguments: "2",
            "name": lambda arguments: "Tabia",
            "version": lambda arguments: f"{tabia.__version__} {player.spec}",
            "known_command": lambda arguments: str(_one(arguments, "a command") in self.commands).lower(),
            "list_commands": lambda arguments: "\n".join(self.commands),
            "boardsize": self._boardsize,
            "clear_board": self._clear_board,
            "komi": self._komi,
            "play": self._play,
            "genmove": self._genmove,
            "reg_genmove": self._reg_genmove,
            "undo": self._undo,
            "showboard": lambda arguments: "\n" + self.table.session.draw(),
            "final_score": lambda arguments: gtp_rules.final_score(notation, self.table.session),
            "time_settings": self._time_settings,
            "time_left": self._time_left,
            "list_games": lambda arguments: notation.title,
            "set_game": self._set_game,
        }
        self._answers |= {name: self._rule(ask) for name, ask in gtp_rules.ANSWERS.items()}

    @property
    def commands(self) -> list[str]:
        """All commands that it knows."""
        return sorted([*self._answers, *gtp_analysis.FORMATS, *gtp_analysis.GENMOVES, "quit"])

    def run(self) -> None:
        """Answer commands until `quit` or the end of the input."""
        try:
            while (line := self.console.read()) is not None:
                command = parse_command(line)
                if command is not None:
                    self._answer(command)
                    if command.name == "quit":
                        return
        except BrokenPipeError:  # the program has gone
            return

    def _answer(self, command: Command) -> None:
        try:
            if command.name in gtp_analysis.FORMATS:
                self._analyze(command)
                return
            if command.name in gtp_analysis.GENMOVES:
                self._genmove_analyze(command)
                return
            text, ok = self._text(command), True
        except TabiaError as error:
            text, ok = str(error), False
        if self._is_open:  # an analysis failed after its first lines: a response has only one mark
            self._end(" ".join(text.split()))
            return
        self.console.write(str(Response(text, ok, command.id)).removesuffix("\n"))

    def _begin(self, command: Command) -> None:
        """Begin a response whose lines come one by one."""
        self.console.write(f"={'' if command.id is None else command.id}")
        self._is_open = True

    def _end(self, last: str = "") -> None:
        """End it, after a last line."""
        self._is_open = False
        self.console.write(f"{last}\n" if last else "")

    def _text(self, command: Command) -> str:
        if command.name == "quit":
            return ""
        if command.name not in self._answers:
            raise ProtocolError("unknown command")
        return self._answers[command.name](command.arguments)

    # The board.

    def _rule(self, ask: gtp_rules.Ask) -> Handler:
        return lambda arguments: ask(self.table)

    def _boardsize(self, arguments: tuple[str, ...]) -> str:
        if _number(_one(arguments, "a size")) != self.notation.size:
            raise ProtocolError("unacceptable size")
        return self._clear_board(())

    def _clear_board(self, arguments: tuple[str, ...]) -> str:
        self.table.clear()
        self._left_out.clear()
        self._clocks.restart()
        self._prepare()
        return ""

    def _prepare(self) -> None:
        """Compile the player's search before its clock runs; every program sends one of the commands that call this."""
        if not self._is_ready:
            self._is_ready = True
            with suppress(TabiaError):  # `genmove` reports it
                compiling.searches(self.player, self.notation)

    def _komi(self, arguments: tuple[str, ...]) -> str:
        komi = self.notation.komi
        if komi is not None and _number(_one(arguments, "a komi")) != komi:
            raise ProtocolError(f"the komi of {self.notation.game.id} is {komi:g}")
        return ""

    def _set_game(self, arguments: tuple[str, ...]) -> str:
        if " ".join(arguments).lower() != self.notation.title.lower():
            raise ProtocolError(f"unsupported game; this engine plays {self.notation.title}")
        return self._clear_board(())

    def _play(self, arguments: tuple[str, ...]) -> str:
        if len(arguments) != 2:
            raise ProtocolError("expected a color and a vertex, such as play black D3")
        seat, vertex = parse_color(arguments[0]), arguments[1]
        before = self.table.session
        if vertex.lower() == PASS and before.ply - 1 in self._left_out and before.mover != seat:
            self._left_out.remove(before.ply - 1)  # it was played already, and is sent after all
            return ""
        try:
            self._give_turn(seat)
            self.table.play(vertex)
        except TabiaError as error:
            self._take_back(before.ply)
            reason = str(error).splitlines()[0].rstrip(":")  # without the board
            raise ProtocolError(f"illegal move: {reason}") from None
        return ""

    def _give_turn(self, seat: int) -> None:
        """Play the passes that a program leaves out where a seat has no other move."""
        session = self.table.session
        if session.over:
            raise ProtocolError("the game is over")
        if session.mover == seat:
            return
        legal = [action for action, is_legal in enumerate(session.legal) if is_legal]
        if len(legal) != 1 or self.table.text(legal[0]) != PASS:
            raise ProtocolError(f"it is {COLORS[session.mover]}'s turn")
        self._left_out.add(session.ply)
        self.table.play_action(legal[0])

    def _undo(self, arguments: tuple[str, ...]) -> str:
        ply = self.table.session.ply - 1
        if ply < 0:
            raise ProtocolError("cannot undo")
        self._take_back(ply - 1 if ply - 1 in self._left_out else ply)
        return ""

    def _take_back(self, ply: int) -> None:
        self.table.session = self.table.session.at(ply)
        self._left_out = {known for known in self._left_out if known < ply}

    # The clock.

    def _time_settings(self, arguments: tuple[str, ...]) -> str:
        main, extra, stones = _numbers(arguments, 3, "main time, byo-yomi time and byo-yomi stones")
        self._clocks.settings(main, extra, int(stones))
        self._prepare()
        return ""

    def _time_left(self, arguments: tuple[str, ...]) -> str:
        if not arguments:
            raise ProtocolError("expected a color, a time and a number of stones")
        left, stones = _numbers(arguments[1:], 2, "a time and a number of stones")
        self._clocks.set_left(parse_color(arguments[0]), left, int(stones))
        return ""

    # Moves and analyses.

    def _genmove(self, arguments: tuple[str, ...]) -> str:
        text = self._reg_genmove(arguments)
        if not self.table.session.over:
            self.table.play(text)
        return text

    def _reg_genmove(self, arguments: tuple[str, ...]) -> str:
        seat = parse_color(_one(arguments, "a color"))
        for thought in self._think(seat, Bounds(seconds=self._clocks.seconds(seat))):
            last = thought
        return PASS if self.table.session.over else self.table.text(last().action)

    def _think(self, seat: int, bounds: Bounds, *, lines: int = 1) -> Iterator[Callable[[], Thought]]:
        """What the player thinks after each piece, as a function, because a thought takes time too."""
        if self.table.session.over:
            return
        self._give_turn(seat)
        started = time.perf_counter()
        thinking = Thinking(self.player, self.table.session, bounds)
        while thinking.step():
            yield lambda: thinking.thought(lines)
        self._clocks.spend(seat, time.perf_counter() - started)
        yield lambda: thinking.thought(lines)

    def _analyze(self, command: Command) -> None:
        """Analyze until the next command comes."""
        self._stream(command, self._asked(command), ENDLESS, until_input=True)
        self.console.peek()  # a finished analysis also lasts until the next command
        self._end()

    def _genmove_analyze(self, command: Command) -> None:
        """Choose a move like genmove, and show what the player thinks of it meanwhile."""
        asked = self._asked(command)
        thought = self._stream(command, asked, Bounds(seconds=self._clocks.seconds(asked.seat)), until_input=False)
        text = self.table.text(thought.action)
        self.table.play_action(thought.action)
        self._end(f"play {text}")

    def _asked(self, command: Command) -> gtp_analysis.Asked:
        session = self.table.session
        asked = gtp_analysis.parse(command.arguments, session.mover)
        if session.over:
            raise ProtocolError("the game is over")
        return asked

    def _stream(self, command: Command, asked: gtp_analysis.Asked, bounds: Bounds, *, until_input: bool) -> Thought:
        """Write what the player thinks; the response begins after the first piece, which may fail."""
        name = gtp_analysis.GENMOVES.get(command.name, command.name)
        shown, simulations = time.perf_counter(), -1  # of the last line
        last: Callable[[], Thought] | None = None
        for last in self._think(asked.seat, bounds, lines=asked.moves):
            if not self._is_open:
                last()
                self._begin(command)
            if until_input and self.console.is_waiting:
                break
            if time.perf_counter() - shown >= asked.seconds:
                thought = last()
                shown, simulations = time.perf_counter(), thought.simulations
                self.console.write(gtp_analysis.line(name, self.notation, thought))
        assert last is not None
        thought = last()
        if thought.simulations != simulations:  # the interval did not end just now
            self.console.write(gtp_analysis.line(name, self.notation, thought))
        return thought


def _one(arguments: tuple[str, ...], what: str) -> str:
    if len(arguments) != 1:
        raise ProtocolError(f"expected {what}")
    return arguments[0]


def _number(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not abs(number) < 1e9:
        raise ProtocolError(f"expected a number, not {text[:40]}")
    return number


def _numbers(arguments: tuple[str, ...], count: int, what: str) -> list[float]:
    numbers = [_number(text) for text in arguments]
    if len(numbers) != count or min(numbers) < 0:
        raise ProtocolError(f"expected {what}")
    return numbers
