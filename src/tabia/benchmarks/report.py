"""A benchmark's figures with what makes them comparable: command, machine, versions, date, commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from tabia.training.run.metrics import describe_machine


class Row(Protocol):
    """One line of a benchmark."""

    def fields(self) -> dict[str, Any]: ...


def text(rows: Sequence[Row], method: str, *, command: str) -> str:
    """The report as JSON."""
    told = {**surroundings(command), "method": method, "rows": [row.fields() for row in rows]}
    return json.dumps(told, indent=2) + "\n"


def surroundings(command: str) -> dict[str, Any]:
    """Where, when and with what the figures were measured."""
    return {"command": command, **describe_machine()}
