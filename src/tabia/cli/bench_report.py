"""The rows of a benchmark: collected, printed as a table or as JSON, and saved as a report."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import typer

from tabia.cli import printing

if TYPE_CHECKING:
    from tabia.benchmarks.report import Row

AnyRow = TypeVar("AnyRow", bound="Row")


def collect(
    found: Iterable[AnyRow],
    method: str,
    out: Path | None,
    *,
    as_json: bool = False,
    name: Callable[[AnyRow], str] | None = None,
) -> list[AnyRow]:
    """The rows, also as a report; each is printed with `as_json`, or named in a terminal, as soon as it is known."""
    from tabia.benchmarks import report

    rows = []
    for row in found:
        rows.append(row)
        if as_json:
            typer.echo(printing.json_line(row.to_dict()))
        elif name is not None and sys.stderr.isatty():
            typer.echo(f"{name(row)} measured", err=True)
    if out is not None:
        printing.save(out, report.text(rows, method, command=" ".join(["tabia", *sys.argv[1:]])))
    return rows


def print_table(
    names: tuple[str, ...],
    numbers: tuple[str, ...],
    rows: Iterable[tuple[str, ...]],
    *,
    last: tuple[str, ...] = (),
) -> None:
    """Print rows as a table; the columns `numbers` are aligned to the right."""
    table = printing.table(*names, *numbers, *last, right=numbers)
    for row in rows:
        table.add_row(*row)
    printing.console().print(table)


def or_dash(number: float | None, shape: str, unit: str = "") -> str:
    """A number as text, or a dash if there is none."""
    return "-" if number is None else f"{number:{shape}}{unit}"
