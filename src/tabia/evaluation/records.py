"""Records of games: one lossless text format for matches, tournaments and saved games.

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

The first line names the format. Header lines `key: value` follow, up to a blank line, and describe the file. Then come
the games, each after a blank line, with all of these lines in this order. docs/reference/files.md explains each.
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
from tabia.games.errors import GameError, RulesError
from tabia.games.game import Game
from tabia.games.seats import HUMAN
from tabia.games.session import Session

FORMAT = "tabia games 1"
LIMIT = 256 * files.MEGABYTE
"""The largest file accepted, in bytes: about a million games of Connect 4."""
_MAX_SEATS = 64
_WHOLE = re.compile(r"-?[0-9]{1,15}", re.ASCII)
ENDS = ("over", "resigned", "forfeited", "excluded", "unfinished")
"""How a game ended: by its rules, by resignation, by an engine's fault, by a difference of rules, or not yet."""


class RecordError(TabiaError):
    """A damaged record, or one that the rules do not allow."""


@dataclass(frozen=True)
class Record:
    """One game, finished or not."""

    game: str  # the id that `tabia.games.make` takes
    version: int  # of the game's rules
    players: tuple[str, ...]  # the spec of the player in each seat
    moves: tuple[str, ...]  # as in `Session.moves`
    scores: tuple[float, ...]  # one per seat
    opening: int = 0  # the number of random moves at the start
    seed: int = 0  # of the game's own chance: `Session.replay(game, moves, seed=seed)`
    round: int = 0  # games of one round share an opening and are one independent trial; 0: a single game
    end: str = "over"

    @property
    def finished(self) -> bool:
        """Whether the game has ended."""
        return self.end != "unfinished"

    @property
    def counts(self) -> bool:
        """Whether the game has a result: it has ended, and both players followed the same rules."""
        return self.finished and self.end != "excluded"

    @property
    def view_only(self) -> bool:
        """Whether the game needs no player any more, so that its players need not exist."""
        return self.finished and HUMAN not in self.players

    def rank(self, seat: int) -> int:
        """1 if the seat is alone in first place, 0 if it shares first place, -1 otherwise."""
        others = max(score for other, score in enumerate(self.scores) if other != seat)
        return (self.scores[seat] > others) - (self.scores[seat] < others)

    @property
    def same(self) -> tuple[object, ...]:
        """A key that is equal for games with the same players, seats and moves."""
        return (self.game, self.version, self.players, self.moves)


@dataclass
class RecordFile:
    """The content of a record file: header and games."""

    header: dict[str, str] = field(default_factory=dict)
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
    except RulesError:
        raise
    except GameError as error:
        raise RecordError(str(error)) from None


def duplicates(records: Sequence[Record]) -> list[bool]:
    """Whether each game repeats an earlier one; unfinished games never do."""
    seen: set[tuple[object, ...]] = set()
    repeated = []
    for record in records:
        repeated.append(record.finished and record.same in seen)
        if record.finished:
            seen.add(record.same)
    return repeated


def player_names(records: Iterable[Record]) -> list[str]:
    """The players in order of appearance."""
    return list(dict.fromkeys(player for record in records for player in record.players))


# Writing.


def text(file: RecordFile) -> str:
    """The text of a record file."""
    header = [FORMAT, *(f"{_word(key)}: {_line(value)}" for key, value in file.header.items())]
    return "\n\n".join(["\n".join(header), *map(record_text, file.records)]) + "\n"


def record_text(record: Record) -> str:
    """The text of one game, without the blank line before it."""
    if record.end not in ENDS:
        raise RecordError(f"The end of a game is {', '.join(ENDS[:-1])} or {ENDS[-1]}, not {record.end!r}.")
    if len(record.scores) != len(record.players) or not all(map(math.isfinite, record.scores)):
        raise RecordError(f"A record needs one finite score per seat, not {record.scores}.")
    lines = [f"game: {_line(record.game)}", f"version: {record.version}"]
    lines += [f"seat {seat}: {_line(player)}" for seat, player in enumerate(record.players, start=1)]
    lines += [f"round: {record.round}", f"opening: {record.opening}", f"seed: {record.seed}"]
    lines += [f"moves: {' '.join(map(_word, record.moves))}".rstrip()]
    lines += [f"scores: {' '.join(map(_number, record.scores))}", f"end: {record.end}"]
    return "\n".join(lines)


def save(path: Path, file: RecordFile, *, within: Path | None = None) -> None:
    """Write a file atomically and sync it to disk."""
    try:
        files.write_atomic(path, text(file).encode(), within=within)
    except OSError as error:
        raise RecordError(f"{path} cannot be written: {error.strerror or error}.") from None


def _line(value: str) -> str:
    if value != value.strip() or not value or not is_printable(value):
        raise RecordError(
            f"{quote(value)} cannot be recorded: expected one line of text without control characters or spaces "
            "around it."
        )
    return value


def _word(value: str) -> str:
    if value.split() != [value] or not is_printable(value):
        raise RecordError(f"{quote(value)} cannot be recorded: expected one word.")
    return value


def _number(value: float) -> str:
    """The shortest text that parses to the same number."""
    whole = value == int(value) and abs(value) < 2**53 and (value or math.copysign(1.0, value) > 0)
    return str(int(value)) if whole else repr(float(value))


# Reading.


def load(path: Path, *, within: Path | None = None) -> RecordFile:
    """Read a file; RecordError names the damaged line and what was expected there."""
    try:
        content = files.read_text(path, LIMIT, within=within)
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}.") from None
    return parse(content, str(path))


def parse(content: str, source: str = "text") -> RecordFile:
    """The inverse of `text`."""
    paragraphs = list(_paragraphs(content, source))
    if not paragraphs or paragraphs[0].lines[0] != FORMAT:
        found = quote(content[:200].split("\n", 1)[0])
        raise RecordError(f"{source}, line 1: expected {FORMAT!r}, not {found}. Is it a record file?")
    head = paragraphs[0]
    head.at = 1
    header = dict(head.pair() for _ in head.lines[1:])
    return RecordFile(header, [_record(paragraph) for paragraph in paragraphs[1:]])


def load_games(paths: Iterable[Path]) -> Iterator[Record]:
    """The games of several files."""
    for path in paths:
        yield from load(path).records


@dataclass
class _Paragraph:
    """Lines without a blank line between them, parsed in order."""

    source: str
    first: int  # its first line in the file
    lines: list[str]
    at: int = 0

    def pair(self) -> tuple[str, str]:
        """Key and value of the next line."""
        key, colon, value = self._line("`key: value`").partition(": ")
        if not colon or key.split() != [key]:
            raise self.refusal("`key: value`")
        return key, value

    def value(self, key: str) -> str:
        """The value of the next line, which must have this key."""
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
        """The error about the line parsed last."""
        return RecordError(
            f"{self.source}, line {self.first + self.at - 1}: expected {expected}, not "
            f"{quote(self.lines[self.at - 1])}."
        )

    def starts(self, word: str) -> bool:
        return self.at < len(self.lines) and self.lines[self.at].startswith(word)

    def _line(self, expected: str) -> str:
        if self.at >= len(self.lines):
            line = self.first + len(self.lines)
            raise RecordError(f"{self.source}, line {line}: expected {expected}, but the record ends here.")
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
    while lines.starts("seat ") and len(players) < _MAX_SEATS:
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
    return Record(
        game=game,
        version=version,
        players=tuple(players),
        moves=moves,
        scores=scores,
        opening=opening,
        seed=seed,
        round=round_,
        end=end,
    )
