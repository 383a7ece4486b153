"""What people see when Tabia refuses something: the sentence of the error on stderr, exit code 2, no traceback.

A TabiaWarning is one line on stderr too, and the command goes on.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from tabia.core.errors import TabiaError, TabiaWarning
from tabia.core.text import printable

REFUSED = 2
"""The exit code of anything Tabia refuses, the same as for a misspelt option."""


class Polite(TyperGroup):
    """A group of commands none of which needs to catch a TabiaError: every refusal ends here.

    Any other exception is a fault of ours and keeps its traceback.
    """

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # restored on leaving
            return self._invoke(ctx)

    def _invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Looked up, not imported: importing it brings JAX, and who has not loaded it cannot have raised it.
            errors = sys.modules.get("tabia.games.errors")
            refusal = error if isinstance(error, TabiaError) else errors and errors.refusal_in(error)
            if refusal is None:
                raise
            typer.echo(f"tabia: {printable(str(refusal), lines=True)}", err=True)
            raise typer.Exit(REFUSED) from None


_python_shows = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **named: Any) -> None:
    if issubclass(category, TabiaWarning):
        typer.echo(f"tabia: warning: {message}", err=True)
    else:
        _python_shows(message, category, *where, **named)
