"""Training runs as the page shows them: read from their directories, each file taken as data from anyone.

A directory with a problem is listed with it. Nothing here makes a game or runs code that a directory names.
"""

from __future__ import annotations

import asyncio
import os
import re
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabia.core import files
from tabia.core.errors import TabiaError
from tabia.core.text import plain, printable
from tabia.games import Game, identity
from tabia.players import runs as networks
from tabia.server.catalog.agents import Agent
from tabia.server.errors import NotFound
from tabia.server.learn.curves import Line, flat, series, strength
from tabia.server.learn.trainings import Trainings
from tabia.server.play.importing import stored
from tabia.training.config.toml import from_tables
from tabia.training.run import checkpoint, metrics
from tabia.training.run.directory import CONFIG, LOCK, RunDirectory
from tabia.training.training import spent

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")
_AGENT = re.compile(rf"run:(?P<name>{NAME.pattern})@(?P<step>[0-9]{{1,12}})", re.ASCII)
ACTIVE = ("starting", "training")
"""The states of a run that a process trains."""
_MOST_RUNS, _MOST_GAMES = 500, 100
_LARGEST_CONFIG = files.MEGABYTE
_AGREEMENTS = ("agreement_search", "agreement_network")


@dataclass(frozen=True)
class Run:
    """A run as far as it can be read."""

    name: str
    path: Path
    settings: dict[str, Any]
    lines: list[Line]
    problem: str | None = None
    saved: int = -1  # the iteration of its newest checkpoint; -1 without one that can be read
    spent: float = 0.0  # the fraction of its budget, at that checkpoint

    @property
    def game(self) -> str:
        """The id of its game, as text."""
        return printable(str(self.settings.get("game", "")))[:400]

    @property
    def last(self) -> Line:
        """The newest line of its metrics."""
        return self.lines[-1] if self.lines else {}

    def progress(self, *, active: bool) -> float:
        """The fraction of its budget that is spent; a run that does not train is where its checkpoint is.

        A line of metrics does not count the evaluation of its iteration, which may take the rest of the time.
        """
        is_newer = self.last.get("iteration", 0) > self.saved
        return float(self.last.get("progress", 0.0)) if self.saved < 0 or (active and is_newer) else self.spent


