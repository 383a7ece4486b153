"""Groups of commands: every TabiaError ends as one sentence on stderr with exit code 2, without a traceback.

A TabiaWarning is one line on stderr, and the command continues. The texts of `--help` fit terminals of any width.
"""

from __future__ import annotations

import re
import sys
import warnings
from inspect import cleandoc
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

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        _tidy_help(self)

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


def _tidy_help(command: Any) -> None:
    """Let paragraphs wrap at the width of the terminal, and show no type for flags, which take no value."""
    if command.help:
        command.help = re.sub(r"(?<=\S)\n(?=\S)", " ", cleandoc(command.help))  # indented lines are examples
    names = typer.Context(command, help_option_names=["-h", "--help"])
    for option in [*command.params, command.get_help_option(names)]:
        if getattr(option, "is_flag", False):
            option.metavar = ""
    for nested in getattr(command, "commands", {}).values():
        _tidy_help(nested)


_default_showwarning = warnings.showwarning


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **named: Any) -> None:
    if issubclass(category, TabiaWarning):
        typer.echo(f"tabia: warning: {message}", err=True)
    else:
        _default_showwarning(message, category, *where, **named)
