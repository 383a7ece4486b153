"""Training runs as parts: an ordinary run directory, resumed as `tabia resume` does, then exported.

Every checkpoint is exported in half precision to weights/, which later parts play with; the run itself may go.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jax
import numpy as np

from tabia.core import files
from tabia.networks import weights
from tabia.players import runs
from tabia.studies.directory import RUN
from tabia.studies.estimates import Estimate, StudyError
from tabia.studies.part import Outcome, Place, Series, Stopped
from tabia.training import BaseObserver, Config, Observer, Training, default_observers, metrics, recipes, train
from tabia.training.iteration import IterationResult
from tabia.training.loop import STOP_SECONDS, save_and_end
from tabia.training.run.directory import CONFIG, RunDirectory

WEIGHTS, LEFT_OUT = "weights", "left-out"
_MOST_POINTS = 500  # of a stored series

UNMEASURED = {"evaluation.games": 0, "evaluation.positions": 0}
TINY = (
    ("iterations", 2),
    ("selfplay.games", 8),
    ("selfplay.plies", 6),
    ("selfplay.whole_games", False),
    ("search.simulations", 4),
    ("replay.positions", 96),
    ("learner.epochs", 1),
    ("learner.sample_positions", 32),
    ("checkpoints.every", 1),
)
"""Changes that make `sanz-villanueva-tictactoe` tiny: every study at that scale trains it, so programs are shared."""
TINY_RECIPE = "sanz-villanueva-tictactoe"
TINY_SEARCH = "simulations=4,rule=puct,c=1,winning_moves_first=false"
"""The options of every trained player at that scale, for the same reason."""

Lines = Sequence[dict[str, Any]]
"""The metrics of a run, one entry per iteration."""


@dataclass(frozen=True, kw_only=True)
class TrainingPart:
    """One training run from a recipe with some settings changed.

    `curves` are metrics stored as series NAME/METRIC; `measure` turns all metrics into estimates.
    """

    name: str
    recipe: str
    run_seed: int
    game: str | None = None
    changes: tuple[tuple[str, Any], ...] = ()
    curves: tuple[str, ...] = ("loss_policy", "loss_value")
    by: str = "total_games"  # the metric that curves are drawn over
    keys: tuple[str, ...] = ()
    measure: Callable[[Lines], tuple[Estimate, ...]] = lambda lines: ()
    adjust: Callable[[Place], Mapping[str, Any]] = lambda place: {}  # changes that follow from earlier parts
    seed: int = 0
    needs: tuple[str, ...] = ()
    cost: float = 20.0

    def config(self) -> Config:
        """The configuration of the run; strength is measured by other parts, not by the run itself."""
        config = recipes.load(self.recipe).config(self.game)
        return config.changed({"seed": self.run_seed, **UNMEASURED, **dict(self.changes)})

    def run(self, place: Place) -> Outcome:
        directory = RunDirectory(place.folder / RUN)
        self._train(directory, place)
        export(directory.path, place.folder / WEIGHTS)
        lines = metrics.read(directory)
        return Outcome(
            self.measure(lines), {f"{self.name}/{name}": curve(lines, name, by=self.by) for name in self.curves}
        )

    def _train(self, directory: RunDirectory, place: Place) -> None:
        if not files.exists(directory.path / CONFIG):
            training = Training.begin(directory, self.config().changed(self.adjust(place)))
            _train_on(training, place)
            return
        with directory.locked():
            training = Training.resume(directory)
            if training.progress < 1.0:
                _train_on(training, place)


def _train_on(training: Training, place: Place) -> None:
    stop = _Stop(training, [*default_observers(), _Progress(place)])
    with place.control.on_interrupt(stop, STOP_SECONDS):
        why = train(training, stop.observers, signals=False)
        stop.ended.set()
    if why == "stopped":
        raise Stopped


class _Progress(BaseObserver):
    """Reports the progress of the run."""

    def __init__(self, place: Place) -> None:
        self._place = place

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        self._place.control.progress(training.progress, 1.0)
        return {}


class _Stop:
    """Saves the run when a signal arrives: at the end of the iteration, or else as it was before it."""

    def __init__(self, training: Training, observers: list[Observer]) -> None:
        self.training, self.observers, self.ended = training, observers, threading.Event()

    def __call__(self, number: int) -> str | None:
        self.training.stopping.append(number)
        if not save_and_end(self.training, self.observers, self.ended):
            return None
        return f"Iteration {self.training.saved} of this run is saved."


def export(run: Path, to: Path) -> None:
    """Write the weights of the checkpoints of a run in half precision, laid out as in a run.

    A run with a gate may save the same network several times, because a refused one does not play. Only the first of
    equal networks is written, so that every step is a version of its own.
    """
    gated, before = files.exists(run / "best"), None
    same: dict[int, int] = {}  # by step: the step with the same network
    for step, folder in runs.steps(run).items():
        held = weights.load(run / "checkpoints" / folder / runs.WEIGHTS)
        if gated and before is not None and _equal(before, held):
            same[step] = same[max(same)]
            continue
        before, same[step] = held, step
        _write(held, to / "checkpoints" / str(step))
    if gated:
        best = int(files.read_text(run / "best", files.KILOBYTE))
        files.write_atomic(to / "best", f"{same.get(best, best)}\n".encode())


def _equal(one: weights.Loaded, other: weights.Loaded) -> bool:
    """Whether two networks have the same weights."""
    pairs = zip(jax.tree.leaves(one.weights), jax.tree.leaves(other.weights), strict=True)
    return all(np.array_equal(left, right) for left, right in pairs)


def _write(held: weights.Loaded, target: Path) -> None:
    if files.exists(target / runs.WEIGHTS):
        return
    files.make_directory(target)
    aside = target / files.random_name(runs.WEIGHTS)
    weights.save(aside, held.network, held.weights, held.metadata, store="float16")
    aside.replace(target / runs.WEIGHTS)


def steps(place: Place, part: str) -> list[int]:
    """The steps of the checkpoints that a training part exported, in order."""
    folder = place.folder_of(part) / WEIGHTS
    if left_out(folder):
        raise StudyError(
            f"{folder} has only some of the checkpoints of {part}. Pack them all where they were trained (tabia study "
            f"pack --all-weights), or remove {folder.parent} and run the study again."
        )
    return list(runs.steps(folder))


def left_out(folder: Path) -> list[str]:
    """The steps that an archive left out of a folder of weights, and that have not arrived since."""
    if not files.exists(folder / LEFT_OUT):
        return []
    known = runs.steps(folder)
    return [step for step in files.read_text(folder / LEFT_OUT, files.MEGABYTE).split() if int(step) not in known]


def curve(lines: Lines, name: str, *, by: str) -> Series:
    """A metric of a run as a series, thinned to a few hundred points by averaging neighbors."""
    held = [(float(line[by]), float(line[name])) for line in lines if name in line]
    if not held:
        return Series((), ())
    points = np.array(held)
    blocks = np.array_split(points, min(len(points), _MOST_POINTS))
    x, y = np.array([block.mean(axis=0) for block in blocks]).T
    return Series(tuple(map(float, x)), tuple(map(float, y)))
