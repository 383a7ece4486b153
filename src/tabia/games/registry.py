"""Makes games from ids such as `connect:rows=6,columns=9,line=4`, and lists Tabia's own.

name                         tictactoe            one of Tabia's games with default parameters
name:key=value,...           othello:size=6       with parameters; `history=T` works for every game
pgx:name, spiel:name         pgx:chess            games of other libraries (extras `pgx`, `spiel`)
path/to/file.py:Class        nim.py:Nim           a user's game; the file is run
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tabia.core.errors import did_you_mean
from tabia.core.text import plain, quote
from tabia.games import connect
from tabia.games.checkers import Checkers
from tabia.games.chinese_checkers import ChineseCheckers
from tabia.games.connect import Connect
from tabia.games.errors import GameError
from tabia.games.game import Game
from tabia.games.history import History
from tabia.games.othello import Othello
from tabia.games.tictactoe import TicTacToe

_OWN: dict[str, Callable[..., Game]] = {
    "tictactoe": TicTacToe,
    "connect": Connect,
    "connect4": lambda: Connect(**connect.ALIASES["connect4"]),
    "connect3": lambda: Connect(**connect.ALIASES["connect3"]),
    "chinese-checkers": ChineseCheckers,
    "checkers": Checkers,
    "othello": Othello,
}
_LIBRARIES = ("pgx", "spiel")
_WORD = re.compile(r"[\w-]{1,100}")
_WHOLE = re.compile(r"[+-]?[0-9]{1,9}")
_WORDS = ("rules",)  # parameters with text values; all others are whole numbers


def ids() -> list[str]:
    """The ids of Tabia's own games with their default parameters."""
    return [name for name in _OWN if name != "connect"]


def is_own(id: str) -> bool:
    """Whether an id names one of Tabia's own games, with or without parameters."""
    return id.partition(":")[0] in _OWN


def is_of_library(id: str) -> bool:
    """Whether an id names a game of another library, which may not be installed."""
    return id.partition(":")[0] in _LIBRARIES


def make(id: str) -> Game:
    """Make the game with this id; GameError says what is wrong with the id.

    >>> make("connect:rows=6,columns=9,line=4").num_actions
    9
    """
    if id.endswith(".py") or ".py::" in id:
        raise GameError(f"{quote(id)} is no game: name the file, a colon and the class, as in nim.py:Nim.")
    if ".py:" in id:
        from tabia.games.adapters.files import load

        path, _, rest = id.rpartition(".py:")
        name, texts = _split(rest)
        history = _number(texts.pop("history", "1"), "history")
        game = load(f"{path}.py", name, texts)
    else:
        library, _, rest = id.partition(":")
        library = library.strip()
        if library not in (*_OWN, *_LIBRARIES):
            raise _unknown(library, rest)
        name, texts = _split(rest if library in _LIBRARIES else id)
        history = _number(texts.pop("history", "1"), "history")
        parameters = {key: value if key in _WORDS else _number(value, key) for key, value in texts.items()}
        game = _from_library(library, name, parameters, id) if library in _LIBRARIES else _own(name, parameters)
    return game if history == 1 else History(game, history)


def _unknown(name: str, rest: str) -> GameError:
    """The error for a name that no game has, with what may have been meant."""
    from tabia.games.adapters.pgx import BOARDS

    start = f"There is no game {quote(name)}."
    if _WORD.fullmatch(name) and Path(f"{name}.py").is_file():
        own = f"{name}.py:{rest if rest.isidentifier() else 'Class'}"
        return GameError(f"{start} For a game of your own, name the file, a colon and the class: {own}")
    others = [f"pgx:{board}" for board in sorted(BOARDS) if name in (board, *board.split("_"))]
    known = [*ids(), "connect", *(f"{library}:..." for library in _LIBRARIES)]
    hint = f"Did you mean {' or '.join(others)}?" if others else did_you_mean(name, known)
    return GameError(f"{start} {hint} `tabia games` lists them all.")


def _split(text: str) -> tuple[str, dict[str, str]]:
    name, _, rest = text.partition(":")
    parameters: dict[str, str] = {}
    for pair in filter(None, rest.split(",")):
        key, equals, value = pair.partition("=")
        if not equals or not key.strip() or not value.strip():
            raise GameError(
                f"{quote(pair)} in {quote(text)} is not a parameter; write key=value, as in connect4:history=4."
            )
        if key.strip() in parameters:
            raise GameError(f"{quote(key.strip())} is given twice in {quote(text)}.")
        parameters[key.strip()] = value.strip()
    return name.strip(), parameters


def _number(value: str, key: str) -> int:
    if not _WHOLE.fullmatch(value):
        raise GameError(f"{plain(key)}={plain(value)}: expected a whole number of at most 9 digits.")
    return int(value)


def _own(name: str, parameters: dict[str, Any]) -> Game:
    factory = _OWN[name]
    allowed = [field.name for field in dataclasses.fields(factory)] if isinstance(factory, type) else []
    for key in parameters:
        if key not in allowed:
            raise GameError(f"{name} takes no parameter {quote(key)}. {did_you_mean(key, [*allowed, 'history'])}")
    return factory(**parameters)


def _from_library(library: str, name: str, parameters: dict[str, Any], id: str) -> Game:
    if library == "pgx":
        from tabia.games.adapters import pgx as adapter

        _refuse_parameters(id, parameters)
        return adapter.make(name)
    from tabia.games.adapters import spiel

    return spiel.make(name, parameters)


def _refuse_parameters(id: str, parameters: dict[str, Any]) -> None:
    if parameters:
        raise GameError(
            f"{quote(id)}: games of pgx have only the parameter `history`, not {quote(', '.join(parameters))}."
        )
