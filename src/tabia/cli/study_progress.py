"""A study while it runs: its progress, and what happens on Ctrl-C and SIGTERM."""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING

import typer

from tabia.cli import interrupts

if TYPE_CHECKING:
    from tabia.studies.part import Save
    from tabia.studies.runner import Observe


@contextmanager
def saying_how(resume: str) -> Iterator[None]:
    """On a signal, say how to resume; what a part must save, it saves itself."""
    sentence = f"Continue with: {resume}"
    with interrupts.on_interrupt(lambda number: sentence, too_late=lambda: sentence):
        yield


class Interrupts:
    """The signals of this process for the part in progress; implements `tabia.studies.part.Control`."""

    def __init__(self) -> None:
        self.number: int = signal.SIGINT

    @property
    def status(self) -> int:
        """The exit status after a signal."""
        return 128 + self.number

    def progress(self, done: float, total: float) -> None:
        """Shown by the observer of the run."""

    def on_interrupt(self, save: Save, seconds: float) -> AbstractContextManager[None]:
        def noted(number: int) -> str | None:
            self.number = number
            return save(number)

        return interrupts.on_interrupt(noted, seconds=seconds)


@contextmanager
def progress() -> Iterator[Observe]:
    """A bar with the remaining time on a terminal, a line per part elsewhere."""
    if not sys.stderr.isatty():
        yield _Lines()
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(elapsed_when_finished=False),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as shown:
        task = shown.add_task("", total=None)
        yield lambda part, done, total: shown.update(task, description=part, completed=done, total=total)


class _Lines:
    """One line when a part starts, with an estimate of the remaining time."""

    def __init__(self) -> None:
        self._part, self._started, self._before = "", time.monotonic(), 0.0

    def __call__(self, part: str, done: float, total: float) -> None:
        if part == self._part:
            return
        left = ""
        if done > self._before:
            spent = time.monotonic() - self._started
            minutes = spent / (done - self._before) * (total - done) / 60
            left = f", about {minutes:.0f} minutes left" if minutes >= 1.5 else ", about a minute left or less"
        if not self._part:
            self._before = done
        self._part = part
        typer.echo(f"{part} ({100 * done / max(total, 1e-9):.0f}% done{left})", err=True)
