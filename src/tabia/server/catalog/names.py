"""What people call the games of a catalog; no two have the same name.

A game of one's own is called by its class. Parameters are part of the name, and so is the file where two games would
otherwise have the same one.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

from tabia.core.trust import names_code
from tabia.games import Game

_NAMES = {
    "connect4": "Connect 4",
    "connect3": "Connect 3",
    "tictactoe": "Tic-tac-toe",
    "othello": "Othello",
    "checkers": "Checkers",
    "chinese-checkers": "Chinese checkers",
    "chinese-checkers:fields=121": "Chinese checkers, large star",
    "chinese-checkers:fields=121,players=2": "Chinese checkers for two",
    "pgx:hex": "Hex",
}


def name_of(game: Game) -> str:
    """The name of a game by itself.

    >>> from tabia.games import make
    >>> name_of(make("othello")), name_of(make("othello:size=6")), name_of(make("pgx:hex:history=2"))
    ('Othello', 'Othello, size=6', 'Hex, history=2')
    """
    if game.id in _NAMES:
        return _NAMES[game.id]
    rules, parameters = _split(game.id)
    short = rules.rpartition(":")[2] if names_code(rules) else _NAMES.get(rules)
    return ", ".join([short or re.split("[:,.]", game.title)[0], *parameters])


def names_of(games: Iterable[Game]) -> dict[str, str]:
    """A name for every game, by id."""
    alone = {game.id: name_of(game) for game in games}
    found = dict(alone)
    for origin in (_file, _path):
        times = Counter(found.values())
        shared = [game for game in found if times[found[game]] > 1 and game not in _NAMES]
        found |= {game: f"{alone[game]}, {origin(game)}" for game in shared}
    return found


def _split(id: str) -> tuple[str, list[str]]:
    """The id without its parameters, and these.

    >>> _split("nim.py:Nim:heaps=3,history=2"), _split("pgx:hex")
    (('nim.py:Nim', ['heaps=3', 'history=2']), ('pgx:hex', []))
    """
    rules, _, last = id.rpartition(":")
    return (rules, last.split(",")) if "=" in last else (id, [])


def _path(id: str) -> str:
    """Where a game comes from: the file of its class; for other games, what they are called there."""
    rules, _ = _split(id)
    return rules.rpartition(":")[0] if names_code(rules) else rules.rpartition(":")[2]


def _file(id: str) -> str:
    return Path(_path(id)).name
