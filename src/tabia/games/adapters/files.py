"""A game from a user's Python file: `path/to/nim.py:Nim`, with parameters `nim.py:Nim:heaps=3`.

The class is either a subclass of `Game` (array rules) or a plain Python class for the host adapter. Array rules are
traced once, so that mistakes are reported before anything is compiled.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from functools import cache
from typing import Any

from tabia.games.adapters import source, tracing
from tabia.games.adapters.host import HostGame
from tabia.games.adapters.source import Source
from tabia.games.errors import GameError
from tabia.games.game import Game


def load(path: str, name: str, given: Mapping[str, str] | None = None) -> Game:
    """The game of a class in a Python file, with parameters given as text."""
    found = source.load(path, name)
    try:
        values = source.read_parameters(found.rules, given or {}, also=["history"])
    except source.ParameterError as error:
        raise GameError(f"{found.place}: {error}") from None
    return _made(found, tuple(values.items()))


@cache
def _made(found: Source, values: tuple[tuple[str, Any], ...]) -> Game:
    if issubclass(found.rules, Game):
        return _array_rules(found, dict(values))
    changed = tuple(source.changed_parameters(found.rules, dict(values)).items())
    return HostGame(found.rules, found.path, changed, found.definition)


def _array_rules(found: Source, values: dict[str, Any]) -> Game:
    rules = found.rules
    missing = sorted(getattr(rules, "__abstractmethods__", ()))
    if missing:
        line = inspect.getsourcelines(rules)[1]
        raise GameError(
            f"{found.path}, line {line}, class {rules.__name__}: a game also needs {', '.join(missing)} "
            "(see tabia/games/game.py)."
        )
    if not getattr(getattr(rules, "__dataclass_params__", None), "frozen", False):
        raise GameError(f"{found.place}: a game must be immutable; write @dataclass(frozen=True) above the class.")
    _refuse_hidden_methods(found)
    try:
        game = _named(found)(**values)
    except GameError:
        raise
    except Exception as error:
        shown = source.parameters_text(values) or "its default parameters"
        raise GameError(f"{found.place}: it cannot be created with {shown}: {error}") from None
    tracing.check(game, found)
    return game


def _refuse_hidden_methods(found: Source) -> None:
    """Refuse a parameter or a value with the name of a method of `Game`, which callers could no longer call."""
    parameters = [field.name for field in dataclasses.fields(found.rules)]
    for name, method in inspect.getmembers(Game, inspect.isfunction):
        if name in parameters:
            raise GameError(f"{found.place}: the parameter {name!r} hides Game.{name}(); give it another name.")
        if not callable(getattr(found.rules, name)):
            head = f"def {name}{inspect.signature(method)}".replace("'", "")
            raise GameError(f"{found.place}: {name!r} must be a method, {head}.")


@cache
def _named(found: Source) -> Any:
    """A subclass whose id names the file, so that the game can be made again."""

    def full_id(game: Any) -> str:
        values = {field.name: getattr(game, field.name) for field in dataclasses.fields(game) if field.init}
        parameters = source.parameters_text(source.changed_parameters(found.rules, values))
        return f"{found.id}:{parameters}" if parameters else found.id

    members = {
        "id": property(full_id),
        "definition": property(lambda _: found.definition),
        "__doc__": found.rules.__doc__,
        "__module__": found.rules.__module__,
    }
    return dataclasses.dataclass(frozen=True)(type(found.rules.__name__, (found.rules,), members))
