"""The Universal Chess Interface: moves, positions, limits and replies.

    position startpos moves e2e4 e7e5     a position, always by the moves from the start
    go nodes 1000                         think within limits
    bestmove g1f3 ponder b8c6             the answer

A move is from, to and a promotion, and a drop is the piece, @ and the square, as Fairy-Stockfish writes the moves of
chess variants: files are letters from the left, ranks count up from the side that moves first.
"""

from __future__ import annotations

import re
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from tabia.core.text import quote
from tabia.games.game import Game, State
from tabia.games.protocols.notation import Notation, ProtocolError, base, base_state

_FILES = "abcdefghi"
_WHOLE = re.compile(r"-?\d{1,18}", re.ASCII)
_USI = re.compile(r"(?P<piece>[A-Z])?(?P<start>[1-9][a-i])?\*?(?P<target>[1-9][a-i])(?P<promotes>\+?)")


@dataclass(frozen=True)
class UciGame(Notation):
    """A game that UCI can express."""

    game: Game
    variant: str  # the name that engines know it by

    @abstractmethod
    def text(self, action: int, state: State) -> str: ...


@dataclass(frozen=True)
class _Chess(UciGame):
    """Games whose moves have UCI names already."""

    def text(self, action: int, state: State) -> str:
        return self.game.move_name(action, state)


@dataclass(frozen=True)
class _Shogi(UciGame):
    """Games named by shogi's squares, 1a on the upper right."""

    files: int
    ranks: int

    def text(self, action: int, state: State) -> str:
        name = self.game.move_name(action, state)
        found = _USI.fullmatch(name)
        assert found is not None, name
        if found["piece"]:
            return f"{found['piece']}@{self._square(found['target'])}"
        promotes = "+" if found["promotes"] or self._promotes_by_rule(found["start"], found["target"], state) else ""
        return f"{self._square(found['start'])}{self._square(found['target'])}{promotes}"

    def _square(self, square: str) -> str:
        return f"{_FILES[self.files - int(square[0])]}{self.ranks - _FILES.index(square[1])}"

    def _promotes_by_rule(self, start: str, target: str, state: State) -> bool:
        """Whether a piece promotes without a choice, which the game's own name does not show."""
        return False


@dataclass(frozen=True)
class _AnimalShogi(_Shogi):
    """Animal shogi: a chick that reaches the last rank becomes a hen."""

    def _promotes_by_rule(self, start: str, target: str, state: State) -> bool:
        now = base_state(self.game, state)
        second = int(now._turn) == 1
        place = (int(start[0]) - 1) * self.ranks + _FILES.index(start[1])
        own_place = self.files * self.ranks - 1 - place if second else place  # the board is turned to the mover
        is_chick = int(np.asarray(now._board)[own_place]) == 0
        return is_chick and target[1] == _FILES[self.ranks - 1 if second else 0]


@dataclass(frozen=True)
class _Breakthrough(UciGame):
    """OpenSpiel's breakthrough, where the side at the top moves first."""

    def text(self, action: int, state: State) -> str:
        name = self.game.move_name(action, state)  # with a * for a capture
        return f"{name[0]}{9 - int(name[1])}{name[2]}{9 - int(name[3])}"


def uci_game(game: Game) -> UciGame:
    """A game's notation in UCI; ProtocolError if the protocol cannot express it."""
    match base(game).id:
        case "pgx:chess":
            return _Chess(game, "chess")
        case "pgx:gardner_chess":
            return _Chess(game, "gardner")
        case "pgx:animal_shogi":
            return _AnimalShogi(game, "dobutsu", files=3, ranks=4)
        case "pgx:shogi":
            return _Shogi(game, "shogi", files=9, ranks=9)
        case "spiel:breakthrough":
            return _Breakthrough(game, "breakthrough")
    known = "pgx:chess, pgx:gardner_chess, pgx:animal_shogi, pgx:shogi, spiel:breakthrough"
    raise ProtocolError(f"UCI has no notation for {game.id}; it has one for {known}.")


# Commands and replies.


def position_text(moves: Sequence[str]) -> str:
    """The command that sets up the position after these moves."""
    return " ".join(["position startpos", *(["moves", *moves] if moves else [])])


def parse_position(line: str) -> tuple[str | None, list[str]]:
    """The FEN (None for the start) and the moves of a `position` command.

    >>> parse_position("position startpos moves e2e4 e7e5")
    (None, ['e2e4', 'e7e5'])
    """
    head, _, rest = f"{line} ".partition(" moves ")
    words = head.split()
    if words[:2] == ["position", "startpos"] and len(words) == 2:
        return None, rest.split()
    if words[:2] == ["position", "fen"] and len(words) > 2:
        return " ".join(words[2:]), rest.split()
    raise ProtocolError(f"expected `position startpos moves ...` or `position fen ... moves ...`, not {quote(line)}")


@dataclass(frozen=True)
class Limits:
    """The limits of a `go` command; None is no limit."""

    nodes: int | None = None
    depth: int | None = None
    movetime: int | None = None  # milliseconds
    wtime: int | None = None  # milliseconds on the clocks
    btime: int | None = None
    winc: int | None = None
    binc: int | None = None
    movestogo: int | None = None
    infinite: bool = False

    def __str__(self) -> str:
        given = [f"{name} {value}" for name, value in vars(self).items() if name != "infinite" and value is not None]
        return " ".join(["go", *given, *(["infinite"] if self.infinite else [])])


def parse_go(line: str) -> Limits:
    """The limits of a `go` command; unknown words are ignored, as the protocol asks.

    A negative number counts as 0: programs send one for a clock that has run out.

    >>> parse_go("go movetime 500 ponder").movetime, parse_go("go wtime -5").wtime
    (500, 0)
    """
    words = line.split()[1:]
    numbers = {
        name: max(int(value), 0)
        for name, value in pairwise(words)
        if name in Limits.__dataclass_fields__ and name != "infinite" and _WHOLE.fullmatch(value)
    }
    return Limits(**numbers, infinite="infinite" in words)


def parse_bestmove(line: str) -> str | None:
    """The move of a `bestmove` line, or None if the line is something else; `(none)` if there is no legal move."""
    words = line.split()
    return words[1] if len(words) > 1 and words[0] == "bestmove" else None
