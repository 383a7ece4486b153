"""The Go Text Protocol, version 2: commands, responses, colors and vertices.

    play black E5        a command; an id may precede it: `7 play black E5`
    = E5                 a response, ended by an empty line; `? illegal move` is a failure

Vertices name cells as the game does: in Go rows count from the bottom and the letter I is omitted, in Othello rows
count from the top. Seat 0 is black and moves first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from tabia.core.text import quote
from tabia.games.game import Game, State
from tabia.games.protocols.notation import Notation, ProtocolError, base

COLORS = ("black", "white")
"""The color of each seat."""
RESIGN = "resign"
"""The answer to `genmove` of an engine that gives up."""
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f]")
_COMMAND = re.compile(r"(?:(?P<id>[0-9]{1,9})\s+)?(?P<name>\S+)(?P<arguments>.*)", re.ASCII | re.DOTALL)
_RESPONSE = re.compile(r"(?P<mark>[=?])(?P<id>[0-9]*)(?P<text>.*)", re.ASCII | re.DOTALL)


@dataclass(frozen=True)
class GtpGame(Notation):
    """A game that GTP can express."""

    game: Game
    title: str  # for `set_game` and `list_games`
    size: int
    komi: float | None = None  # None where the rules have none

    def text(self, action: int, state: State) -> str:
        name = self.game.move_name(action, state)
        return name if name in ("pass", "swap") else name.upper()


_GAMES: dict[str, tuple[str, int, float | None]] = {
    "othello": ("Othello", 8, None),
    "othello:size=6": ("Othello", 6, None),
    "othello:size=4": ("Othello", 4, None),
    "pgx:othello": ("Othello", 8, None),
    "pgx:go_9x9": ("Go", 9, 7.5),
    "pgx:go_19x19": ("Go", 19, 7.5),
    "pgx:hex": ("Hex", 11, None),
}


def gtp_game(game: Game) -> GtpGame:
    """A game's notation in GTP; ProtocolError if the protocol cannot express it."""
    found = _GAMES.get(base(game).id)
    if found is None:
        raise ProtocolError(f"GTP has no notation for {game.id}; it has one for {', '.join(_GAMES)}.")
    return GtpGame(game, *found)


def parse_color(text: str) -> int:
    """The seat of a color: black, b, white or w, in any case."""
    for seat, color in enumerate(COLORS):
        if text.lower() in (color, color[0]):
            return seat
    raise ProtocolError(f"expected black or white, not {quote(text)}")


@dataclass(frozen=True)
class Command:
    """One command; `str` gives its line."""

    name: str
    arguments: tuple[str, ...] = ()
    id: int | None = None

    def __str__(self) -> str:
        words = [self.name, *self.arguments]
        return " ".join(words if self.id is None else [str(self.id), *words])


def parse_command(line: str) -> Command | None:
    """The command of a line, or None for an empty line or a comment.

    >>> parse_command("12 play b D4  # a comment")
    Command(name='play', arguments=('b', 'D4'), id=12)
    """
    cleaned = _CONTROL.sub("", line.partition("#")[0]).strip()
    found = _COMMAND.fullmatch(cleaned)
    if found is None:
        return None
    number = None if found["id"] is None else int(found["id"])
    return Command(found["name"], tuple(found["arguments"].split()), number)


@dataclass(frozen=True)
class Response:
    """The response to a command; `str` gives its text, with the empty line that ends it."""

    text: str = ""
    ok: bool = True
    id: int | None = None

    def __str__(self) -> str:
        mark = f"{'=' if self.ok else '?'}{'' if self.id is None else self.id}"
        # An empty line would end the response.
        body = "\n".join(line for line in self.text.splitlines() if line.strip())
        space = "\n" if self.text.startswith("\n") else " "  # a picture begins on a line of its own
        return f"{mark}{space}{body}\n\n" if body else f"{mark}\n\n"


def parse_response(lines: list[str]) -> Response:
    """The response that these lines hold, without the empty line after it."""
    found = _RESPONSE.fullmatch("\n".join(lines))
    if found is None:
        raise ProtocolError(f"expected a response that starts with = or ?, not {quote(' '.join(lines)[:200])}")
    number = int(found["id"][:9]) if found["id"] else None
    return Response(found["text"].strip(), found["mark"] == "=", number)
