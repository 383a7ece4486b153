"""A benchmark's figures with what makes them comparable: command, machine, versions, date, commit."""

from __future__ import annotations

import datetime
import importlib.metadata
import json
import os
import platform
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import jax

_LIBRARIES = ("tabia", "jax", "jaxlib", "numpy", "pgx", "mctx")


class Row(Protocol):
    """One line of a benchmark."""

    def fields(self) -> dict[str, Any]: ...


def text(rows: Sequence[Row], method: str, *, command: str) -> str:
    """The report as JSON."""
    told = {**surroundings(command), "method": method, "rows": [row.fields() for row in rows]}
    return json.dumps(told, indent=2) + "\n"


def surroundings(command: str) -> dict[str, Any]:
    """Where, when and with what the figures were measured."""
    return {
        "command": command,
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
