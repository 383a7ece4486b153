"""`tabia doctor`: what Tabia needs from this machine, one line each, with what to do where something is wrong."""

from __future__ import annotations

import importlib.metadata
import itertools
import os
import platform
import shutil
import sqlite3
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import tabia

OK, WARNING, BROKEN = "ok", "warning", "broken"
LEAST_DISK, LEAST_MEMORY = 1 * 2**30, 2 * 2**30
_EXTRAS = {
    "server": ("fastapi", "uvicorn", "sqlalchemy", "alembic", "websockets"),
    "pgx": ("pgx",),
    "solver": ("numba",),
    "plots": ("matplotlib",),
    "spiel": ("open_spiel",),
    "gym": ("gymnasium", "pettingzoo"),
    "tensorboard": ("tensorboardX",),
    "onnx": ("onnx", "onnxruntime"),
}
_FILTERS, _BOARD, _BATCH = (1, 2, 4, 8, 16, 32, 64, 128, 256), (8, 8), 1024  # of convolutions that are checked
_FIXED_SQLITE = ((3, 51, 3), (3, 50, 7), (3, 44, 6))  # and everything later in the same series


@dataclass(frozen=True)
class Finding:
    """One line."""

    what: str
    state: str
    text: str


def examine(data: Path, runs: Path) -> Iterator[Finding]:
    """Everything worth a look, one after the other."""
    yield Finding("Tabia", OK, f"{tabia.__version__}, {Path(tabia.__file__).parent}")
    yield _python()
    yield _jax()
    yield from _convolutions()
    yield _memory()
    yield _sqlite()
    for name, path in (("data", data), ("runs", runs)):
        yield _writable(name, path)
        yield _disk(name, path)
    yield from map(_extra, _EXTRAS)


def _python() -> Finding:
    version = platform.python_version()
    return Finding("Python", OK, f"{version}, {platform.system()} {platform.machine()}, {os.cpu_count()} cores")


def _jax() -> Finding:
    try:
        import jax
        import jax.numpy as jnp

        device = jax.devices()[0]
        if int(jnp.arange(8).sum()) != 28:
            return Finding("device", BROKEN, f"{device.device_kind} computes wrongly; update jax and its drivers.")
    except Exception as error:
        return Finding("device", BROKEN, f"JAX does not start: {str(error)[:200]}. Reinstall jax.")
    kind = device.device_kind if device.platform != "cpu" else "CPU (training on a GPU is much faster)"
    return Finding("device", OK, f"{kind}, jax {jax.__version__}")


def _convolutions() -> Iterator[Finding]:
    """Whether a GPU or TPU computes convolutions correctly, by the number of filters."""
    try:
        import jax

        from tabia.networks import compute_type, inference_type, numerics
        from tabia.networks.layers import Layer

        if jax.default_backend() == "cpu":
            return
        types = dict.fromkeys((compute_type("auto"), inference_type(), compute_type("float32")))
        cases = list(itertools.product(_FILTERS, types))
        layers = [Layer("", filters, filters, kernel=3) for filters, _ in cases]
        with ThreadPoolExecutor() as threads:  # compiling one after the other takes over a minute
            errors = threads.map(lambda layer, case: numerics.error(layer, _BOARD, _BATCH, case[1]), layers, cases)
        wrong = [
            f"{filters} filters in {dtype}"
            for (filters, dtype), error in zip(cases, errors, strict=True)
            if error > numerics.TOLERANCE
        ]
    except Exception as error:
        yield Finding("convolutions", BROKEN, f"they fail: {str(error)[:200]}. Update jax and its drivers.")
        return
    if wrong:
        advice = "Train with other numbers of filters, or update jax and its drivers."
        yield Finding("convolutions", WARNING, f"this device computes some wrongly ({', '.join(wrong)}). {advice}")
    else:
        yield Finding("convolutions", OK, f"correct for {_FILTERS[0]} to {_FILTERS[-1]} filters")


def _memory() -> Finding:
    try:
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        free = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES")
    except (ValueError, OSError, AttributeError):
        return Finding("memory", OK, "unknown on this system")
    text = f"{total / 2**30:.1f} GiB, {free / 2**30:.1f} GiB unused"
    if total < LEAST_MEMORY:
        return Finding("memory", WARNING, f"{text}; large games need 2 GiB, so keep to small ones.")
    return Finding("memory", OK, text)


def sqlite_has_wal_bug(version: tuple[int, ...]) -> bool:
    """Whether a version can lose data in WAL mode with several writers: 3.7.0 to 3.51.2, but for backports.

    >>> sqlite_has_wal_bug((3, 40, 1)), sqlite_has_wal_bug((3, 44, 6)), sqlite_has_wal_bug((3, 51, 3))
    (True, False, False)
    """
    if not (3, 7, 0) <= version < (3, 51, 3):
        return False
    return not any(version[:2] == fixed[:2] and version >= fixed for fixed in _FIXED_SQLITE)


def _sqlite() -> Finding:
    version = sqlite3.sqlite_version
    if sqlite_has_wal_bug(sqlite3.sqlite_version_info):
        text = "its WAL mode can lose data; Tabia uses the rollback journal, so games are safe. Leave the mode alone."
        return Finding("SQLite", WARNING, f"{version}: {text}")
    return Finding("SQLite", OK, version)


def _writable(name: str, path: Path) -> Finding:
    place = _existing(path)
    try:
        with tempfile.TemporaryFile(dir=place):
            return Finding(name, OK, f"{path} can be written")
    except OSError as error:
        option = "--data" if name == "data" else "--runs"
        why = f"{place} cannot be written: {error.strerror}"
        return Finding(name, BROKEN, f"{why}. Change its permissions or choose another with {option}.")


def _disk(name: str, path: Path) -> Finding:
    try:
        free = shutil.disk_usage(_existing(path)).free
    except OSError as error:
        return Finding(f"{name} disk", BROKEN, f"{path}: {error.strerror}.")
    if free < LEAST_DISK:
        return Finding(f"{name} disk", WARNING, f"{free / 2**20:.0f} MiB free; make room, checkpoints need 1 GiB.")
    return Finding(f"{name} disk", OK, f"{free / 2**30:.0f} GiB free")


def _existing(path: Path) -> Path:
    """The path, or the nearest folder above it that exists."""
    return next((folder for folder in (path.absolute(), *path.absolute().parents) if folder.is_dir()), Path("/"))


def _extra(name: str) -> Finding:
    missing = [package for package in _EXTRAS[name] if not _is_installed(package)]
    if not missing:
        return Finding(f"extra {name}", OK, "installed")
    state = BROKEN if name == "server" else WARNING
    return Finding(f"extra {name}", state, f"{', '.join(missing)} missing; install tabia[{name}].")


def _is_installed(package: str) -> bool:
    try:
        importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return False
    return True
