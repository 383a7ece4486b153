"""A game of your own, from a file: `path/to/nim.py:Nim`.

The class is either a subclass of `Game` (array rules), taken with its default parameters, or a plain Python
class, taken through the host adapter. The file is read again when it has changed.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import sys
import traceback
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

from tabia.core.text import plain
from tabia.games.adapters.host import HostGame
from tabia.games.errors import GameError, did_you_mean
from tabia.games.game import Game


def load(path: str, name: str) -> Game:
    """The game that a class of a Python file defines; its id is `path:name`."""
    file = Path(path)
    try:
        found, beside = file.is_file(), [str(other) for other in file.parent.glob("*.py")]
    except (OSError, ValueError):  # no file can have such a name
        found, beside = False, []
    if not found:
        hint = did_you_mean(path, sorted(beside)) if beside else "Check the path."
        raise GameError(f"There is no file {plain(path)}. {hint}")
    return _load(path, name, file.stat().st_mtime_ns)


@cache
def _load(path: str, name: str, changed: int) -> Game:
    module = _module(Path(path).resolve(), path, changed)
    rules = vars(module).get(name)
    if not isinstance(rules, type):
        classes = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        known = did_you_mean(name, classes) if classes else "It defines no class."
        raise GameError(f"{path} has no class {name!r}. {known}")
    return _array_rules(rules, path) if issubclass(rules, Game) else HostGame(rules, path)


def _array_rules(rules: type[Game], path: str) -> Game:
    place, missing = f"{path}, class {rules.__name__}", sorted(rules.__abstractmethods__)
    if missing:
        raise GameError(f"{place}: to be a game it still needs {', '.join(missing)} (see tabia/games/game.py).")
    if not getattr(getattr(rules, "__dataclass_params__", None), "frozen", False):
        raise GameError(f"{place}: a game is a constant; write @dataclass(frozen=True) above the class.")
    # The id says where the game comes from, so that it can be made again; the rest is the user's own.
    described = {"id": property(lambda _: f"{path}:{rules.__name__}"), "__doc__": rules.__doc__}
    named: Any = dataclasses.dataclass(frozen=True)(type(rules.__name__, (rules,), described))
    try:
        return named()
    except GameError:
        raise
    except Exception as error:
        raise GameError(f"{place}: it cannot be made with its default parameters: {error}") from None


@cache
def _module(file: Path, path: str, changed: int) -> ModuleType:
    """The file as a module of its own name; files beside it can be imported while it is read."""
    name = f"_game_file_{file.stem}_{changed:x}_{abs(hash(file)):x}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None  # any path that ends in .py has a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    sys.path.insert(0, str(file.parent))
    try:
        exec(compile(file.read_bytes(), file, "exec"), vars(module))  # no cached bytecode, which can be stale
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise GameError(_import_failure(error, file, path)) from None
    finally:
        sys.path.remove(str(file.parent))
    return module


def _import_failure(error: BaseException, file: Path, path: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{path}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == str(file)]
    line = f", line {lines[-1]}" if lines else ""
    return f"{path}{line}: the file could not be imported: {type(error).__name__}: {error}"
