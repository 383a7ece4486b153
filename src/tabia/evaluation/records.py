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
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tabia.core import files
from tabia.core.errors import TabiaError
from tabia.core.text import is_printable, plain, quote
from tabia.games import identity
from tabia.games.errors import GameError
from tabia.games.game import Game
from tabia.games.seats import HUMAN
from tabia.games.session import Session

FORMAT = "tabia games 1"
LIMIT = 256 * files.MEGABYTE
"""The largest file that is read, in bytes: about a million games of Connect 4."""
MOST_SEATS = 64
_WHOLE = re.compile(r"-?[0-9]{1,15}", re.ASCII)
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
    moves: tuple[str, ...]  # as in `Session.moves`
    scores: tuple[float, ...]  # one a seat
    opening: int = 0  # how many of the moves were drawn, not chosen
    seed: int = 0  # of the game's own chance: `Session.replay(game, moves, seed=seed)`
    round: int = 0  # games of one round share an opening, and are one independent trial; 0: a game on its own
    end: str = "over"

    @property
    def finished(self) -> bool:
        return self.end != "unfinished"

    @property
    def shown_only(self) -> bool:
        """Whether nobody is left to play: its players may no longer exist, and are not needed."""
        return self.finished and HUMAN not in self.players

    @property
    def same(self) -> tuple[object, ...]:
        """Equal for games that say the same: the same players in the same seats and the same moves."""
        return (self.game, self.version, self.players, self.moves)


@dataclass
class Book:
    """A file of records: what it says about itself, and its games."""

    about: dict[str, str] = field(default_factory=dict)
    records: list[Record] = field(default_factory=list)


def replay(game: Game, record: Record) -> Session:
    """The game of a record, each move checked to be legal when it was played."""
    if not identity.is_same(game, record.game) or game.version != record.version:
        raise RecordError(
            f"The record is of {plain(record.game)}, version {record.version}; {game.id}, version {game.version}, "
            "cannot replay it."
        )
    try:
        return Session.replay(game, record.moves, seed=record.seed)
    except GameError as error:
        raise RecordError(str(error)) from None


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


def save(path: Path, book: Book, *, within: Path | None = None) -> None:
    """Write a file atomically; once this returns, it is on the disk."""
    try:
        files.write_atomic(path, text(book).encode(), within=within)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror or error}.") from None


def _line(value: str) -> str:
    if value != value.strip() or not value or not is_printable(value):
        raise RecordError(
            f"{quote(value)} cannot be recorded: a record needs one line of text without control characters or "
            "spaces around it."
        )
    return value


def _word(value: str) -> str:
    if value.split() != [value] or not is_printable(value):
        raise RecordError(f"{quote(value)} cannot be recorded: one word is needed.")
    return value


def _number(value: float) -> str:
    """The shortest text that reads back as the same number."""
    whole = value == int(value) and abs(value) < 2**53 and (value or math.copysign(1.0, value) > 0)
    return str(int(value)) if whole else repr(float(value))


# Reading.


def read(path: Path, *, within: Path | None = None) -> Book:
    """Read a whole file; RecordError names the line that is damaged and what was expected there."""
    try:
        content = files.read_text(path, LIMIT, within=within)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}.") from None
    return parse(content, str(path))


def parse(content: str, source: str = "text") -> Book:
    """The inverse of `text`."""
    paragraphs = list(_paragraphs(content, source))
    if not paragraphs or paragraphs[0].lines[0] != FORMAT:
        found = quote(content[:200].split("\n", 1)[0])
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
        if not _WHOLE.fullmatch(value):
            raise self.refusal(f"`{key}: ` and a whole number of at most 15 digits")
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
            f"{quote(self.lines[self.at - 1])}."
        )

    def starts(self, word: str) -> bool:
        return self.at < len(self.lines) and self.lines[self.at].startswith(word)

    def _line(self, expected: str) -> str:
        if self.at >= len(self.lines):
            line = self.first + len(self.lines)
            raise RecordError(f"{self.source}, line {line}: {expected} was expected, but the game's record ends here.")
        self.at += 1
        if not is_printable(self.lines[self.at - 1]):
            raise self.refusal("a line without control characters")
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
    while lines.starts("seat ") and len(players) < MOST_SEATS:
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
