"""What a run was made on and with: machine.json, one entry for each time it was begun or gone on with."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from pathlib import Path
from typing import Any

import jax

from tabia.core import files
from tabia.core.parsing import parse_json
from tabia.training.loop import BaseObserver, Training
from tabia.training.run.directory import RunDirectory
from tabia.training.state import whereabouts

MACHINE = "machine.json"
_LARGEST = files.MEGABYTE
_LIBRARIES = ("tabia", "jax", "jaxlib", "flax", "optax", "numpy", "pgx", "mctx")


class Machine(BaseObserver):
    """Notes the machine when a run starts; a run may go on elsewhere, so entries say from which iteration on they hold."""

    def begun(self, training: Training) -> None:
        before = [entry for entry in read(training.run) if entry["from_cycle"] < training.counters.iteration]
        replay = whereabouts(training.state)
        entries = [*before, {"from_cycle": training.counters.iteration, **describe(), "replay": replay}]
        training.run.write(training.run.path / MACHINE, (json.dumps(entries, indent=2) + "\n").encode())


def read(run: RunDirectory) -> list[dict[str, Any]]:
    """The entries, oldest first; none where the file is missing or damaged.

    `from_cycle` is a whole number and `versions` a table in every entry; the rest is as the file has it.
    """
    try:
        entries = parse_json(files.read_bytes(run.path / MACHINE, _LARGEST, within=run.path))
    except (OSError, ValueError):
        return []
    return [_sound(entry) for entry in entries if isinstance(entry, dict)] if isinstance(entries, list) else []


def _sound(entry: dict[str, Any]) -> dict[str, Any]:
    iteration, versions = entry.get("from_cycle"), entry.get("versions")
    return {
        **entry,
        "from_cycle": iteration if type(iteration) is int and 0 <= iteration < 2**53 else 0,
        "versions": versions if isinstance(versions, dict) else {},
    }


def describe() -> dict[str, Any]:
    """Device, processor, date, and the versions of what runs here."""
    return {
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "commit": _commit(),
        "device": jax.devices()[0].device_kind,
        "processor": _processor(),
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 1),  # the last minute's, our own included: above `cores`, others were at work
        "python": platform.python_version(),
        "versions": {name: version for name in _LIBRARIES if (version := _version(name))},
    }


def _version(library: str) -> str | None:
    try:
        return importlib.metadata.version(library)
    except importlib.metadata.PackageNotFoundError:
        return None


def _commit() -> str | None:
    """The commit of the source tree, `+` where it has changes; None for an installed package."""
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
    """The processor's name, as far as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    named = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return named[0] if named else platform.machine()
