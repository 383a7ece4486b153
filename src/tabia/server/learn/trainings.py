"""Trainings started from the page: subprocesses of the ordinary command, one at a time.

Stopping sends SIGTERM, on which `tabia train` saves a checkpoint and exits. A training outlives the server only as
long as it takes to save.
"""

from __future__ import annotations

import asyncio
import json
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tabia.core.text import printable
from tabia.server.errors import NotFound, Refused

STOP_SECONDS = 60.0
"""How long a stopped training may take to save."""
_TOOL_SECONDS = 300.0  # for an estimate or a proof
_LARGEST_ERROR = 4000


@dataclass(eq=False)
class _Training:
    name: str
    game: str
    recipe: str
    process: subprocess.Popen[bytes]
    log: Path
    stopped: bool = False


class Trainings:
    """The processes started here."""

    def __init__(self, directory: Path, *, most: int = 1) -> None:
        self._directory, self._most = directory, most
        self._starting = threading.Lock()
        self._started: dict[str, _Training] = {}
        self._estimates: dict[tuple[str, str], dict[str, Any]] = {}
        self._tools = asyncio.Lock()

    def active(self) -> list[str]:
        """The names of the trainings under way."""
        return [name for name, training in list(self._started.items()) if training.process.poll() is None]

    def is_active(self, name: str) -> bool:
        """Whether a training started here is under way."""
        return name in self.active()

    def problem(self, name: str) -> str | None:
        """Why a training started here has failed, if it has."""
        training = self._started.get(name)
        if training is None or training.stopped or training.process.poll() in (None, 0):
            return None
        try:
            lines = training.log.read_bytes()[-_LARGEST_ERROR:].decode(errors="replace").strip().splitlines()
        except OSError:
            lines = []
        return printable(lines[-1])[:300] if lines else f"The training exited with {training.process.returncode}."

    def describe(self, name: str) -> dict[str, Any]:
        """A training without a directory: it has written nothing yet, or has ended before it did."""
        training = self._started[name]
        is_active = training.process.poll() is None
        return {
            "name": name,
            "game": training.game,
            "recipe": training.recipe,
            "state": "starting" if is_active else "stopped",
            "problem": self.problem(name),
            "iteration": 0,
            "progress": 0.0,
            "minutes": 0.0,
            "agreement": None,
            "checkpoints": 0,
        }

    def start(self, game: str, recipe: str, *, name: str | None, minutes: float | None, seed: int | None) -> str:
        """Start `tabia train`; returns the name of the run."""
        with self._starting:
            name = name or self._free_name(game)
            path = self._directory / name
            if path.exists():
                raise Refused(f"There is a run {name} already; choose another name or resume it.")
            options = ["--recipe", recipe, "--out", str(path), "--json"]
            options += [] if minutes is None else ["--minutes", str(minutes)]
            options += [] if seed is None else ["--seed", str(seed)]
            self._run(name, game, recipe, ["train", game, *options])
        return name

    def resume(self, name: str, game: str, recipe: str, *, minutes: float | None, own_file: bool) -> None:
        """Resume a run with `tabia resume`."""
        options = ["--json", *([] if minutes is None else ["--minutes", str(minutes)])]
        options += ["--game", game] if own_file else []
        with self._starting:
            self._run(name, game, recipe, ["resume", str(self._directory / name), *options])

    def _run(self, name: str, game: str, recipe: str, arguments: list[str]) -> None:
        """Start a process unless one runs; the lock is held, so that requests at once do not start two."""
        if len(self.active()) >= self._most:
            raise Refused(f"The run {self.active()[0]} is in progress; stop it first.")
        self._directory.mkdir(parents=True, exist_ok=True)
        log = self._directory / f".{name}.log"
        with log.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", "tabia", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=errors,
                start_new_session=True,  # Ctrl-C in the terminal reaches the server, which then stops it once
            )
        self._started[name] = _Training(name=name, game=game, recipe=recipe, process=process, log=log)

    async def stop(self, name: str) -> None:
        """Ask a training to save and exit, and wait for it."""
        training = self._started.get(name)
        if training is None or training.process.poll() is not None:
            raise NotFound(f"{name} is not being trained from this page.")
        training.stopped = True
        training.process.send_signal(signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            await asyncio.to_thread(training.process.wait, STOP_SECONDS)

    def close(self) -> None:
        """Ask every training to save and exit, without waiting."""
        for name in self.active():
            self._started[name].stopped = True
            self._started[name].process.send_signal(signal.SIGTERM)

    async def estimate(self, game: str, recipe: str) -> dict[str, Any]:
        """What `tabia train --estimate` measures."""
        if (game, recipe) not in self._estimates:
            found = await self._tool("train", game, "--recipe", recipe, "--estimate", "--json")
            most = "At most" if found["games"] else "About"  # a number of games may end the run earlier
            text = f"{most} {found['minutes']:.1f} minutes here, {found['positions']:,} positions of self-play."
            self._estimates[game, recipe] = {**found, "text": text}
        return self._estimates[game, recipe]

    async def prove(self, game: str, path: Path) -> dict[str, Any]:
        """What `tabia prove` says about the newest network of a run."""
        proofs = await self._tool("prove", game, f"network:{path}@latest", "--json", exits=(0, 1))
        lost = sum(proof["lost"] for proof in proofs)
        lines = sum(proof["lines"] for proof in proofs)
        text = (
            f"Proved: none of {lines:,} lines of moves from the start beats the network alone, without search."
            if not lost
            else f"{lost:,} of {lines:,} lines of moves from the start still beat the network alone, without search."
        )
        return {"proved": not lost, "seats": proofs, "text": text}

    async def _tool(self, *arguments: str, exits: tuple[int, ...] = (0,)) -> Any:
        """The JSON that a command of Tabia prints; one such command at a time."""
        async with self._tools:
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                *("-m", "tabia"),
                *arguments,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                start_new_session=True,
            )
            try:
                printed, said = await asyncio.wait_for(process.communicate(), _TOOL_SECONDS)
            except TimeoutError:
                raise Refused("This takes too long here; use the command line.") from None
            finally:
                if process.returncode is None:
                    process.kill()
        if process.returncode not in exits:
            lines = said.decode(errors="replace").strip().splitlines() or ["It failed without a word."]
            raise Refused(printable(lines[-1])[:300])
        return json.loads(printed)

    def _free_name(self, game: str) -> str:
        base = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in game).strip("-")[:60]
        names = (base if number == 1 else f"{base}-{number}" for number in range(1, 10_000))
        return next(name for name in names if not (self._directory / name).exists() and name not in self._started)
