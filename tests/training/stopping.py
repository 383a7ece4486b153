"""Runs that stop after an iteration, as on Ctrl-C."""

from __future__ import annotations

import signal
from typing import Any

from tabia.training import BaseObserver, Training
from tabia.training.iteration import IterationResult


class Until(BaseObserver):
    """Stops a run after an iteration."""

    def __init__(self, iteration: int) -> None:
        self.iteration = iteration

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        if training.counters.iteration == self.iteration:
            training.stopping.append(signal.SIGINT)
        return {}
