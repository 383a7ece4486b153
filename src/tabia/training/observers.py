"""Observers: they receive the results of every iteration and never change the run.

Metrics, evaluations, stored games and displays are observers; so is anything that a caller adds.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from tabia.training.iteration import IterationResult
    from tabia.training.training import Training


class Observer(Protocol):
    """What the loop calls; derive from `BaseObserver` to implement only some of it."""

    def on_start(self, training: Training) -> None:
        """Before the first iteration of this process, of a new run or a resumed one."""
        ...

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        """After every iteration; the values returned join its metrics, and later observers see them."""
        ...

    def on_save(self, training: Training) -> None:
        """After every checkpoint, once it is verified on disk."""
        ...

    def on_end(self, training: Training, why: str) -> None:
        """After the last iteration; `why` is "finished" or "stopped"."""
        ...


class BaseObserver:
    """No-op base class."""

    def on_start(self, training: Training) -> None:
        pass

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        return {}

    def on_save(self, training: Training) -> None:
        pass

    def on_end(self, training: Training, why: str) -> None:
        pass
