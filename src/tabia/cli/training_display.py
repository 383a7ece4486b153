"""Displays of a run: a panel on a terminal, lines of text elsewhere, JSON lines on request.

    with display(as_json) as shown:
        train(training, [Evaluate(), Metrics(), shown])

A display comes last among the observers, so that it sees what the others found. Leaving the `with` block restores the
terminal, however the run ended.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Callable
from typing import Any, Self, TextIO

from rich.console import Console
from rich.live import Live as RichLive
from rich.text import Text

from tabia.cli import printing, training_panel
from tabia.cli.interrupts import hide_control_echo
from tabia.cli.training_panel import View, span
from tabia.training.iteration import IterationResult
from tabia.training.observers import BaseObserver
from tabia.training.report import strength
from tabia.training.run import metrics
from tabia.training.selfplay.replay import host_of
from tabia.training.state import replay_size
from tabia.training.training import Training

_COMPILING = "compiling, which can take a minute"


class Display(BaseObserver):
    """An observer that may use a terminal; the base class of all three."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stopping(self, training: Training) -> None:
        """Show that the run was asked to stop."""

    def note(self, text: str) -> None:
        """Show a line about something that happened in between, such as an actor that died."""
        print(text, file=sys.stderr, flush=True)

    def close(self) -> None:
        """Restore the terminal."""


def display(as_json: bool = False) -> Display:
    """JSON lines on request, a panel on a terminal, otherwise lines of text."""
    if as_json:
        return JsonLines()
    return Live() if sys.stderr.isatty() else Plain()


class Live(Display):
    """A panel on stderr, redrawn four times per second."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._live: RichLive | None = None
        self._restore_echo: Callable[[], None] = lambda: None
        self.view: View | None = None

    def on_start(self, training: Training) -> None:
        self.view = view = View(training)
        self._live = RichLive(
            console=self._console, get_renderable=lambda: training_panel.panel(view), refresh_per_second=4
        )
        self._restore_echo = hide_control_echo()
        self._live.start(refresh=True)
        atexit.register(self.close)  # in case a run fails outside a `with` block

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        if self.view is not None:
            self.view.note(metrics.fields(training, result))
        return {}

    def stopping(self, training: Training) -> None:
        if self._live is not None:
            self._live.refresh()  # the panel shows it

    def note(self, text: str) -> None:
        self._console.print(Text(text))  # above the panel

    def on_end(self, training: Training, why: str) -> None:
        if self.view is not None:
            self.view.ended = why
        self.close()

    def close(self) -> None:
        """Leave the last panel on the screen and restore the terminal."""
        if self._live is not None:
            self._live.stop()
            self._restore_echo()
        self._live = None


class Plain(Display):
    """A line every few seconds, and one per evaluation and checkpoint."""

    def __init__(self, *, every: float = 5.0, file: TextIO | None = None) -> None:
        self._every, self._file, self._printed = every, file, -every
        self.view: View | None = None

    def on_start(self, training: Training) -> None:
        self.view = View(training)
        config, iteration = training.config, training.counters.iteration
        since = f", from iteration {iteration:,}" if iteration else ""
        self._print(
            f"{config.game}, recipe {config.recipe}, seed {config.seed}: {config.length}{since}, in {training.run.path}"
        )
        self._print(_COMPILING)
        if host_of(training.state.boards[0].buffer) is not None:
            self._print(f"the replay buffer takes {replay_size(training.state)}")

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        assert self.view is not None
        line = metrics.fields(training, result)
        self.view.note(line)
        if time.monotonic() - self._printed >= self._every:
            self._printed = time.monotonic()
            self._print(training_panel.line(self.view))
        found = training_panel.evaluations({name: (line["iteration"], value) for name, value in line.items()})
        if found:
            words = "; ".join(f"{name} {value} ({more})" if more else f"{name} {value}" for name, value, more in found)
            self._print(f"iteration {line['iteration']:,} | {words}")
        return {}

    def on_save(self, training: Training) -> None:
        self._print(f"iteration {training.counters.iteration:,} | saved")

    def note(self, text: str) -> None:
        self._print(text)

    def stopping(self, training: Training) -> None:
        self._print("stopping and saving; Ctrl-C again exits without saving")

    def on_end(self, training: Training, why: str) -> None:
        counters = training.counters
        iterations = f"{counters.iteration:,} iteration{'' if counters.iteration == 1 else 's'}"
        done = f"{iterations}, {counters.games:,} games and {span(counters.seconds)}"
        self._print(f"{why} after {done}, in {training.run.path}")

    def _print(self, text: str) -> None:
        print(text, file=self._file or sys.stderr, flush=True)


class JsonLines(Display):
    """One JSON object per line on stdout: the metrics of every iteration, and events in between."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write or (lambda text: print(text, flush=True))

    def on_start(self, training: Training) -> None:
        config = training.config
        self._event(
            "started",
            training,
            game=config.game,
            recipe=config.recipe,
            seed=config.seed,
            minutes=config.minutes or None,
            iterations=None if config.minutes else config.iterations,
            phase=_COMPILING,
        )

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        self._write(printing.json_line(metrics.fields(training, result)))
        return {}

    def on_save(self, training: Training) -> None:
        self._event("saved", training, checkpoint=str(training.run.checkpoints / str(training.saved)))

    def stopping(self, training: Training) -> None:
        self._event("stopping", training)

    def note(self, text: str) -> None:
        self._write(printing.json_line({"event": "note", "text": text}))

    def on_end(self, training: Training, why: str) -> None:
        counters, found = training.counters, strength.latest(training.run)
        self._event(
            "ended",
            training,
            why=why,
            seconds=round(counters.seconds, 3),
            total_games=counters.games,
            positions=counters.positions,
            strength=None if found is None else found.to_dict(),
        )

    def _event(self, event: str, training: Training, **more: Any) -> None:
        about = {"event": event, "run": str(training.run.path), "iteration": training.counters.iteration}
        self._write(printing.json_line(about | more))
