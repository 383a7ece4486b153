"""A game in the terminal: a colored board, moves and commands line by line, saved after every move."""

from __future__ import annotations

import os
import re
import shlex
from dataclasses import dataclass, replace
from pathlib import Path

import jax
import jax.numpy as jnp
from rich.text import Text

from tabia.cli import game_text, printing
from tabia.cli.interrupts import on_interrupt
from tabia.cli.printing import escape
from tabia.core.errors import TabiaError, did_you_mean
from tabia.core.trust import names_code
from tabia.evaluation import records
from tabia.evaluation.records import Record, RecordError, RecordFile
from tabia.games import Game, IllegalMove, Seats, Session, make
from tabia.games.drawing import SEAT_COLORS, SEAT_MARKS
from tabia.players import Player, ladder
from tabia.players import make as make_player
from tabia.players.analysis import analyze_position, follow_session
from tabia.players.modifiers import Modified
from tabia.players.player import FollowsGames

_HELP = {
    "MOVE": "play a legal move",
    "?, help": "show this help and the legal moves",
    "undo": "take back your last move and the replies to it",
    "hint": "ask a player for a move",
    "replay": "show the game from the start",
    "save FILE": "save the game; continue it with `tabia play --load FILE`",
    "quit": "leave; the game is saved",
}
_COMMANDS = ("help", "undo", "hint", "replay", "save", "quit")


class _Quit(Exception):
    """The person leaves the game."""


