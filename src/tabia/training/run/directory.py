"""A run directory: the only state of a run.

runs/connect4/
    config.toml                     the configuration
    metrics.jsonl                   one line per iteration, with evaluations
    machine.json                    the machine and the versions used
    best                            the iteration of the best checkpoint, if there is a gate
    checkpoints/<iteration>/        weights.safetensors, state.safetensors (newest ones only), manifest.json
    games/                          self-play games, readable
    report.md, figures/             written by `tabia report`

A run directory may come from anyone. Its files are data: reading them runs no code, follows no link out of the
directory, and accepts only regular files of a bounded size. `.lock` exists while a process trains here.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from tabia import __version__
from tabia.core import files, trust
from tabia.core.errors import nearest
from tabia.core.locks import FileLock
from tabia.core.parsing import parse_json, parse_toml
from tabia.core.text import plain, quote
from tabia.games import identity
from tabia.training.config import toml as settings
from tabia.training.config.schema import Config
from tabia.training.errors import TrainingError

CONFIG, METRICS, MACHINE, BEST, LOCK = "config.toml", "metrics.jsonl", "machine.json", "best", ".lock"
_CHECKPOINTS = "checkpoints"
_LARGEST_CONFIG = files.MEGABYTE


@dataclass(frozen=True)
class RunDirectory:
    """The directory of a run."""

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
        """Refuse a directory that holds a run or anything else; leftovers of a failed creation are fine."""
        if files.exists(self.path / CONFIG):
            raise TrainingError(
                f"{self.path} already holds a run{self._of_game()}. Resume it with `tabia resume {self.path}`, or give "
                "another directory with --out."
            )
        if not files.exists(self.path):
            return
        if not self.path.is_dir() or not all(map(_is_unfinished, self.path.iterdir())):
            raise TrainingError(f"{self.path} is not empty and holds no run. Give another directory with --out.")

    def create(self, config: Config) -> None:
        """Create the run; if that fails, for example on a full disk, the call can be repeated."""
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
        """Replace the configuration of the run atomically."""
        self.write(self.path / CONFIG, settings.to_toml(config).encode())

    def config(self, *, game: str | None = None, players: tuple[str, ...] = (), command: str = "resume") -> Config:
        """The configuration of the run.

        Making a game or player from a Python file runs that file. So a configuration that names one is refused, unless
        the caller names the same file as `game` or in `players`; the error shows how, for the given `command`.
        """
        config = self._read_config(command)
        self._check_trust(config, game, players, command)
        return config if game is None else replace(config, game=game)  # the file that the caller named

    def _read_config(self, command: str = "resume") -> Config:
        try:
            text = files.read_text(self.path / CONFIG, _LARGEST_CONFIG, within=self.path)
        except FileNotFoundError:
            raise self.missing() from None
        except OSError as error:
            raise TrainingError(f"{self.path / CONFIG} cannot be read: {error.strerror or error}.") from None
        with contextlib.suppress(ValueError):
            if settings.is_renamed(parse_toml(text)):
                raise self.too_old(command)
        return settings.from_toml(text, str(self.path / CONFIG))

    def missing(self) -> TrainingError:
        """The error for a path without a run; it names runs inside or beside it that may be meant."""
        if not self.path.is_dir():
            near = nearest(str(self.path), _runs_in(self.path.parent))
            hint = f" Did you mean {' or '.join(near)}?" if near else ""
            return TrainingError(f"{self.path} holds no run: there is no such directory.{hint}")
        inside = _runs_in(self.path)[:5]
        hint = f" There are runs inside, such as {', '.join(inside)}." if inside else ""
        return TrainingError(f"{self.path} holds no run: it has no {CONFIG}.{hint}")

    def _of_game(self) -> str:
        """The game of the run, in words; empty if its configuration cannot be read."""
        try:
            return f" of {plain(self._read_config().game)}"
        except TrainingError:
            return ""

    def too_old(self, command: str = "resume") -> TrainingError:
        """The error for a run of an earlier version of Tabia."""
        return TrainingError(
            f"{self.path} was written by Tabia {self._version()}; this is {__version__} and cannot {command} it. "
            f"Its weights can still be played: az:{self.path}"
        )

    def _version(self) -> str:
        """The version that wrote the run, as machine.json has it."""
        try:
            entries = parse_json(files.read_bytes(self.path / MACHINE, files.MEGABYTE, within=self.path))
            return plain(str(entries[-1]["versions"]["tabia"]))
        except (OSError, ValueError, LookupError, TypeError):
            return "0.1"

    def _check_trust(self, config: Config, game: str | None, players: tuple[str, ...], command: str) -> None:
        source, fix = str(self.path / CONFIG), f"tabia {command} {self.path}"
        if game is not None and not identity.is_same_name(game, config.game):
            raise TrainingError(f"{source} is for the game {quote(config.game)}, not for {quote(game)}.")
        named = () if game is None else (game,)
        for name in (*(() if named else (config.game,)), *config.other_boards):
            trust.check_data(name, source=source, fix=f"{fix} --game {quote(name)}", named=named)
        if command == "resume":  # no other command makes these players
            for spec in config.evaluation.opponents:
                trust.check_data(spec, source=source, fix=f"{fix} --player {quote(spec)}", named=players)

    def locked(self) -> contextlib.AbstractContextManager[None]:
        """Keep other processes from training here; the lock is released when its process ends."""
        if not files.exists(self.path):
            raise self.missing()
        return _locked(self.path)

    def make_folder(self, path: Path) -> Path:
        """A folder of the run, created if necessary."""
        try:
            return files.make_directory(path, within=self.path)
        except OSError as error:
            raise TrainingError(f"{path} cannot be created: {error.strerror or error}.") from None

    def write(self, path: Path, content: bytes) -> None:
        """Write a file of the run atomically."""
        try:
            files.write_atomic(path, content, within=self.path)
        except OSError as error:
            raise TrainingError(f"{path} cannot be written: {error.strerror or error}.") from None


def as_run(run: RunDirectory | Path | str) -> RunDirectory:
    """A run directory, or the one at a path."""
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


def _runs_in(path: Path) -> list[str]:
    """The paths of the runs in a directory; none if it cannot be read."""
    try:
        return sorted(str(config.parent) for config in path.glob(f"*/{CONFIG}"))
    except (OSError, ValueError):  # ValueError: not a valid name
        return []


def _is_unfinished(path: Path) -> bool:
    """Whether a failed or killed creation may have left this behind."""
    if path.name == _CHECKPOINTS:
        return path.is_dir() and not path.is_symlink() and not any(path.iterdir())
    return path.name == LOCK or (path.name.startswith(f".{CONFIG}.") and path.name.endswith(".tmp"))
