"""What a run writes about itself: metrics.jsonl, one line per iteration, and machine.json, one entry per start."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import math
import os
import platform
import subprocess
import time
from pathlib import Path
from typing import Any

from tabia import __version__
from tabia.core import devices, files
from tabia.core.parsing import parse_json
from tabia.training.errors import TrainingError
from tabia.training.iteration import IterationResult
from tabia.training.observers import BaseObserver
from tabia.training.run.directory import MACHINE, RunDirectory
from tabia.training.state import replay_size
from tabia.training.training import Training

_LARGEST, _LONGEST_LINE = 512 * files.MEGABYTE, files.MEGABYTE
_LARGEST_MACHINE = files.MEGABYTE
_SYNC_SECONDS = 1.0  # between two syncs: what a power cut may cost; a checkpoint syncs the lines before it
_LIBRARIES = ("jax", "jaxlib", "flax", "optax", "numpy", "pgx", "mctx")


class Metrics(BaseObserver):
    """Writes metrics.jsonl; must come after the observers whose values it writes."""

    def __init__(self) -> None:
        self._synced = 0.0

    def on_start(self, training: Training) -> None:
        """Drop the iterations after the checkpoint that the run resumes from: they will be repeated."""
        if files.exists(training.run.metrics):
            found = ((text, parse(text)) for text in _texts(training.run))
            kept = [
                text for text, line in found if line is not None and line["iteration"] <= training.counters.iteration
            ]
            training.run.write(training.run.metrics, b"".join(text + b"\n" for text in kept))

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        line = json.dumps(fields(training, result)) + "\n"
        due = time.monotonic() >= self._synced + _SYNC_SECONDS
        try:
            files.append(training.run.metrics, line.encode(), within=training.run.path, sync=due)
        except OSError as error:
            raise TrainingError(
                f"{training.run.metrics} cannot be written: {error.strerror or error}. The last checkpoint is sound. "
                f"Free some space and continue with `tabia resume {training.run.path}`."
            ) from None
        if due:
            self._synced = time.monotonic()
        return {}


def fields(training: Training, result: IterationResult) -> dict[str, Any]:
    """The line of an iteration."""
    counters = training.counters
    return {
        "iteration": counters.iteration,
        "seconds": round(counters.seconds, 3),
        "progress": round(training.progress, 5),
        "total_games": counters.games,
        "positions": counters.positions,
        **result.fields(),
    }


def read(run: RunDirectory) -> list[dict[str, Any]]:
    """All lines, without those cut short by a crash and without entries of the wrong type."""
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
    except ValueError:  # includes UnicodeDecodeError
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
    return isinstance(side, dict) and all(_is_number(side.get(name)) for name in ("score", "low", "high", "games"))


# machine.json.


class Machine(BaseObserver):
    """Writes machine.json: the machine, and the iteration from which on it trained the run."""

    def on_start(self, training: Training) -> None:
        iteration = training.counters.iteration
        before = [entry for entry in read_machines(training.run) if entry["from_iteration"] < iteration]
        replay = replay_size(training.state)
        entries = [*before, {"from_iteration": iteration, **describe_machine(), "replay": replay}]
        training.run.write(training.run.path / MACHINE, (json.dumps(entries, indent=2) + "\n").encode())


def read_machines(run: RunDirectory) -> list[dict[str, Any]]:
    """The entries of machine.json, oldest first; empty if the file is missing or damaged.

    In every entry, `from_iteration` is an integer and `versions` a table; nothing else is checked.
    """
    try:
        entries = parse_json(files.read_bytes(run.path / MACHINE, _LARGEST_MACHINE, within=run.path))
    except (OSError, ValueError):
        return []
    return [_sound(entry) for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _sound(entry: dict[str, Any]) -> dict[str, Any]:
    iteration, versions = entry.get("from_iteration"), entry.get("versions")
    return {
        **entry,
        "from_iteration": iteration if type(iteration) is int and 0 <= iteration < 2**53 else 0,
        "versions": versions if isinstance(versions, dict) else {},
    }


def describe_machine() -> dict[str, Any]:
    """Device, processor, date and versions."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": _commit(),
        "device": devices.describe(),
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),  # of the last minute, and ours too; above `cores`, others ran beside
        "python": platform.python_version(),
        "versions": {"tabia": __version__} | {name: version for name in _LIBRARIES if (version := _version(name))},
    }


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the source tree, with `+` if it has changes; None for an installed package."""
    try:
        commit, changes = _git("rev-parse", "--short=12", "HEAD"), _git("status", "--porcelain", "--untracked-files=no")
    except (OSError, subprocess.SubprocessError):
        return None
    return commit + ("+" if changes else "")


def _git(*words: str) -> str:
    folder = Path(__file__).parent
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True, timeout=10)
    return done.stdout.strip()


def _processor() -> str:
    """The name of the processor, if the system gives it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