class Runs:
    """The runs in a directory, and the trainings started from the page."""

    def __init__(self, directory: Path, *, allowed: bool = True) -> None:
        self.directory, self.allowed = directory, allowed
        self.trainings = Trainings(directory)
        self._cache: dict[str, tuple[tuple[float, ...], Run]] = {}

    async def close(self) -> None:
        """Ask running trainings to save and stop."""
        self.trainings.close()

    def names(self) -> list[str]:
        """The directories that hold a run or what is left of one, newest first."""
        try:
            found = [path for path in self.directory.iterdir() if NAME.fullmatch(path.name) and _looks_like_run(path)]
        except OSError:
            return []
        return [path.name for path in sorted(found, key=_changed_at, reverse=True)[:_MOST_RUNS]]

    def read(self, name: str) -> Run:
        """A run by its name; read again when its files have changed."""
        path = self.directory / name
        if not NAME.fullmatch(name) or not _looks_like_run(path):
            raise NotFound(f"There is no run {plain(name)[:80]} in {self.directory}.")
        stamp = tuple(_changed_at(path / file) for file in (CONFIG, metrics_name(path), "checkpoints"))
        held = self._cache.get(name)
        if held is None or held[0] != stamp:
            held = self._cache[name] = (stamp, _read(name, path))
        return held[1]

    def state(self, run: Run) -> str:
        """The run in one word: starting, training, stopped, finished or damaged."""
        active = self.trainings.is_active(run.name) or _is_locked(run.path / LOCK)
        if run.problem is not None and not active:
            return "damaged"
        if active:
            return "training" if run.lines else "starting"
        return "finished" if run.progress(active=False) >= 1.0 else "stopped"

    def summary(self, name: str) -> dict[str, Any]:
        """One row of the list of runs."""
        run = self.read(name)
        last = run.last
        state = self.state(run)
        measured = next((line for line in reversed(run.lines) if any(key in line for key in _AGREEMENTS)), {})
        return {
            "name": run.name,
            "game": run.game,
            "recipe": printable(str(run.settings.get("recipe", "")))[:100],
            "state": state,
            "problem": run.problem or self.trainings.problem(name),
            "iteration": last.get("iteration", 0),
            "progress": round(run.progress(active=state in ACTIVE), 5),
            "minutes": round(last.get("seconds", 0.0) / 60, 2),
            "games": last.get("total_games", 0),
            "positions": last.get("positions", 0),
            "agreement": next((measured[key] for key in _AGREEMENTS if key in measured), None),
            "checkpoints": len(networks.steps(run.path)),
        }

    def progress(self, name: str) -> tuple[dict[str, Any], list[Line]]:
        """The row of a run and its metrics, also of a training that has written nothing yet."""
        if self._is_only_starting(name):
            return self.trainings.describe(name), []
        return self.summary(name), self.read(name).lines

    async def stop(self, name: str) -> dict[str, Any]:
        """Save and stop a training; its row, also if it has written nothing."""
        await self.trainings.stop(name)
        is_written = await asyncio.to_thread(_looks_like_run, self.directory / name)
        return await asyncio.to_thread(self.summary if is_written else self.trainings.describe, name)

    def listed(self) -> list[dict[str, Any]]:
        """All runs, with those that are only being started."""
        names = self.names()
        starting = [name for name in self.trainings.active() if name not in names]
        return [*map(self.trainings.describe, starting), *map(self.summary, names)]

    def detail(self, name: str) -> dict[str, Any]:
        """Everything about a run: settings, curves, checkpoints, strength."""
        if self._is_only_starting(name):
            nothing: dict[str, Any] = {"settings": {}, "series": {}, "checkpoints": [], "strength": []}
            return {**self.trainings.describe(name), **nothing}
        run = self.read(name)
        seconds = {line["iteration"]: line["seconds"] for line in run.lines}
        return {
            **self.summary(name),
            "settings": flat(run.settings),
            "series": series(run.lines),
            "checkpoints": [
                {"iteration": step, "seconds": seconds.get(step), "agent": f"run:{name}@{step}"}
                for step in networks.steps(run.path)
            ],
            "strength": strength(run.lines),
        }

    def _is_only_starting(self, name: str) -> bool:
        """Whether a training has been started here that has written nothing yet."""
        return self.trainings.is_active(name) and not _looks_like_run(self.directory / name)

    def agents(self, game: Game) -> list[Agent]:
        """The checkpoints of all runs of a game, as opponents."""
        found = []
        for name in self.names():
            run = self.read(name)
            if run.problem is None and identity.is_same(game, run.game):
                found += [_agent(run, step) for step in networks.steps(run.path)]
        return found

    def agent(self, game: Game, id: str) -> Agent | None:
        """The checkpoint with an id such as `run:first@40`."""
        parts = _AGENT.fullmatch(id)
        if parts is None or not _looks_like_run(self.directory / parts["name"]):
            return None
        run, step = self.read(parts["name"]), int(parts["step"])
        is_there = run.problem is None and identity.is_same(game, run.game) and step in networks.steps(run.path)
        return _agent(run, step) if is_there else None

    def best(self, family: str) -> str:
        """The best checkpoint of a run, by the id of its agents without a version: `run:first`."""
        return networks.weights_file(str(self.read(family.removeprefix("run:")).path)).parent.name

    def compare(self, a: str, b: str) -> dict[str, Any]:
        """What differs between two runs, settings first."""
        one, other = self.read(a), self.read(b)
        first, second = _effective(flat(one.settings)), _effective(flat(other.settings))
        keys = sorted({*first, *second}, key=lambda key: (list(first).index(key) if key in first else 10**6, key))
        return {
            "settings": [
                {"key": key, "a": first.get(key), "b": second.get(key)}
                for key in keys
                if first.get(key) != second.get(key)
            ],
            "a": self.summary(a),
            "b": self.summary(b),
            "series": {"a": series(one.lines), "b": series(other.lines)},
        }

    def games(self, name: str, checkpoint: int | None) -> dict[str, Any]:
        """Self-play games of a checkpoint, the newest with games if not given."""
        if self._is_only_starting(name):
            return {"games": [], "checkpoint": checkpoint, "checkpoints": []}
        run = self.read(name)
        folder = RunDirectory(run.path).games
        held = sorted(int(path.stem) for path in folder.glob("*.txt") if re.fullmatch("[0-9]{1,12}", path.stem))
        wanted = checkpoint if checkpoint is not None else max(held, default=None)
        if wanted not in held:
            return {"games": [], "checkpoint": wanted, "checkpoints": held}
        found = stored(folder / f"{wanted}.txt", within=run.path)[:_MOST_GAMES]
        games = [{"moves": " ".join(record.moves), "scores": list(record.scores)} for record in found]
        return {"games": games, "checkpoint": wanted, "checkpoints": held, "game": run.game}

    def weights(self, name: str) -> Path:
        """The directory of a run with at least one checkpoint."""
        run = self.read(name)
        if not networks.steps(run.path):
            raise NotFound(f"{name} has no checkpoint yet; wait for the first.")
        return run.path


