"""Groups of commands: every TabiaError ends as one sentence on stderr with exit code 2, without a traceback.

A TabiaWarning is one line on stderr, and the command continues.
"""

from __future__ import annotations

import sys
import warnings
from typing import Any

import typer
from typer.core import TyperGroup

from tabia.core.errors import TabiaError, TabiaWarning
from tabia.core.text import printable

EXIT_REFUSED = 2
"""The exit code for anything Tabia refuses, the same as for a misspelled option."""

# `Any` in this module is the context class of Click, which Typer does not export.


class CommandGroup(TyperGroup):
    """A group that reports a TabiaError of any command; other exceptions are bugs and keep their traceback."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # restored on leaving
            return self._invoke(ctx)

    def _invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Looked up, not imported: it imports JAX, and without JAX none of its errors can occur.
            errors = sys.modules.get("tabia.games.errors")
            refusal = error if isinstance(error, TabiaError) else errors and errors.refusal_in(error)
            if refusal is None:
                raise
            typer.echo(f"tabia: {printable(str(refusal), lines=True)}", err=True)
            raise typer.Exit(EXIT_REFUSED) from None


class DefaultCommandGroup(TyperGroup):
    """A group whose command `DEFAULT` needs no name: `tabia rate games.txt` is `tabia rate records games.txt`."""

    DEFAULT = "records"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        named = bool(args) and (args[0] in self.commands or args[0] in ctx.help_option_names)
        return super().parse_args(ctx, args if named or not args else [self.DEFAULT, *args])


_default_showwarning = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **named: Any) -> None:
    if issubclass(category, TabiaWarning):
        typer.echo(f"tabia: warning: {message}", err=True)
    else:
        _default_showwarning(message, category, *where, **named)
