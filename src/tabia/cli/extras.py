"""Commands that need an extra of the package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from tabia.core.errors import TabiaError


@contextmanager
def needs_server(what: str = "The server", *, instead: str = "") -> Iterator[None]:
    """Import what belongs to the extra `server` in this block; if that is missing, say how to install it."""
    try:
        yield
    except ModuleNotFoundError as error:
        otherwise = f", or {instead}" if instead else ""
        raise TabiaError(f"{what} needs {error.name}: pip install 'tabia[server]'{otherwise}.") from None
