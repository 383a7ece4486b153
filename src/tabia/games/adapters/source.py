"""A class in a user's Python file: loading it, how an id spells it, and what identifies its code.

Loading a file runs it, so only ids that a user typed, or a program passed, may come here: never one that was read
from a file of records or weights.
"""

from __future__ import annotations

import ast
import hashlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

from tabia.core.errors import did_you_mean
from tabia.core.text import plain, quote
from tabia.games.errors import GameError


class Source(NamedTuple):
    """A class and where it comes from."""

    rules: type
    path: str  # relative to the current directory for a file inside it, otherwise absolute
    file: str  # absolute
    definition: str  # a digest of the code, the same for the same code at any path

    @property
    def place(self) -> str:
        """Where the class is, for an error message."""
        return f"{self.path}, class {self.rules.__name__}"

    @property
    def id(self) -> str:
        return f"{self.path}:{self.rules.__name__}"


def load(path: str, name: str) -> Source:
    """The class `name` of a Python file, which is run again only if it has changed."""
    try:
        file = Path(os.path.abspath(Path(path).expanduser()))  # noqa: PTH100  (a link keeps its own name)
        found, beside = file.is_file(), [str(other) for other in Path(path).parent.glob("*.py")]
    except (OSError, ValueError, RuntimeError):  # no file can have such a name
        found, beside = False, []
    if not found:
        hint = did_you_mean(path, sorted(beside)) if beside else "Check the path."
        raise GameError(f"There is no file {plain(path)}. {hint}")
    shown = _spelled(file)
    try:
        code = file.read_bytes()
    except OSError as error:
        raise GameError(f"{shown} cannot be read: {error.strerror}.") from None
    module, definition = _module(file, shown, code)
    rules = vars(module).get(name)
    if not isinstance(rules, type):
        classes = [key for key, value in vars(module).items() if getattr(value, "__module__", "") == module.__name__]
        known = did_you_mean(name, classes) if classes else "It defines no class."
        raise GameError(f"{shown} has no class {quote(name)}. {known}")
    return Source(rules, shown, str(file), definition)


def line_of(error: BaseException, file: str | None) -> int | None:
    """The last line of the file that was running when the error was raised."""
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return lines[-1] if lines else None


def _spelled(file: Path) -> str:
    here = Path.cwd()
    return file.relative_to(here).as_posix() if file.is_relative_to(here) else file.as_posix()


@cache
def _module(file: Path, shown: str, code: bytes) -> tuple[ModuleType, str]:
    """The file as a module of its own name, and its definition; files beside it can be imported while it runs."""
    digest = hashlib.sha256(code).hexdigest()[:12]
    name = f"_user_file_{file.stem}_{digest}_{abs(hash(file)):x}"
    spec = importlib.util.spec_from_file_location(name, file)
    assert spec is not None  # any path that ends in .py has a loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    sys.path.insert(0, str(file.parent))
    try:
        tree = ast.parse(code, str(file))
        exec(compile(tree, file, "exec"), vars(module))  # no cached bytecode, which can be stale
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise GameError(_import_failure(error, file, shown)) from None
    finally:
        sys.path.remove(str(file.parent))
    return module, _definition(file, tree)


def _import_failure(error: BaseException, file: Path, shown: str) -> str:
    if isinstance(error, SyntaxError) and error.filename == str(file):
        return f"{shown}, line {error.lineno}: {error.msg}: {(error.text or '').strip()}"
    line = line_of(error, str(file))
    where = f", line {line}" if line else ""
    return f"{shown}{where}: the file could not be imported: {type(error).__name__}: {error}"


# What identifies the code.


def _definition(file: Path, tree: ast.Module) -> str:
    """A digest of the code in a file and in the files beside it that it imports, without comments and docstrings."""
    digest = hashlib.sha256()
    for part in _parts(file, tree, {file}):
        digest.update(_canonical(part).encode())
    return digest.hexdigest()[:16]


def _parts(file: Path, tree: ast.Module, seen: set[Path]) -> Iterator[ast.Module]:
    yield tree
    for name in sorted(_imported(tree)):
        beside = file.parent / f"{name}.py"
        if beside not in seen and beside.is_file():
            seen.add(beside)
            yield from _parts(beside, ast.parse(beside.read_bytes()), seen)


def _imported(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def _canonical(node: object) -> str:
    """A syntax tree as text that no version of Python writes differently, which `ast.dump` does not promise."""
    if isinstance(node, list):
        return f"[{','.join(map(_canonical, node))}]"
    if not isinstance(node, ast.AST):
        return repr(node)
    fields = dict(ast.iter_fields(node))
    documented = isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
    if documented and _is_docstring(fields["body"]):
        fields["body"] = fields["body"][1:]
    kept = (f"{name}={_canonical(value)}" for name, value in fields.items() if value not in (None, []))
    return f"{type(node).__name__}({','.join(kept)})"


def _is_docstring(body: list[ast.stmt]) -> bool:
    first = body[0] if body else None
    return isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
