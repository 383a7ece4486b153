"""A run directory: the only state of a run.

runs/connect4/
    config.toml                     what was asked for
    metrics.jsonl                   a line a cycle, evaluations too
    machine.json                    what it ran on, and with which versions
    best                            the step of the best checkpoint, where a gate decides
    checkpoints/<cycle>/            weights.safetensors, state.safetensors (the newest alone), manifest.json
    games/                          self-play games, readable
    report.md, figures/             made by `tabia report`
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tabia.networks.weights import sync_directory
from tabia.training import settings
from tabia.training.config import Config
from tabia.training.errors import TrainingError

CONFIG, METRICS, BEST, LOCK = "config.toml", "metrics.jsonl", "best", ".lock"


@dataclass(frozen=True)
class RunDirectory:
    """Where a run lives."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def metrics(self) -> Path:
        return self.path / METRICS

    @property
    def games(self) -> Path:
        return self.path / "games"

    def check_free(self) -> None:
        """Refuse a directory where another run, or anything else, lives."""
        if (self.path / CONFIG).exists():
            raise TrainingError(
                f"{self.path} holds a run of {self.config().game} already. Go on with it by "
                f"`tabia resume {self.path}`, or give another directory with --out."
            )
        if self.path.exists() and (not self.path.is_dir() or any(self.path.iterdir())):
            raise TrainingError(f"{self.path} is not empty and holds no run; give another directory with --out.")

    def create(self, config: Config) -> None:
        """Begin a run here."""
        self.check_free()
        try:
            self.checkpoints.mkdir(parents=True)
            write_whole(self.path / CONFIG, settings.to_toml(config).encode())
        except OSError as error:
            raise TrainingError(f"{self.path} cannot be written: {error.strerror or error}.") from None

    def rewrite(self, config: Config) -> None:
        """Replace the configuration of a run, whole or not at all."""
        try:
            write_whole(self.path / CONFIG, settings.to_toml(config).encode())
        except OSError as error:
            raise TrainingError(f"{self.path / CONFIG} cannot be written: {error.strerror or error}.") from None

    def config(self) -> Config:
        """What was asked for."""
        try:
            text = (self.path / CONFIG).read_text(encoding="utf-8")
        except FileNotFoundError:
            raise TrainingError(f"{self.path} holds no run: it has no {CONFIG}.") from None
        except (OSError, UnicodeDecodeError) as error:
            raise TrainingError(f"{self.path / CONFIG} cannot be read: {error}.") from None
        return settings.from_toml(text, str(self.path / CONFIG))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else trains here meanwhile; the lock falls with the process that holds it."""
        try:
            file = (self.path / LOCK).open("w")
        except OSError as error:
            raise TrainingError(f"{self.path} cannot be written: {error.strerror or error}.") from None
        with file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise TrainingError(f"{self.path} is being trained by another process.") from None
            yield


def as_run(run: RunDirectory | Path | str) -> RunDirectory:
    """The run directory that is meant by a path."""
    return run if isinstance(run, RunDirectory) else RunDirectory(Path(run))


def make_folder(path: Path) -> Path:
    """A folder of a run, made if it is not there."""
    try:
        path.mkdir(exist_ok=True)
    except OSError as error:
        raise TrainingError(f"{path} cannot be made: {error.strerror or error}.") from None
    return path


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that a reader, or a crash, finds the old one or the new one."""
    aside = path.with_name(f".{path.name}.aside")
    write_synced(aside, content)
    aside.replace(path)
    sync_directory(path.parent)


def write_synced(path: Path, content: bytes) -> None:
    """Write a file and wait until it is on the disk."""
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
