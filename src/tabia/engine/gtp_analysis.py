"""Analyses in GTP: the streams of Leela Zero and KataGo, which Sabaki and other programs show.

    lz-analyze black 50                     every 50 centiseconds a line, until the next command
    info move D3 visits 12 winrate 5512 prior 2100 order 0 pv D3 C5 info move C4 ...

Winrate is the expected score of the mover, with a draw as one half: in hundredths of a percent for Leela Zero, from 0
to 1 for KataGo. A player without visits has the winrate of the position. The prior is the evaluator's probability of
the move, before the search.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tabia.engine.thinking import Move, Thought
from tabia.games.protocols.gtp import parse_color
from tabia.games.protocols.notation import Notation, ProtocolError

SECONDS = 1.0
"""Between two lines, if the program does not say."""
MOVES = 20
"""The most moves in a line, if the program does not say."""
_LINE = 20  # moves of an expected line
_LEAST_SECONDS = 0.02


class Asked(NamedTuple):
    """What a program wants to see."""

    seat: int
    seconds: float
    moves: int


def parse(arguments: tuple[str, ...], mover: int) -> Asked:
    """The color, the interval in centiseconds and the number of moves; other words are ignored.

    >>> parse(("white", "50", "maxmoves", "3", "ownership", "true"), 0)
    Asked(seat=1, seconds=0.5, moves=3)
    """
    seat, words = mover, [word.lower() for word in arguments]
    if words and words[0] in ("b", "w", "black", "white"):
        seat = parse_color(words.pop(0))
    if words and words[0].isascii() and words[0].isdecimal():
        words = ["interval", *words]
    given = dict(zip(words[::2], words[1::2], strict=False))
    centiseconds = _whole(given.get("interval", str(int(SECONDS * 100))))
    moves = _whole(given.get("maxmoves", str(MOVES)))
    return Asked(seat, max(centiseconds / 100, _LEAST_SECONDS), max(moves, 1))


def _whole(text: str) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 10):
        raise ProtocolError(f"expected a whole number, not {text[:40]}")
    return int(text)


def line(name: str, notation: Notation, thought: Thought) -> str:
    """One line of an analysis in the format of a command."""
    describe = FORMATS[name]
    parts = []
    for order, move in enumerate(thought.moves):
        value = thought.value if move.value is None else move.value
        winrate = 0.5 if value is None else (value + 1) / 2
        moves = " ".join(notation.text(action, state) for action, state in move.line[:_LINE])
        first = notation.text(move.action, move.line[0][1])
        parts.append(f"info move {first} visits {move.visits} {describe(winrate, move)} order {order} pv {moves}")
    return " ".join(parts)


def _leela(winrate: float, move: Move) -> str:
    return f"winrate {round(winrate * 10_000)} prior {round((move.prior or 0.0) * 10_000)}"


def _katago(winrate: float, move: Move) -> str:
    return f"utility {2 * winrate - 1:.4f} winrate {winrate:.4f} prior {move.prior or 0.0:.4f}"


FORMATS: dict[str, Callable[[float, Move], str]] = {
    "lz-analyze": _leela,
    "analyze": _leela,
    "kata-analyze": _katago,
}
"""How each command describes a move."""
GENMOVES = {"lz-genmove_analyze": "lz-analyze", "kata-genmove_analyze": "kata-analyze"}
"""Commands that also play, and the format of their lines."""
