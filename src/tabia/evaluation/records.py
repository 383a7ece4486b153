"""Records of games: one text format for matches, tournaments and games saved by hand, which reads back exactly.

    tabia games 1
    match: {"games": 2, "seed": 0}

    game: connect4
    version: 1
    seat 1: random
    seat 2: mcts:simulations=800
    round: 1
    opening: 2
    seed: 7
    moves: 4 4 5 3 6 2 7
    scores: 1 -1
    end: over

The first line names the format; `key: value` lines under it, up to a blank one, say what the file is. Then come the
games, a blank line before each; all these lines are always there and in this order. docs/evaluation.md explains each.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tabia.games import identity
from tabia.games.errors import GameError, TabiaError
from tabia.games.game import Game, State
from tabia.games.table import Table

FORMAT = "tabia games 1"
ENDS = ("over", "resigned", "unfinished")
"""How a game can stop: by its rules, by a player who gave up, or not yet."""


class RecordError(TabiaError):
    """A record that is damaged, or that the game does not allow."""


@dataclass(frozen=True)
class Record:
    """One game, whole or as far as it went."""

    game: str  # the id that `tabia.games.make` takes
    version: int  # of the game's rules
    players: tuple[str, ...]  # the spec of each seat's player
    moves: tuple[str, ...]  # as written by `written`
    scores: tuple[float, ...]  # one a seat
    opening: int = 0  # how many of the moves were drawn, not chosen
    seed: int = 0  # of the game's own chance: `tabia.games.moves.replay(game, moves, seed=seed)`
    round: int = 0  # games of one round share an opening, and are one independent trial; 0: a game on its own
    end: str = "over"

    @property
    def finished(self) -> bool:
        return self.end != "unfinished"

    @property
    def same(self) -> tuple[object, ...]:
        """Equal for games that say the same: the same players in the same seats and the same moves."""
        return (self.game, self.version, self.players, self.moves)


@dataclass
class Book:
    """A file of records: what it says about itself, and its games."""

    about: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)


def written(game: Game, action: int, state: State) -> str:
    """A move as one word: its name, or `#` and the action's number where the name is no single word."""
    name = game.move_name(action, state)
    return name if name and not name.startswith("#") and not set(name) & set(" ,\t\r\n") else f"#{action}"


def actions(game: Game, record: Record) -> list[int]:
    """The actions of a record, each checked to be legal when it was played."""
    if not identity.is_same(game, record.game) or game.version != record.version:
        raise RecordError(
            f"The record is of {record.game}, version {record.version}; {game.id}, version {game.version}, "
            "cannot replay it."
        )
    table, played = Table(game, seed=record.seed), []
    for number, word in enumerate(record.moves, start=1):
        try:
            played.append(
                int(word[1:]) if word[1:].isdigit() and word[0] == "#" else game.parse_move(word, table.state)
            )
            table.play(played[-1])
        except GameError as error:
            raise RecordError(f"Move {number}: {error}") from None
    return played


def duplicates(records: Sequence[Record]) -> list[bool]:
    """For each game whether an earlier one was the same; unfinished games are never."""
    seen: set[tuple[object, ...]] = set()
    repeated = []
    for record in records:
        repeated.append(record.finished and record.same in seen)
        if record.finished:
            seen.add(record.same)
    return repeated


# Writing.


def text(book: Book) -> str:
    """A whole file."""
    about = [FORMAT, *(f"{_word(key)}: {_line(value)}" for key, value in book.about.items())]
    return "\n\n".join(["\n".join(about), *map(record_text, book.records)]) + "\n"


def record_text(record: Record) -> str:
    """One game, without the blank line before it."""
    if record.end not in ENDS:
        raise RecordError(f"A game ends {', '.join(ENDS[:-1])} or {ENDS[-1]}, not {record.end!r}.")
    if len(record.scores) != len(record.players) or not all(map(math.isfinite, record.scores)):
        raise RecordError(f"A record needs one finite score a seat, not {record.scores}.")
    lines = [f"game: {_line(record.game)}", f"version: {record.version}"]
    lines += [f"seat {seat}: {_line(player)}" for seat, player in enumerate(record.players, start=1)]
    lines += [f"round: {record.round}", f"opening: {record.opening}", f"seed: {record.seed}"]
    lines += [f"moves: {' '.join(map(_word, record.moves))}".rstrip()]
    lines += [f"scores: {' '.join(map(_number, record.scores))}", f"end: {record.end}"]
    return "\n".join(lines)


