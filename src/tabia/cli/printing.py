"""Printing for people and for programs: Rich on a terminal, plain text elsewhere, JSON where asked for."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

if TYPE_CHECKING:
    from rich.progress import Progress

_WIDE = 1000  # columns of a page that never wraps, for files and pipes


def console() -> Console:
    """A console on stdout; Rich drops colours for NO_COLOR and outside terminals, and nothing wraps there."""
    terminal = sys.stdout.isatty()
    return Console(width=None if terminal else _WIDE, highlight=False, soft_wrap=not terminal)


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table with these headings; those in `right` hold numbers."""
    made = Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", no_wrap=column != "title")
    return made


def pairs(rows: dict[str, str]) -> Table:
    """Words and what they mean, side by side."""
    made = Table.grid(padding=(0, 2))
    for word, meaning in rows.items():
        made.add_row(f"  [bold]{escape(word)}[/]", escape(meaning))
    return made


def verdict_mark(holds: bool) -> str:
    """A tick or a cross, or words where the output cannot show them."""
    tick, cross = ("✓", "✗") if _can_print("✓✗") else ("holds", "BROKEN")
    return f"[green]{tick}[/]" if holds else f"[bold red]{cross}[/]"


def print_json(value: Any) -> None:
    typer.echo(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def json_line(value: Any) -> str:
    """One JSON object on one line."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def save(path: Path, text: str) -> None:
    """Write a file, or say why that cannot be done."""
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        from tabia.games.errors import TabiaError

        raise TabiaError(f"{path} cannot be written: {error.strerror}.") from None


class Bar:
    """A progress bar: call it with what is done, and with the total where that was not known before."""

    def __init__(self, shown: Progress, what: str, total: int | None) -> None:
        self._shown = shown
        self._task = shown.add_task(what, total=total)

    def __call__(self, done: int, total: int | None = None) -> None:
        self._shown.update(self._task, completed=done, total=total)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """No bar for a while, so that results can be printed where it stood."""
        self._shown.stop()
        yield
        self._shown.start()


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Bar]:
    """A bar on stderr, if that is a terminal, which counts `what` and is removed at the end."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    with Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
        disable=not sys.stderr.isatty(),
        redirect_stdout=False,  # Rich would send it to stderr
    ) as shown:
        yield Bar(shown, what, total)


def number(value: float) -> str:
    """A score without a needless `.0`.

    >>> number(3.0), number(-0.5), number(-0.0)
    ('3', '-0.5', '0')
    """
    return f"{value + 0.0:g}"


def _can_print(text: str) -> bool:
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True