def metrics_name(path: Path) -> str:
    """The name of the file of metrics."""
    return RunDirectory(path).metrics.name


def _read(name: str, path: Path) -> Run:
    settings: dict[str, Any] = {}
    try:
        settings = tomllib.loads(files.read_text(path / CONFIG, _LARGEST_CONFIG, within=path))
        run = RunDirectory(path)
        return Run(name, path, settings, metrics.read(run), _problem(settings), *_saved(run, settings))
    except FileNotFoundError:
        problem = f"It has no {CONFIG}: a training that was stopped while it started, or a copy that is not complete."
    except (OSError, tomllib.TOMLDecodeError, RecursionError) as error:
        problem = f"{CONFIG} cannot be read: {printable(str(error))[:200]}."
    except TabiaError as error:
        problem = printable(str(error))[:300]
    return Run(name, path, settings, [], problem)


def _saved(run: RunDirectory, settings: dict[str, Any]) -> tuple[int, float]:
    """The iteration of the newest checkpoint, and how much of the budget is spent there, as a resumed run has it."""
    try:
        config, counters = from_tables(settings), checkpoint.newest_counters(run)
    except (TabiaError, ValueError):  # of another version, or damaged
        return -1, 0.0
    return (-1, 0.0) if counters is None else (counters.iteration, spent(config, counters))


def _problem(settings: dict[str, Any]) -> str | None:
    game = settings.get("game")
    return None if isinstance(game, str) and game else f"{CONFIG} does not name its game."


def _effective(settings: dict[str, Any]) -> dict[str, Any]:
    """Flat settings without a number of iterations where a length in minutes replaces it."""
    return {key: value for key, value in settings.items() if key != "iterations" or not settings.get("minutes")}


def _agent(run: Run, step: int) -> Agent:
    minutes = next((line["seconds"] / 60 for line in run.lines if line["iteration"] == step), None)
    when = "" if minutes is None else f" after {minutes:.1f} minutes of training"
    return Agent(
        id=f"run:{run.name}@{step}",
        spec=f"az:{run.path}@{step},simulations=64",
        name=f"{run.name}, iteration {step}",
        about=f"Your own run{when}.",
        group="runs",
    )


def _looks_like_run(path: Path) -> bool:
    parts = (CONFIG, metrics_name(path), "checkpoints")
    return path.is_dir() and not path.is_symlink() and any(files.exists(path / part) for part in parts)


def _changed_at(path: Path) -> float:
    try:
        found = path.stat()
    except OSError:
        return 0.0
    return found.st_mtime + found.st_size * 1e-9


def _is_locked(path: Path) -> bool:
    """Whether a process holds the lock of a run; looked up, because taking it could disturb a process that starts."""
    try:
        inode = path.stat().st_ino
        locks = Path("/proc/locks").read_text(encoding="ascii", errors="replace")
    except OSError:
        return False
    return any(f":{inode} " in line and "FLOCK" in line for line in locks.splitlines()) and os.path.lexists(path)
