"""metrics.jsonl: a line of JSON for every cycle, appended; after a resume, none twice."""

from __future__ import annotations

import json
from typing import Any

from tabia.training.cycle import Report
from tabia.training.directory import RunDirectory, write_whole
from tabia.training.errors import TrainingError
from tabia.training.loop import Onlooker, Training


class Metrics(Onlooker):
    """Writes the lines; must come after the observers whose findings it keeps."""

    def begun(self, training: Training) -> None:
        """Forget the cycles after the checkpoint the run goes on from: they will come again."""
        kept = [line for line in read(training.run) if line["cycle"] <= training.ledger.cycle]
        if training.run.metrics.exists():
            try:
                write_whole(training.run.metrics, "".join(json.dumps(line) + "\n" for line in kept).encode())
            except OSError as error:
                raise TrainingError(f"{training.run.metrics} cannot be written: {error.strerror or error}.") from None

    def cycled(self, training: Training, report: Report) -> dict[str, Any]:
        line = json.dumps(fields(training, report)) + "\n"
        try:
            with training.run.metrics.open("a", encoding="utf-8") as file:
                file.write(line)
                file.flush()
        except OSError as error:
            raise TrainingError(
                f"{training.run.metrics} cannot be written: {error.strerror}. The last checkpoint is sound: make room "
                f"and go on with `tabia resume {training.run.path}`."
            ) from None
        return {}


def fields(training: Training, report: Report) -> dict[str, Any]:
    """A cycle's line."""
    ledger = training.ledger
    return {
        "cycle": ledger.cycle, "seconds": round(ledger.seconds, 3), "progress": round(training.progress, 5),
        "total_games": ledger.games, "positions": ledger.positions, **report.fields(),
    }  # fmt: skip


def read(run: RunDirectory) -> list[dict[str, Any]]:
    """All lines; a last line cut short by a crash is left out."""
    if not run.metrics.exists():
        return []
    lines = []
    for text in run.metrics.read_text(encoding="utf-8", errors="replace").splitlines():
        try:
            line = json.loads(text)
        except ValueError:
            continue
        if isinstance(line, dict) and isinstance(line.get("cycle"), int):
            lines.append(line)
    return lines
