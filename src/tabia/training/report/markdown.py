"""Pieces of Markdown that a report is put together from."""

from __future__ import annotations

import re
from collections.abc import Sequence


def table(headings: Sequence[str], rows: Sequence[Sequence[str]], *, right: int = 0) -> str:
    """A table, its last `right` columns aligned to the right."""
    left = len(headings) - right
    rule = "|" + "---|" * left + "---:|" * right
    return "\n".join([_row(headings), rule, *map(_row, rows)])


def number(value: float | None, form: str) -> str:
    """A number in a cell; a dash where there is none."""
    return "-" if value is None else format(value, form)


def _row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(re.sub(r"(?<!\\)\|", r"\|", cell) for cell in cells) + " |"
