"""The training loop: play, store, learn, gate, save.

    training = Training.begin("runs/connect4", config)
    train(training, default_observers())

Ctrl-C and SIGTERM let the iteration end and save. `take_over` saves without waiting for that.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence

from tabia.training import supervised
from tabia.training.compiling import Parts, all_parts
from tabia.training.evaluate import Evaluate
from tabia.training.iteration import Iteration
from tabia.training.observers import Observer
from tabia.training.progress import finish, running
from tabia.training.run.metrics import Machine, Metrics
from tabia.training.run.stored_games import StoredGames
from tabia.training.training import DONE, PREPARING, Training

STOP_SECONDS = 13.5
"""How long `save_and_end` may take before the process should exit without it."""
_PATIENCE = 4.0  # seconds for an iteration to end
_BEFORE_ITERATION = (PREPARING, "compiling")  # phases in which nothing is lost


def train(
    training: Training,
    observers: Sequence[Observer] = (),
    *,
    started: float | None = None,
    signals: bool = True,
    make_iteration: Callable[..., Iteration] = Iteration,
    parts: Parts = all_parts,
) -> str:
    """Train until the budget is spent ("finished") or the run is asked to stop ("stopped").

    The clock runs from `started`, by default from now. With `signals`, SIGINT and SIGTERM stop the run if this is the
    main thread; otherwise append to `training.stopping` to stop it. `make_iteration` makes each iteration, with the
    arguments of `Iteration`, and `parts` are what it runs in this process; a supervised run uses neither.
    """
    if training.config.is_supervised:
        return supervised.train(training, observers, started=started, signals=signals)
    with running(training, observers, started=started, signals=signals, parts=parts) as progress:
        while progress.unfinished:
            with progress.start(make_iteration) as iteration:
                plies = iteration.play()
                iteration.store(plies)
                iteration.learn()
                result = progress.count(iteration)
                progress.gate(result)
                progress.report(result)
                progress.save_if_due()
    return progress.why


def take_over(training: Training, observers: Sequence[Observer] = ()) -> bool:
    """Save a run as it was before the current iteration and end it, from another thread than the one that trains.

    That thread never continues, so the process should exit now. Returns False if the run ended in the meantime.
    """
    training.guard.lock.acquire()
    if training.phase == DONE:
        training.guard.lock.release()
        return False
    before = training.guard.restored()
    if before is not None:
        training.state, training.counters = before
    finish(training, observers)
    return True


def save_and_end(training: Training, observers: Sequence[Observer], ended: threading.Event) -> bool:
    """Save a run that was asked to stop: at the end of its iteration or, if that takes long, as it was before it.

    Call it in another thread than the one that trains, which sets `ended` once the run has ended by itself. Returns
    False in that case.
    """
    patience = 0.0 if training.phase in _BEFORE_ITERATION else _PATIENCE
    return not ended.wait(patience) and take_over(training, observers)


def default_observers() -> list[Observer]:
    """Observers that write machine.json, measure strength, write metrics.jsonl and store games, in this order."""
    return [Machine(), Evaluate(), Metrics(), StoredGames()]