@dataclass
class Terminal:
    """Shows a game, asks its people and players for moves, and saves it after each one."""

    record: Record  # the game as it was loaded or started
    session: Session
    players: list[Player | None]  # by seat; None: a person
    hints: Player | None = None
    saved: bool = False  # whether the file holds the current position

    @classmethod
    def open(cls, record: Record, game: Game | None = None, *, hint: str | None = None) -> Terminal:
        """Continue the game of a record; `game` saves making it again."""
        game = make(record.game) if game is None else game
        if len(record.players) != game.num_players:
            raise TabiaError(f"{game.id} has {game.num_players} seats, but the record has {len(record.players)}.")
        people = Seats(record.players).people
        without = record.view_only
        players = [
            None if without or seat in people else make_player(spec, game) for seat, spec in enumerate(record.players)
        ]
        return cls(record, records.replay(game, record), players, make_player(hint, game) if hint else None)

    @property
    def game(self) -> Game:
        """The rules."""
        return self.session.game

    @property
    def seats(self) -> Seats:
        """Who has each seat."""
        return Seats(self.record.players)

    def play(self) -> None:
        """Play until the game is over or the person leaves."""
        _print("\n".join(game_text.introduction(self.game, self.seats)))
        if self.seats.people:
            _print("")
            self._show()
            _print("\n".join(game_text.goals(self.session, self.seats)))
        else:
            self._replay()
            if self.record.finished:
                self._print_result()
                return
        try:
            with on_interrupt(lambda _: self._continue_note()):
                while self._turn():
                    pass
        except (_Quit, EOFError, KeyboardInterrupt):
            _print(f"\n{self._goodbye()}")

    def _turn(self) -> bool:
        """One move or one command; False once the game is over and no person is left to ask."""
        if self.session.over:
            self._print_result()
            return bool(self.seats.people) and self._after_end()
        player = self.players[self.session.mover]
        if player is None:
            self._ask()
        else:
            with printing.console().status(f"{escape(player.spec)} is thinking"):
                action = _choose(player, self.session)
            self._move(action)
        return True

    def _ask(self) -> None:
        seat = game_text.seat_name(self.game, self.session.mover)
        text = _input(f"{seat}, your move> ")
        if not self._command(text):
            try:
                self._move(self.game.parse_move(text, self.session.state))
            except IllegalMove:
                near = did_you_mean(text, _COMMANDS) if len(text) > 3 else "Type ? for help."
                _print(f"{escape(repr(text))} is not legal here. Legal moves: {self._legal()}. {near}")

    def _after_end(self) -> bool:
        """Let people look at a finished game, save it or take moves back."""
        text = _input("Type undo, replay, save FILE or quit> ")
        if not self._command(text):
            _print(f"{escape(repr(text))} cannot be played: the game is over.")
        return True

    def _command(self, text: str) -> bool:
        """Run a command; False if the text is not one."""
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
                raise _Quit
            case _:
                return False
        return True

    def _undo(self) -> None:
        earlier = self.session.undo_to_turn(self.seats.people)
        if earlier is None:
            _print("You have no move to take back.")
            return
        self.session = earlier
        self._autosave()
        self._show()

    def _hint(self) -> None:
        if self.session.over:
            _print("The game is over.")
            return
        if self.hints is None:
            best = ladder.opponent(self.game)
            playing = [player for player in self.players if player is not None and player.spec == best]
            self.hints = playing[0] if playing else make_player(best, self.game)
        # A hint is the player's best move, so modifiers such as temperature are left out.
        adviser = self.hints.player if isinstance(self.hints, Modified) else self.hints
        found = analyze_position(adviser, self.session.state, self.session.key, self.session.ply)
        value = (found.values or {}).get(found.move or "")
        worth = "" if value is None else f" (worth {value:+.2f} to you)"
        expects = f" and expects {escape(' '.join(found.line[:8]))}" if found.line else ""
        _print(f"{escape(self.hints.spec)} suggests [bold green]{escape(found.move or '')}[/]{worth}{expects}.")

    def _replay(self) -> None:
        _draw(self.session.at(0))
        for ply in range(self.session.ply):
            _print(f"\n{ply + 1}. {self._named(ply, self.session.actions[ply])}")
            _draw(self.session.at(ply + 1))

    def _save(self, file: str) -> None:
        if not file:
            _print("Give a file name: save FILE")
            return
        try:
            records.save(Path(file).expanduser(), RecordFile(records=[self._record()]))
            _print(f"Saved in {escape(file)}.")
        except RecordError as error:
            _print(escape(str(error)))

    def _move(self, action: int) -> None:
        line = self._named(self.session.ply, action)
        self.session = self.session.play(action)
        self._autosave()
        _print(line)
        # Between two players' moves the board would only scroll past a person.
        if self.session.over or not self.seats.people or self.players[self.session.mover] is None:
            _print("")
            self._show()

    def _legal(self) -> str:
        return escape(" ".join(self.session.legal_moves))

    def _named(self, ply: int, action: int) -> str:
        """A move with the seat that makes it."""
        before = self.session.at(ply)
        move = f"[bold]{escape(self.game.move_name(action, before.state))}[/]"
        is_you = self.seats.only_person == before.mover
        return f"{'You play' if is_you else f'{game_text.seat_name(self.game, before.mover)} plays'} {move}"

    def _show(self) -> None:
        _draw(self.session)
        left = game_text.moves_left(self.session)
        if left is not None:
            _print(left)

    def _print_result(self) -> None:
        """The result by the rules, or of a loaded game that ended by resignation."""
        if self.session.over:
            scores, reason = self.session.scores.tolist(), self.session.reason
        else:
            scores, reason = list(self.record.scores), "a player resigned"
        _print("\n".join(game_text.ending(self.game, scores, reason, self.seats.only_person)))

    # Saving.

    def _record(self) -> Record:
        scores, end = tuple(self.session.scores.tolist()), "over" if self.session.over else "unfinished"
        return replace(self.record, moves=self.session.moves, scores=scores, end=end)

    def _autosave(self) -> bool:
        """Save the game; a disk that refuses does not stop it."""
        path = autosave_path()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            records.save(path, RecordFile(records=[self._record()]))
            self.saved = True
        except (OSError, RecordError):
            self.saved = False
        return self.saved

    def _continue_note(self) -> str:
        """How to continue a game that is interrupted now; empty if nothing is saved."""
        if self.session.over or not self.saved:
            return ""
        return f"The game is saved. Continue with: {self._continue_command()}"

    def _goodbye(self) -> str:
        if not self.session.ply:
            return "Goodbye."
        moves = escape(self.session.text)
        if self.session.over:
            return f"Goodbye. The moves were: {moves}"
        if self._autosave():
            return f"The game is saved. Continue with: {escape(self._continue_command())}"
        return f"The game could not be saved. Its moves so far: {moves}"

    def _continue_command(self) -> str:
        """Python files appear in the command: only those that the user names are run."""
        game = [self.game.id] if names_code(self.game.id) else []
        players = sorted({spec for spec in self.record.players if names_code(spec)})
        against = [word for spec in players for word in ("--against", spec)]
        return shlex.join(["tabia", "play", *game, "--load", str(autosave_path()), *against])


def autosave_path() -> Path:
    """The file that holds the game being played."""
    home = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(home) / "tabia" / "last-game.txt"


def _choose(player: Player, session: Session) -> int:
    if isinstance(player, FollowsGames):
        return follow_session(player, session)
    states = jax.tree.map(lambda leaf: leaf[None], session.state)
    return int(player.choose(states, session.key, jnp.array([session.ply])).actions[0])


def _print(text: str) -> None:
    printing.console().print(text)


def _input(prompt: str) -> str:
    printing.console().print(prompt, end="")
    return input().strip()


def _draw(session: Session) -> None:
    """The position, each seat's marks in its color."""
    text = Text(session.draw())
    for seat in range(min(session.game.num_players, len(SEAT_MARKS))):
        mark = re.escape(SEAT_MARKS[seat])
        text.highlight_regex(rf"(?<![^\s\[]){mark}(?![^\s\]])", f"bold {SEAT_COLORS[seat]}")
    text.highlight_regex(r"\[[^\]]*\]", "underline")  # a winning line
    printing.console().print(text)
