"""A game in the terminal: the board in colors, moves and commands line by line, nothing ever lost."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass
from pathlib import Path

from rich.text import Text

from tabia.cli import game_text, printing
from tabia.cli.interrupts import on_interrupt
from tabia.cli.printing import escape
from tabia.cli.sitting import Sitting
from tabia.core.trust import names_code
from tabia.evaluation import records
from tabia.evaluation.records import RecordError, RecordFile
from tabia.games import Game, State
from tabia.games.drawing import SEAT_COLORS, SEAT_MARKS
from tabia.games.errors import IllegalMove, did_you_mean
from tabia.players import Player
from tabia.players import make as make_player
from tabia.players.analysis import analyze_position
from tabia.players.modifiers import Modified

_HELP = {
    "MOVE": "play one of the legal moves",
    "?, help": "this help, with the legal moves",
    "undo": "take back your last move and the answers to it",
    "hint": "ask a player what it would do",
    "replay": "show the game from its start",
    "save FILE": "write the game to a file; go on with `tabia play --load FILE`",
    "quit": "leave; the game is kept",
}
_COMMANDS = ("help", "undo", "hint", "replay", "save", "quit")


class _Left(Exception):
    """Someone has left the table."""


@dataclass
class Terminal:
    """Shows a sitting and listens to the people at it."""

    sitting: Sitting
    hints: Player | None = None  # who gives them
    saved: bool = False  # whether the file has the game as it stands

    @property
    def game(self) -> Game:
        return self.sitting.game

    def play(self) -> None:
        """Play until the game is over or someone leaves."""
        _print("\n".join(game_text.seats(self.sitting)))
        if self.sitting.people:
            _print("")
            self._show()
            _print("\n".join(game_text.goals(self.sitting)))
        else:
            self._replay()
            if self.sitting.begun.finished:
                self._tell_end()
                return
        try:
            with on_interrupt(lambda _: self._continued_by()):
                while self._go_on():
                    pass
        except (_Left, EOFError, KeyboardInterrupt):
            _print(f"\n{self._kept()}")

    def _go_on(self) -> bool:
        """One move, or one command; False once the game is over and no person is there to talk to."""
        if self.sitting.over:
            self._tell_end()
            return self.sitting.people and self._after_end()
        player = self.sitting.seats[self.sitting.mover]
        if player is None:
            self._ask()
        else:
            with printing.console().status(f"{escape(player.spec)} is thinking"):
                action = self.sitting.choice(player)
            self._move(action)
        return True

    def _ask(self) -> None:
        seat = game_text.seat_name(self.game, self.sitting.mover)
        text = _input(f"{seat}, your move> ")
        if not self._command(text):
            try:
                self._move(self.game.parse_move(text, self.sitting.state))
            except IllegalMove:
                near = did_you_mean(text, _COMMANDS) if len(text) > 3 else "Type ? for help."
                _print(f"{escape(repr(text))} is not legal here. Legal moves: {self._legal()}. {near}")

    def _after_end(self) -> bool:
        """People can still look at a finished game, save it, or take moves back."""
        text = _input("Type undo, replay, save FILE or quit> ")
        if not self._command(text):
            _print(f"{escape(repr(text))} can no longer be played.")
        return True

    def _command(self, text: str) -> bool:
        """Whether the text was a command, which then has been done."""
        word, _, rest = text.partition(" ")
        match word.lower():
            case "":
                pass
            case "?" | "help":
                _print(f"Legal moves: {self._legal()}")
                printing.console().print(printing.pairs(_HELP))
            case "undo":
                self._undo()
            case "hint":
                self._hint()
            case "replay":
                self._replay()
            case "save":
                self._save(rest.strip())
            case "quit" | "exit":
                raise _Left
            case _:
                return False
        return True

    def _undo(self) -> None:
        if self.sitting.undo():
            self._keep()
            self._show()
        else:
            _print("There is no move of yours to take back.")

    def _hint(self) -> None:
        if self.sitting.over:
            _print("The game is over.")
            return
        if self.hints is None:
            opponents = [player for player in self.sitting.seats if player is not None]
            self.hints = opponents[0] if opponents else make_player("mcts:simulations=400", self.game)
        # A hint is what the player thinks best: modifiers such as temperature are left out.
        adviser = self.hints.player if isinstance(self.hints, Modified) else self.hints
        found = analyze_position(adviser, self.sitting.state, self.sitting.key(), len(self.sitting.played))
        value = (found.values or {}).get(found.move or "")
        worth = "" if value is None else f" (worth {value:+.2f} to you)"
        expects = f" and expects {escape(' '.join(found.line[:8]))}" if found.line else ""
        _print(f"{escape(self.hints.spec)} suggests [bold green]{escape(found.move or '')}[/]{worth}{expects}.")

    def _replay(self) -> None:
        _draw(self.game, self.sitting.states[0])
        for number, action in enumerate(self.sitting.played, start=1):
            _print(f"\n{number}. {self._named(number - 1, action)}")
            _draw(self.game, self.sitting.states[number])

    def _save(self, where: str) -> None:
        if not where:
            _print("Where to? save FILE")
            return
        try:
            records.save(Path(where).expanduser(), RecordFile(records=[self.sitting.record()]))
            _print(f"Saved in {escape(where)}.")
        except RecordError as error:
            _print(escape(str(error)))

    def _move(self, action: int) -> None:
        told = self._named(len(self.sitting.played), action)
        self.sitting.step(action)
        self._keep()
        _print(told)
        # Between two moves of a person the board would only scroll by.
        if self.sitting.over or not self.sitting.people or self.sitting.seats[self.sitting.mover] is None:
            _print("")
            self._show()

    def _legal(self) -> str:
        return escape(" ".join(self.sitting.legal()))

    def _named(self, ply: int, action: int) -> str:
        state = self.sitting.states[ply]
        seat, move = int(self.game.mover(state)), f"[bold]{escape(self.game.move_name(action, state))}[/]"
        who = "You play" if self.sitting.only_person == seat else f"{game_text.seat_name(self.game, seat)} plays"
        return f"{who} {move}"

    def _show(self) -> None:
        _draw(self.game, self.sitting.state)
        left = game_text.moves_left(self.sitting)
        if left is not None:
            _print(left)

    def _tell_end(self) -> None:
        _print("\n".join(game_text.ending(self.sitting)))

    def _keep(self) -> bool:
        """Keep the game as it stands; a disk that refuses must not stop the play."""
        path = autosave_path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            records.save(path, RecordFile(records=[self.sitting.record()]))
            self.saved = True
        except (OSError, RecordError):
            self.saved = False
        return self.saved

    def _continued_by(self) -> str:
        """How to continue a game that was interrupted; it was saved after its last move."""
        if self.sitting.over or not self.saved:
            return ""
        return f"The game is saved. Continue with: {self._again()}"

    def _kept(self) -> str:
        if not self.sitting.played:
            return "Goodbye."
        moves = escape(" ".join(self.sitting.record().moves))
        if self.sitting.over:
            return f"Goodbye. The moves were: {moves}"
        if self._keep():
            return f"The game is saved. Continue with: {escape(self._again())}"
        return f"The game could not be kept in a file. Its moves so far: {moves}"

    def _again(self) -> str:
        """The command that goes on with the game; Python files must be named, or they are not run."""
        game = [self.game.id] if names_code(self.game.id) else []
        players = sorted({spec for spec in self.sitting.begun.players if names_code(spec)})
        against = [word for spec in players for word in ("--against", spec)]
        return shlex.join(["tabia", "play", *game, "--load", str(autosave_path()), *against])


def autosave_path() -> Path:
    """Where the game being played is kept after every move."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "tabia" / "last-game.txt"


def _print(text: str) -> None:
    printing.console().print(text)


def _input(prompt: str) -> str:
    printing.console().print(prompt, end="")
    return input().strip()


def _draw(game: Game, state: State) -> None:
    """The position, each seat's marks in its color."""
    text = Text(game.draw(state))
    for seat in range(min(game.num_players, len(SEAT_MARKS))):
        mark = re.escape(SEAT_MARKS[seat])
        text.highlight_regex(rf"(?<![^\s\[]){mark}(?![^\s\]])", f"bold {SEAT_COLORS[seat]}")
    text.highlight_regex(r"\[[^\]]*\]", "underline")  # a winning line
    printing.console().print(text)
