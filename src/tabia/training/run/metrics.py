"""metrics.jsonl: a line of JSON for every iteration, appended; after a resume, none twice."""

from __future__ import annotations

import json
import math
import time
from typing import Any

from tabia.core import files
from tabia.core.parsing import parse_json
from tabia.training.errors import TrainingError
from tabia.training.iteration import Report
from tabia.training.loop import BaseObserver, Training
from tabia.training.run.directory import RunDirectory

_LARGEST, _LONGEST_LINE = 512 * files.MEGABYTE, files.MEGABYTE
_SYNC_SECONDS = 1.0  # a checkpoint syncs the lines before it; in between, a power cut costs at most so much


class Metrics(BaseObserver):
    """Writes the lines; must come after the observers whose findings it keeps."""

    def __init__(self) -> None:
        self._synced = 0.0

    def begun(self, training: Training) -> None:
        """Forget the iterations after the checkpoint the run goes on from: they will come again."""
        if files.exists(training.run.metrics):
            found = ((text, parse(text)) for text in _texts(training.run))
            kept = [
                text for text, line in found if line is not None and line["iteration"] <= training.counters.iteration
            ]
            training.run.write(training.run.metrics, b"".join(text + b"\n" for text in kept))

    def on_iteration(self, training: Training, report: Report) -> dict[str, Any]:
        line = json.dumps(fields(training, report)) + "\n"
        due = time.monotonic() >= self._synced + _SYNC_SECONDS
        try:
            files.append(training.run.metrics, line.encode(), within=training.run.path, sync=due)
        except OSError as error:
            raise TrainingError(
                f"{training.run.metrics} cannot be written: {error.strerror or error}. The last checkpoint is sound: "
                f"make room and go on with `tabia resume {training.run.path}`."
            ) from None
        if due:
            self._synced = time.monotonic()
        return {}


def fields(training: Training, report: Report) -> dict[str, Any]:
    """An iteration's line."""
    counters = training.counters
    return {
        "iteration": counters.iteration,
        "seconds": round(counters.seconds, 3),
        "progress": round(training.progress, 5),
        "total_games": counters.games,
        "positions": counters.positions,
        **report.fields(),
    }


def read(run: RunDirectory) -> list[dict[str, Any]]:
    """All lines; one cut short by a crash is left out, and so is any entry that has not the type it is written with."""
    return [line for line in map(parse, _texts(run)) if line is not None]


def _texts(run: RunDirectory) -> list[bytes]:
    try:
        content = files.read_bytes(run.metrics, _LARGEST, within=run.path)
    except FileNotFoundError:
        return []
    except OSError as error:
        raise TrainingError(f"{run.metrics} cannot be read: {error.strerror or error}.") from None
    return [line for line in content.split(b"\n") if 0 < len(line) <= _LONGEST_LINE]


def parse(text: bytes) -> dict[str, Any] | None:
    """One line, or None if it is damaged."""
    try:
        line = parse_json(text)
    except ValueError:  # UnicodeDecodeError is one
        return None
    if not isinstance(line, dict) or type(line.get("iteration")) is not int or not 0 <= line["iteration"] < 2**53:
        return None
    sound = {name: value for name, value in line.items() if _is_sound(name, value)}
    return {"seconds": 0.0, "total_games": 0, "positions": 0, **sound}


def _is_sound(name: str, value: Any) -> bool:
    match name:
        case "scores":
            return isinstance(value, list) and bool(value) and all(map(_is_number, value))
        case "first_moves":
            return isinstance(value, dict) and all(_is_action(key) and _is_count(value[key]) for key in value)
        case "matches":
            return isinstance(value, dict) and all(map(_is_match, value.values()))
        case "board":
            return isinstance(value, str)
        case "seconds" | "total_games" | "positions":
            return _is_number(value)
        case _:
            return isinstance(value, bool) or _is_number(value)


def _is_number(value: Any) -> bool:
    return type(value) in (int, float) and -1e300 < value < 1e300 and math.isfinite(value)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value < 2**53


def _is_action(key: str) -> bool:
    return key.isascii() and key.isdecimal() and len(key) <= 9


def _is_match(side: Any) -> bool:
    return isinstance(side, dict) and all(_is_number(side.get(name)) for name in ("share", "low", "high", "games"))
