"""The observers that every run has, whoever starts it."""

from __future__ import annotations

from tabia.training.evaluate import Evaluate
from tabia.training.loop import Observer
from tabia.training.run.machine import Machine
from tabia.training.run.metrics import Metrics
from tabia.training.run.stored_games import StoredGames


def default_observers() -> list[Observer]:
    """Those that write machine.json, measure strength, write metrics.jsonl and store games, in this order."""
    return [Machine(), Evaluate(), Metrics(), StoredGames()]
