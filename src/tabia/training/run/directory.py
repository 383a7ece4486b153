"""A run directory: the only state of a run.

runs/connect4/
    config.toml                     what was asked for
    metrics.jsonl                   a line an iteration, evaluations too
    machine.json                    what it ran on, and with which versions
    best                            the step of the best checkpoint, where a gate decides
    checkpoints/<iteration>/            weights.safetensors, state.safetensors (the newest alone), manifest.json
    games/                          self-play games, readable
    report.md, figures/             made by `tabia report`

A run directory may come from anyone. Its files are data: reading them runs no code, follows no link out of the
directory, and takes only regular files of a bounded size. `.lock` exists while a process trains here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tabia.core import files, trust
from tabia.core.locks import FileLock
from tabia.core.text import plain, quote
from tabia.games import identity
from tabia.training.config import toml as settings
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError

CONFIG, METRICS, BEST, LOCK = "config.toml", "metrics.jsonl", "best", ".lock"
_CHECKPOINTS = "checkpoints"
_LARGEST_CONFIG = files.MEGABYTE


@dataclass(frozen=True)
class RunDirectory:
    """Where a run lives."""

    path: Path

    @property
    def checkpoints(self) -> Path:
        return self.path / _CHECKPOINTS

    @property
    def metrics(self) -> Path:
        return self.path / METRICS

    @property
    def games(self) -> Path:
        return self.path / "games"

    def check_free(self) -> None:
        """Refuse a directory where another run, or anything else, lives; what a failed creation left is no obstacle."""
        if files.exists(self.path / CONFIG):
            raise TrainingError(
                f"{self.path} holds a run of {plain(self._read_config().game)} already. Go on with it by "
                f"`tabia resume {self.path}`, or give another directory with --out."
            )
        if not files.exists(self.path):
            return
        if not self.path.is_dir() or not all(map(_is_unfinished, self.path.iterdir())):
            raise TrainingError(f"{self.path} is not empty and holds no run; give another directory with --out.")

    def create(self, config: Config) -> None:
        """Begin a run here; if that fails, for example on a full disk, the same call can be repeated."""
        try:
            files.make_directory(self.path)
            with self.locked():
                self.check_free()
                files.remove_unfinished(self.path)
                try:
                    files.make_directory(self.checkpoints, within=self.path)
                    files.write_atomic(self.path / CONFIG, settings.to_toml(config).encode(), within=self.path)
                except BaseException:
                    with contextlib.suppress(OSError):
                        (self.path / CONFIG).unlink(missing_ok=True)
                        self.checkpoints.rmdir()
                    raise
        except OSError as error:
            raise TrainingError(f"{self.path} cannot be written: {error.strerror or error}.") from None

    def rewrite(self, config: Config) -> None:
        """Replace the configuration of a run, whole or not at all."""
        self.write(self.path / CONFIG, settings.to_toml(config).encode())

    def config(self, *, game: str | None = None, players: tuple[str, ...] = (), command: str = "resume") -> Config:
        """What was asked for.

        A configuration that names Python files is refused, because making such a game or player runs the file, unless
        the caller has named the same ones as `game` and `players`; `command` is the one the refusal shows.
        """
        config = self._read_config()
        self._check_trust(config, game, players, command)
        return config if game is None else replace(config, game=game)  # the file that the caller named

    def _read_config(self) -> Config:
        try:
            text = files.read_text(self.path / CONFIG, _LARGEST_CONFIG, within=self.path)
        except FileNotFoundError:
            raise TrainingError(f"{self.path} holds no run: it has no {CONFIG}.") from None
        except OSError as error:
            raise TrainingError(f"{self.path / CONFIG} cannot be read: {error.strerror or error}.") from None
        return settings.from_toml(text, str(self.path / CONFIG))

    def _check_trust(self, config: Config, game: str | None, players: tuple[str, ...], command: str) -> None:
        source, fix = str(self.path / CONFIG), f"tabia {command} {self.path}"
        if game is not None and not identity.is_same_name(game, config.game):
            raise TrainingError(f"{source} is of the game {quote(config.game)}, not of {quote(game)}.")
        named = () if game is None else (game,)
        for name in (*(() if named else (config.game,)), *config.other_boards):
            trust.check_data(name, source=source, fix=f"{fix} --game {quote(name)}", named=named)
        if command == "resume":  # nothing else makes these players
            for spec in config.evaluation.opponents:
                trust.check_data(spec, source=source, fix=f"{fix} --player {quote(spec)}", named=players)

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Nobody else trains here meanwhile; the lock falls with the process that holds it."""
        return _locked(self.path)

    def make_folder(self, path: Path) -> Path:
        """A folder of the run, made if it is not there."""
        try:
            return files.make_directory(path, within=self.path)
        except OSError as error:
            raise TrainingError(f"{path} cannot be made: {error.strerror or error}.") from None

    def write(self, path: Path, content: bytes) -> None:
        """Write one of the run's files atomically."""
        try:
            files.write_atomic(path, content, within=self.path)
        except OSError as error:
            raise TrainingError(f"{path} cannot be written: {error.strerror or error}.") from None


def as_run(run: RunDirectory | Path | str) -> RunDirectory:
    """The run directory that is meant by a path."""
    return run if isinstance(run, RunDirectory) else RunDirectory(Path(run))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    lock = FileLock(path / LOCK)
    try:
        lock.__enter__()
    except BlockingIOError:
        raise TrainingError(f"{path} is being trained by another process.") from None
    except OSError as error:
        raise TrainingError(f"{path} cannot be written: {error.strerror or error}.") from None
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def _is_unfinished(path: Path) -> bool:
    """Whether a creation that failed, or was killed, may have left this behind."""
    if path.name == _CHECKPOINTS:
        return path.is_dir() and not path.is_symlink() and not any(path.iterdir())
    return path.name == LOCK or (path.name.startswith(f".{CONFIG}.") and path.name.endswith(".tmp"))
