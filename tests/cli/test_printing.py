"""Tables in terminals of any width."""

from __future__ import annotations

import io

import pytest
from rich import box
from rich.console import Console

from tabia.cli import printing

HEADINGS = ("moves made", "positions", "losable", "keep value", "95% interval", "where losable", "fastest", "mean loss")
ROWS = [
    ("seat 1", "10,000", "7,500", "100.0%", "20.7% to 100.0%", "100.0%", "100.0%", "0.000"),
    ("minimax:depth=3 in seat 2", "11", "10", "45.5%", "21.3% to 72.0%", "40.0%", "45.5%", "0.727"),
]


@pytest.mark.parametrize("width", [80, 100, 200])
def test_a_table_cuts_no_number_off(width: int) -> None:
    """The tables of `tabia accuracy`, in the terminal of a newcomer: 80 columns."""
    table = printing.table(*HEADINGS, right=HEADINGS[1:])
    table.box = box.SIMPLE_HEAD  # as in a terminal
    for row in ROWS:
        table.add_row(*row)
    printed = io.StringIO()
    Console(width=width, file=printed).print(table)
    text = printed.getvalue()
    assert all(len(line.rstrip()) <= width for line in text.splitlines()) and "…" not in text
    assert all(cell in text for row in ROWS for cell in row[1:])
    assert all(word in text for heading in HEADINGS for word in heading.split())
