"""A run taken over in the middle of an iteration is the run before it, bit for bit, and repeats it when resumed."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from tabia.training import arena
from tabia.training.learning.learner import Learner
from tabia.training.loop import take_over, train
from tabia.training.observers import BaseObserver
from tabia.training.run.directory import RunDirectory
from tabia.training.run.metrics import Metrics
from tabia.training.run.stored_games import StoredGames
from tabia.training.selfplay.play import SelfPlay
from tabia.training.training import Training

from .comparing import same, timeless
from .test_kills import ENDLESS, straight

BEFORE = 3  # iterations that end; the run is taken over in the next one
CONFIG = ENDLESS.changed({"checkpoints.every": 1000})


class Pause:
    """Blocks the training thread forever at the fourth call."""

    def __init__(self, call: Callable | None = None) -> None:
        self.call, self.calls, self.reached = call, 0, threading.Event()

    def __call__(self, *words: object) -> object:
        self.calls += 1
        if self.calls > BEFORE:
            self.reached.set()
            threading.Event().wait()
        return self.call(*words) if self.call else {}


def pause_in(phase: str, monkeypatch: pytest.MonkeyPatch) -> tuple[Pause, list[BaseObserver]]:
    """A pause in a phase of the fourth iteration, and the observers it needs."""
    if phase == "evaluating":
        evaluating = BaseObserver()
        evaluating.on_iteration = pause = Pause()  # type: ignore[method-assign]
        return pause, [evaluating]
    if phase == "gating":
        pause = Pause()
        monkeypatch.setattr(arena, "gate_due", lambda plan, iteration: iteration > BEFORE)
        monkeypatch.setattr(arena, "run_gate", pause)
        pause.calls = BEFORE
        return pause, []
    owner, method = {"playing": (SelfPlay, "play"), "learning": (Learner, "learn")}[phase]
    pause = Pause(getattr(owner, method))
    if phase == "learning":
        pause.calls = 1  # the first iteration only fills the replay buffer

    def paused(*words: object) -> object:  # a function, so that it is bound as a method
        return pause(*words)

    monkeypatch.setattr(owner, method, paused)
    return pause, []


@pytest.mark.parametrize("phase", ["playing", "learning", "gating", "evaluating"])
def test_a_run_taken_over_is_saved_as_it_was_before_the_iteration(
    phase: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = straight(tmp_path / "straight", CONFIG, BEFORE)
    training = Training.begin(RunDirectory(tmp_path / "run"), CONFIG)
    with monkeypatch.context() as patched:
        pause, more = pause_in(phase, patched)
        observers = [*more, Metrics(), StoredGames()]
        threading.Thread(target=train, args=(training, observers), daemon=True).start()
        assert pause.reached.wait(120)
    training.stopping.append(signal.SIGINT)
    assert take_over(training, observers)
    assert (training.saved, training.phase) == (BEFORE, "done") and same(training.state, expected.state)
    (training.run.path / ".lock").unlink()  # held by the thread that never ends, as if its process had ended
    resumed = Training.resume(training.run)
    train(resumed, [Metrics(), StoredGames(), _Once()])
    further = straight(tmp_path / "further", CONFIG, BEFORE + 1)
    assert same(resumed.state, further.state) and timeless(resumed.run) == timeless(further.run)


class _Once(BaseObserver):
    """Stops a run after one iteration."""

    def on_iteration(self, training: Training, result: object) -> dict:
        training.stopping.append(signal.SIGINT)
        return {}


def test_a_run_that_has_ended_cannot_be_taken_over(tmp_path: Path) -> None:
    training = straight(tmp_path / "run", CONFIG, 1)
    assert not take_over(training)
    assert not training.guard.lock.locked()
