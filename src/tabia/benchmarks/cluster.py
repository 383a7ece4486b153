"""How much a cluster costs and gains: seconds per iteration of the plain loop, and with one and more actors.

All are measured in one process, one after another, in alternating order, with the same recipe.
"""

from __future__ import annotations

import statistics
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from tabia.cluster.connection import Cluster, connect
from tabia.cluster.loop import self_play
from tabia.training.config import recipes
from tabia.training.config.schema import Config
from tabia.training.config.toml import with_assignments
from tabia.training.iteration import IterationResult
from tabia.training.loop import train
from tabia.training.observers import BaseObserver
from tabia.training.training import Training

METHOD = "mean seconds per iteration after the first 6, median of the repeats, which alternate between the rows"
_FIRST = 5  # iterations that are not timed: the replay buffer fills, and rounds ahead begin


@dataclass(frozen=True)
class Row:
    """One way to run; 0 actors are the plain loop."""

    recipe: str
    actors: int
    seconds: float  # per iteration, the median over the repeats
    of_plain: float  # speed as a fraction of the plain loop's
    repeats: tuple[float, ...]  # seconds per iteration of each
    chunk_bytes: float  # per iteration, packed

    def to_dict(self) -> dict[str, Any]:
        """For JSON."""
        return asdict(self)


class _Timer(BaseObserver):
    """When iterations ended, by the run's own clock, and the size of their chunks."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self.bytes: list[int] = []

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        self.ends.append(training.counters.seconds)
        self.bytes.append(result.extra.get("chunk_bytes", 0))
        return {}

    @property
    def seconds(self) -> float:
        """Per iteration, as a mean."""
        return (self.ends[-1] - self.ends[_FIRST]) / (len(self.ends) - 1 - _FIRST)


def run(
    game: str, changes: Sequence[str] = (), *, actors: Sequence[int] = (1, 2), iterations: int = 40, repeats: int = 3
) -> list[Row]:
    """Measure a game's default recipe with some settings changed on a local cluster."""
    config = _config(game, changes, iterations)
    timed: dict[int, list[_Timer]] = {count: [] for count in (0, *actors)}
    with connect("local", cpus=max(actors)) as cluster:
        for _ in range(repeats):
            for count, timers in timed.items():
                timers.append(_timed(config, cluster, count))
    medians = {count: statistics.median(timer.seconds for timer in timers) for count, timers in timed.items()}
    return [
        Row(
            recipe=config.recipe or config.game,
            actors=count,
            seconds=medians[count],
            of_plain=medians[0] / medians[count],
            repeats=tuple(timer.seconds for timer in timers),
            chunk_bytes=statistics.mean(timers[-1].bytes),
        )
        for count, timers in timed.items()
    ]


def _config(game: str, changes: Sequence[str], iterations: int) -> Config:
    config = recipes.default(game).config(game)
    config = replace(
        config, minutes=0.0, iterations=iterations, schedule=(), evaluation=replace(config.evaluation, every=0)
    )
    return with_assignments(config, changes)


def _timed(config: Config, cluster: Cluster, actors: int) -> _Timer:
    timer = _Timer()
    with tempfile.TemporaryDirectory() as folder:
        training = Training.begin(Path(folder) / "run", config)
        with _options(training, cluster, actors) as options:
            train(training, [timer], **options)
    return timer


@contextmanager
def _options(training: Training, cluster: Cluster, actors: int) -> Iterator[dict[str, Any]]:
    if actors == 0:
        yield {}
        return
    with self_play(training, cluster, actors=actors) as execution:
        yield {"make_iteration": execution.make_iteration, "parts": execution.parts}
