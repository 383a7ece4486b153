"""The interface to Numba, which compiles the Connect solver (the extra `solver`)."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from tabia.games.errors import GameError

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


# No reference counting: all arrays outlive the calls, and threads would contend for the counters.
_OPTIONS = {"nogil": True, "error_model": "numpy", "_nrt": False}


class CompilerMissing(GameError, ImportError):
    """Numba is not installed."""


def compiled(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """Compile a function to machine code that is cached on disk and releases the GIL."""
    # Numba caches code by a function's name and file; the revision invalidates it when another file changes.
    function.__qualname__ += f"_{_revision()}"
    return _compiler()(cache=True, **_OPTIONS)(function)


def inlined(function: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """The same for a function that is inlined into each caller."""
    return _compiler()(forceinline=True, **_OPTIONS)(function)


def _compiler() -> Any:
    try:
        import numba
    except ImportError:
        raise CompilerMissing("The Connect solver needs Numba: pip install 'tabia[solver]'.") from None
    return numba.njit


@cache
def _revision() -> str:
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()[:12]
