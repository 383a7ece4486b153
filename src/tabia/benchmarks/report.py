"""Benchmark reports: rows with command, machine, versions, date and commit."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, Protocol

from tabia.training.run.metrics import describe_machine


class Row(Protocol):
    """One measurement."""

    def to_dict(self) -> dict[str, Any]:
        """The measurement as a JSON object."""


def text(rows: Sequence[Row], method: str, *, command: str) -> str:
    """The report as JSON."""
    content = {"command": command, **describe_machine(), "method": method, "rows": [row.to_dict() for row in rows]}
    return json.dumps(content, indent=2) + "\n"
