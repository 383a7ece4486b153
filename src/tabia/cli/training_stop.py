"""Ctrl-C and SIGTERM during a run: save and exit; a second one exits at once.

The run has a few seconds to end its iteration. After that, or if it is still compiling, it is saved as it was before
the iteration.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from tabia.cli import interrupts
from tabia.cli.training_display import Display
from tabia.training.loop import STOP_SECONDS, save_and_end
from tabia.training.observers import Observer
from tabia.training.training import Training


class Stop:
    """Stops one run when a signal arrives.

    with stop.on_interrupt():
        train(training, observers, signals=False)
    """

    def __init__(
        self,
        training: Training,
        observers: Sequence[Observer],
        shown: Display,
        *,
        resume: str,
        strength: Callable[[], str],
    ) -> None:
        self._training, self._observers, self._shown = training, observers, shown
        self._resume = resume  # the command that continues the run
        self._strength = strength  # the newest evaluation in words
        self._ended = threading.Event()
        self.number: int | None = None  # of the signal

    def on_interrupt(self) -> AbstractContextManager[None]:
        """Handle signals in this block."""
        return interrupts.on_interrupt(self._stop, seconds=STOP_SECONDS, too_late=self._too_late)

    def ended(self) -> None:
        """Call when the run has ended by itself and is saved."""
        self._ended.set()

    @property
    def status(self) -> int:
        """The exit status of a run that was stopped."""
        return 128 + (self.number or signal.SIGINT)

    @property
    def sentence(self) -> str:
        """What was saved, how strong it is, and how to continue."""
        return f"Saved iteration {self._training.saved}. {self._strength()} Continue with: {self._resume}"

    def _stop(self, number: int) -> str | None:
        self.number = number
        self._training.stopping.append(number)
        self._shown.stopping(self._training)
        return self.sentence if save_and_end(self._training, self._observers, self._ended) else None

    def _too_late(self) -> str:
        self._shown.close()
        saved = self._training.saved
        what = f"The newest checkpoint is from iteration {saved}." if saved >= 0 else "Nothing was saved yet."
        return f"{what} Continue with: {self._resume}"
