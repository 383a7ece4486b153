"""The one door to Numba, the compiler behind the Connect solver (the extra `solver`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tabia.games.errors import GameError

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


# No counting of references: all arrays outlive the calls, and threads would wait for each other's counts.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}


class CompilerMissing(GameError, ImportError):
    """The solver was asked for where Numba is not installed."""


def compiled(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """The function as machine code, kept on disk between runs and free to run beside other threads."""
    # Numba keeps code by a function's name and its own file; the revision makes it notice changes in the others.
    function.__qualname__ += f"_{_revision()}"
    return _compiler()(cache=True, **_OPTIONS)(function)


def inlined(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """The same for a function that becomes part of each caller."""
    return _compiler()(forceinline=True, **_OPTIONS)(function)


def _compiler() -> Any:
    try:
        import numba
    except ImportError:
        raise CompilerMissing("The Connect solver needs its compiler Numba: pip install 'tabia[solver]'.") from None
    return numba.njit


@cache
def _revision() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