def save(path: Path, book: Book) -> None:
    """Write a file aside, then put it in place, so that there is a whole one at any moment."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        aside.write_text(text(book), encoding="utf-8", newline="\n")
        aside.replace(path)
    except OSError as error:
        aside.unlink(missing_ok=True)
        raise RecordError(f"{path} cannot be written: {error.strerror}.") from None


def _line(value: str) -> str:
    if value != value.strip() or not value or len(value.splitlines()) != 1:
        raise RecordError(f"{value!r} cannot be recorded: one line of text is needed, without spaces around it.")
    return value


def _word(value: str) -> str:
    if value.split() != [value]:
        raise RecordError(f"{value!r} cannot be recorded: one word is needed.")
    return value


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    whole = value == int(value) and abs(value) < 2**53 and (value or math.copysign(1.0, value) > 0)
    return str(int(value)) if whole else repr(float(value))


# Reading.


def read(path: Path) -> Book:
    """Read a whole file; RecordError names the line that is damaged and what was expected there."""
    try:
        content = path.read_text(encoding="utf-8")
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise RecordError(f"{path} is not a text file, so it holds no records of games.") from None
    return parse(content, str(path))


def parse(content: str, source: str = "text") -> Book:
    """The inverse of `text`."""
    paragraphs = list(_paragraphs(content, source))
    if not paragraphs or paragraphs[0].lines[0] != FORMAT:
        found = repr(content.split("\n", 1)[0][:60])
        raise RecordError(f"{source}, line 1: {FORMAT!r} was expected, not {found}. Is it a file of records?")
    head = paragraphs[0]
    head.at = 1
    about = dict(head.pair() for _ in head.lines[1:])
    return Book(about, [_record(paragraph) for paragraph in paragraphs[1:]])


def iterate(paths: Iterable[Path]) -> Iterator[Record]:
    """The games of several files, one after the other."""
    for path in paths:
        yield from read(path).records


@dataclass
class _Paragraph:
    """Lines without a blank one between them, read from the first to the last."""

    source: str
    first: int  # the line of the file it begins at
    lines: list[str]
    at: int = 0

    def pair(self) -> tuple[str, str]:
        """The next line, taken apart."""
        key, colon, value = self._line("`key: value`").partition(": ")
        if not colon or key.split() != [key]:
            raise self.refusal("`key: value`")
        return key, value

    def value(self, key: str) -> str:
        """What the next line says, which must be about `key`."""
        start, colon, value = self._line(f"`{key}: ...`").partition(":")
        if start != key or not colon or (value and not value.startswith(" ")):
            raise self.refusal(f"`{key}: ...`")
        return value[1:]

    def whole(self, key: str) -> int:
        value = self.value(key)
        if not value.removeprefix("-").isdecimal():
            raise self.refusal(f"`{key}: ` and a whole number")
        return int(value)

    def numbers(self, key: str, count: int) -> tuple[float, ...]:
        try:
            found = tuple(map(float, self.value(key).split()))
        except ValueError:
            found = ()
        if len(found) != count or not all(map(math.isfinite, found)):
            raise self.refusal(f"`{key}: ` and {count} numbers")
        return found

    def refusal(self, expected: str) -> RecordError:
        """About the line read last."""
        return RecordError(
            f"{self.source}, line {self.first + self.at - 1}: {expected} was expected, not "
            f"{self.lines[self.at - 1][:80]!r}."
        )

    def starts(self, word: str) -> bool:
        return self.at < len(self.lines) and self.lines[self.at].startswith(word)

    def _line(self, expected: str) -> str:
        if self.at >= len(self.lines):
            line = self.first + len(self.lines)
            raise RecordError(f"{self.source}, line {line}: {expected} was expected, but the game's record ends here.")
        self.at += 1
        return self.lines[self.at - 1]


def _paragraphs(content: str, source: str) -> Iterator[_Paragraph]:
    lines: list[str] = []
    for number, line in enumerate([*content.split("\n"), ""], start=1):
        if line:
            lines.append(line)
        elif lines:
            yield _Paragraph(source, number - len(lines), lines)
            lines = []


def _record(lines: _Paragraph) -> Record:
    game, version = lines.value("game"), lines.whole("version")
    players = [lines.value("seat 1")]
    while lines.starts("seat "):
        players.append(lines.value(f"seat {len(players) + 1}"))
    round_, opening, seed = lines.whole("round"), lines.whole("opening"), lines.whole("seed")
    moves = tuple(lines.value("moves").split())
    if not 0 <= opening <= len(moves):
        raise lines.refusal(f"at least the {opening} moves of the opening")
    scores, end = lines.numbers("scores", len(players)), lines.value("end")
    if end not in ENDS:
        raise lines.refusal(f"`end: ` and {', '.join(ENDS[:-1])} or {ENDS[-1]}")
    if lines.at < len(lines.lines):
        lines.at += 1
        raise lines.refusal("a blank line")
    return Record(game, version, tuple(players), moves, scores, opening, seed, round_, end)
