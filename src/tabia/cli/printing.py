"""Output of commands: Rich on a terminal, plain text elsewhere, JSON, and progress bars."""

from __future__ import annotations

import json
import sys
import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from rich import box
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markup import escape as _escape_markup
from rich.table import Table
from rich.text import Text

from tabia.core import files
from tabia.core.errors import TabiaError
from tabia.core.text import is_printable, printable

if TYPE_CHECKING:
    from rich.progress import Progress

_LIMIT = 64 * files.MEGABYTE
_WIDE = 1000  # columns; lines in files and pipes never wrap


def console() -> Console:
    """A console on stdout; outside a terminal it prints no colors and does not wrap lines."""
    terminal = sys.stdout.isatty()
    return Console(width=None if terminal else _WIDE, highlight=False, soft_wrap=not terminal)


def table(*columns: str, right: tuple[str, ...] = ()) -> Table:
    """An empty table with these headings; columns in `right` are aligned right."""
    made = _Table(box=box.SIMPLE_HEAD if sys.stdout.isatty() else None, pad_edge=False, header_style="bold")
    for column in columns:
        made.add_column(column, justify="right" if column in right else "left", no_wrap=column != "title")
    return made


class _Table(Table):
    """A table that cuts no number off: where it does not fit, headings are broken, then the first column."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        whole = console.measure(self, options=options.update(max_width=_WIDE)).maximum
        if whole > options.max_width and all(column.no_wrap for column in self.columns):
            self._narrow()
        return super().__rich_console__(console, options)

    def _narrow(self) -> None:
        self.box = None
        for column in self.columns:
            longest = max((Text.from_markup(str(cell)).cell_len for cell in column.cells), default=1)
            column.header = textwrap.fill(str(column.header), max(longest, 1), break_long_words=False)
        self.columns[0].no_wrap, self.columns[0].overflow = False, "fold"


def escape(text: str) -> str:
    """Escape text for Rich: its markup and the escape sequences of terminals have no effect."""
    return _escape_markup(printable(text, lines=True))


def pairs(rows: dict[str, str]) -> Table:
    """Names and values in two columns."""
    made = Table.grid(padding=(0, 2))
    for name, value in rows.items():
        made.add_row(f"  [bold]{escape(name)}[/]", escape(value))
    return made


def verdict_mark(holds: bool) -> str:
    """A tick or a cross, or words if the output cannot encode them."""
    tick, cross = ("✓", "✗") if _can_print("✓✗") else ("holds", "BROKEN")
    return f"[green]{tick}[/]" if holds else f"[bold red]{cross}[/]"


def print_json(value: object) -> None:
    """Print a value as indented JSON."""
    typer.echo(_safe_json(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False)))


def json_line(value: object) -> str:
    """A value as JSON on one line."""
    return _safe_json(json.dumps(value, ensure_ascii=False, allow_nan=False))


def _safe_json(text: str) -> str:
    """Escape all unsafe characters; JSON itself only requires it for those up to 31."""
    return "".join(letter if letter == "\n" or is_printable(letter) else f"\\u{ord(letter):04x}" for letter in text)


def save(path: Path, text: str) -> None:
    """Write a file; TabiaError says why that failed."""
    try:
        files.write_atomic(path, text.encode())
    except OSError as error:
        raise TabiaError(f"{path} cannot be written: {error.strerror or error}.") from None


def lines(path: Path) -> list[str]:
    """The lines of a text file, or of standard input for `-`."""
    try:
        content = sys.stdin.buffer.read(_LIMIT + 1) if path == Path("-") else files.read_bytes(path, _LIMIT)
        text = content.decode("utf-8")
    except OSError as error:
        raise TabiaError(f"{path} cannot be read: {error.strerror or error}.") from None
    except UnicodeDecodeError:
        raise TabiaError(f"{path} cannot be read: it is not UTF-8 text.") from None
    if len(content) > _LIMIT:
        raise TabiaError(f"{path} has more than the {_LIMIT:,} bytes allowed.")
    found = [line.strip() for line in text.split("\n")]
    return found[:-1] if found[-1] == "" else found


class Bar:
    """A progress bar; call it with the amount done and, if it changed, the total."""

    def __init__(self, shown: Progress, what: str, total: int | None) -> None:
        self._shown = shown
        self._task = shown.add_task(what, total=total)

    def __call__(self, done: int, total: int | None = None) -> None:
        self._shown.update(self._task, completed=done, total=total)

    @contextmanager
    def hidden(self) -> Iterator[None]:
        """Hide the bar while results are printed."""
        self._shown.stop()
        yield
        self._shown.start()


@contextmanager
def progress(what: str, total: int | None = None) -> Iterator[Bar]:
    """A bar on stderr that counts `what`; shown only in a terminal and removed at the end."""
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


def count(number: int, noun: str, plural: str = "") -> str:
    """`1 round` or `2 rounds`."""
    return f"{number} {noun if number == 1 else plural or f'{noun}s'}"


def number(value: float) -> str:
    """A score as text, whole numbers without `.0`.

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
