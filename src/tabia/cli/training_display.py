"""What a run shows of itself: a panel on a terminal, lines of text elsewhere, lines of JSON where asked for.

    with display(as_json) as shown:
        train(training, [Evaluate(), Metrics(), shown])

A display comes last among the observers, so that it sees what the others found. Leaving the `with` block puts the
terminal back in order, whatever ended the run.
"""

from __future__ import annotations

import atexit
import sys
import time
from collections.abc import Callable
from typing import Any, Self, TextIO

from rich.console import Console
from rich.live import Live as RichLive

from tabia.cli import printing, training_panel
from tabia.cli.interrupts import hide_control_echo
from tabia.cli.training_panel import Sight, span
from tabia.training.iteration import Report
from tabia.training.loop import BaseObserver, Training
from tabia.training.report import strength
from tabia.training.run import metrics
from tabia.training.selfplay.replay import host_of
from tabia.training.state import whereabouts

_COMPILING = "compiling the programs of this run first, which can take a minute"


class Display(BaseObserver):
    """An observer that may hold a terminal; the base of all three."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def stopping(self, training: Training) -> None:
        """Say that the run was asked to stop."""

    def close(self) -> None:
        """Put things back in order."""


def display(as_json: bool = False) -> Display:
    """The display that suits: JSON if asked for, a panel on a terminal, otherwise lines of text."""
    if as_json:
        return JsonLines()
    return Live() if sys.stderr.isatty() else Plain()


class Live(Display):
    """A panel on stderr that is drawn anew four times a second, between iterations too."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(stderr=True, highlight=False)
        self._live: RichLive | None = None
        self._echo_again: Callable[[], None] = lambda: None
        self.sight: Sight | None = None

    def begun(self, training: Training) -> None:
        self.sight = sight = Sight(training)
        self._live = RichLive(
            console=self._console, get_renderable=lambda: training_panel.panel(sight), refresh_per_second=4
        )
        self._echo_again = hide_control_echo()
        self._live.start(refresh=True)
        atexit.register(self.close)  # a run may fail where nobody used `with`

    def on_iteration(self, training: Training, report: Report) -> dict[str, Any]:
        if self.sight is not None:
            self.sight.note(metrics.fields(training, report))
        return {}

    def stopping(self, training: Training) -> None:
        if self._live is not None:
            self._live.refresh()  # the panel itself says so

    def ended(self, training: Training, why: str) -> None:
        if self.sight is not None:
            self.sight.ended = why
        self.close()

    def close(self) -> None:
        """Leave the last panel on the screen and give the terminal back."""
        if self._live is not None:
            self._live.stop()
            self._echo_again()
        self._live = None


class Plain(Display):
    """A line every few seconds, and one for every evaluation and checkpoint."""

    def __init__(self, *, every: float = 5.0, file: TextIO | None = None) -> None:
        self._every, self._file, self._said = every, file, -every
        self.sight: Sight | None = None

    def begun(self, training: Training) -> None:
        self.sight = Sight(training)
        config, iteration = training.config, training.counters.iteration
        length = f"{config.minutes:g} minutes" if config.minutes else f"{config.iterations:,} iterations"
        since = f", from iteration {iteration:,}" if iteration else ""
        self._say(f"{config.game}, recipe {config.recipe}, seed {config.seed}: {length}{since}, in {training.run.path}")
        self._say(_COMPILING)
        if host_of(training.state.boards[0].buffer) is not None:
            self._say(f"the replay takes {whereabouts(training.state)}")

    def on_iteration(self, training: Training, report: Report) -> dict[str, Any]:
        assert self.sight is not None
        line = metrics.fields(training, report)
        self.sight.note(line)
        if time.monotonic() - self._said >= self._every:
            self._said = time.monotonic()
            self._say(training_panel.line(self.sight))
        found = training_panel.evaluations({name: (line["iteration"], value) for name, value in line.items()})
        if found:
            words = "; ".join(f"{name} {value} ({more})" if more else f"{name} {value}" for name, value, more in found)
            self._say(f"iteration {line['iteration']:,} | {words}")
        return {}

    def saved(self, training: Training) -> None:
        self._say(f"iteration {training.counters.iteration:,} | saved")

    def stopping(self, training: Training) -> None:
        self._say("stopping and saving; Ctrl-C again exits without saving")

    def ended(self, training: Training, why: str) -> None:
        counters = training.counters
        took = span(counters.seconds)
        self._say(
            f"{why} after {counters.iteration:,} iterations, {counters.games:,} games and {took}, in {training.run.path}"
        )

    def _say(self, text: str) -> None:
        print(text, file=self._file or sys.stderr, flush=True)


class JsonLines(Display):
    """A JSON object a line on stdout: every iteration's metrics, and what happens between them as `event`."""

    def __init__(self, write: Callable[[str], object] | None = None) -> None:
        self._write = write or (lambda text: print(text, flush=True))

    def begun(self, training: Training) -> None:
        config = training.config
        self._tell(
            "begun",
            training,
            game=config.game,
            recipe=config.recipe,
            seed=config.seed,
            minutes=config.minutes or None,
            iterations=None if config.minutes else config.iterations,
            doing=_COMPILING,
        )

    def on_iteration(self, training: Training, report: Report) -> dict[str, Any]:
        self._write(printing.json_line(metrics.fields(training, report)))
        return {}

    def saved(self, training: Training) -> None:
        self._tell("saved", training, checkpoint=str(training.run.checkpoints / str(training.saved)))

    def stopping(self, training: Training) -> None:
        self._tell("stopping", training)

    def ended(self, training: Training, why: str) -> None:
        counters, found = training.counters, strength.latest(training.run)
        self._tell(
            "ended",
            training,
            why=why,
            seconds=round(counters.seconds, 3),
            total_games=counters.games,
            positions=counters.positions,
            strength=None if found is None else found.to_dict(),
        )

    def _tell(self, event: str, training: Training, **more: Any) -> None:
        about = {"event": event, "run": str(training.run.path), "iteration": training.counters.iteration}
        self._write(printing.json_line(about | more))
