"""Compares an id from a file with a game.

A game of Tabia or of a library is identified by its id and version. A game from a user's file is identified by its
class, its parameters and its code (`Game.definition`), not by its directory: `nim.py:Nim`, `./nim.py:Nim` and
`/home/me/nim.py:Nim` are the same game. Nothing here runs the file that an id names.
"""

from __future__ import annotations

import warnings
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from tabia.core.errors import TabiaWarning
from tabia.games.game import Game


class _Named(NamedTuple):
    """The parts of an id."""

    file: str  # the name of the Python file without directories; empty for other games
    base: str  # the class, or the whole id of a game without a file
    parameters: str


def fields(game: Game, prefix: str = "game_") -> dict[str, Any]:
    """The fields that identify a game in a file: id without directories, version, and definition if it has one.

    >>> from tabia.games import make
    >>> fields(make("connect4"))
    {'game': 'connect4', 'game_version': 1}
    """
    named = _split(game.id)
    text = ":".join(filter(None, (f"{named.file}.py" if named.file else "", named.base, named.parameters)))
    code = {f"{prefix}definition": game.definition} if game.definition else {}
    return {"game": text, f"{prefix}version": game.version, **code}


def is_same(game: Game, id: str, definition: str = "") -> bool:
    """Whether an id, with the definition stored beside it, names this game.

    A file with the same name counts as the same game even if its code has changed; `warn_of_change` reports that.
    """
    ours, theirs = _split(game.id), _split(id)
    same_code = bool(definition) and definition == game.definition
    return ours[1:] == theirs[1:] and (ours.file == theirs.file or (bool(theirs.file) and same_code))


def is_same_name(id: str, other: str) -> bool:
    """Whether two ids differ at most in the directories of their Python files.

    >>> is_same_name("nim.py:Nim", "games/nim.py:Nim"), is_same_name("nim.py:Nim", "nim.py:Nim:heaps=2")
    (True, False)
    """
    return _split(id) == _split(other)


def is_same_class(game: Game, id: str) -> bool:
    """Whether an id names the class of this game, with any parameters."""
    ours, theirs = _split(game.id), _split(id)
    return bool(ours.file) and ours[:2] == theirs[:2]


def warn_of_change(game: Game, definition: object, what: str) -> None:
    """Warn if `what`, such as a network, was made with other code than the game has now."""
    if isinstance(definition, str) and definition and game.definition and definition != game.definition:
        warnings.warn(
            f"The code of {game.id} has changed since {what} was made. If the rules, the actions or the observation "
            "are different now, give the class a higher `version` and train again.",
            TabiaWarning,
            stacklevel=2,
        )


def _split(id: str) -> _Named:
    path, is_python, rest = id.rpartition(".py:")
    if not is_python:
        return _Named("", id, "")
    name, _, parameters = rest.partition(":")
    return _Named(PurePosixPath(path.replace("\\", "/")).name, name, parameters)
