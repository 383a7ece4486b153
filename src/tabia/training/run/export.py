"""Metrics for other programs: as CSV, and as scalars in a TensorBoard event file.

    write_csv(metrics.read(run), sys.stdout)
    export_tensorboard(run, Path("logs/connect4"))

Event files are written by tensorboardX, the extra `tensorboard`; TensorBoard itself is not needed.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from tabia.training.errors import TrainingError
from tabia.training.iteration import IterationResult
from tabia.training.observers import BaseObserver
from tabia.training.report.series import Line
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training

_LEFT_OUT = ("first_moves",)  # one count per move; metrics.jsonl has them
_RUN = ("seconds", "progress", "total_games", "positions", "games")
_LEARNING = ("entropy", "target_entropy", "agreement", "illegal", "learning_rate", "buffer_positions")
_CLUSTER = ("actors", "actor_restarts", "chunks", "chunk_bytes", "chunk_seconds", "wait_seconds", "staleness")
_STRENGTH = ("matches.", "agreement_", "gate_")


def scalars(line: Line) -> dict[str, float | str]:
    """A line of metrics without nesting, such as `matches.random.score`; seats count from 1, as in `scores.1`.

    >>> scalars({"iteration": 7, "scores": [0.5, -0.5], "matches": {"random": {"score": 0.9}}, "gate_passed": True})
    {'iteration': 7, 'scores.1': 0.5, 'scores.2': -0.5, 'matches.random.score': 0.9, 'gate_passed': 1}
    """
    found: dict[str, float | str] = {}
    for name, value in line.items():
        if name not in _LEFT_OUT:
            _flatten(name, value, found)
    return found


def _flatten(name: str, value: Any, found: dict[str, float | str]) -> None:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            _flatten(f"{name}.{key}", inner, found)
    elif isinstance(value, list):
        for number, inner in enumerate(value, start=1):
            _flatten(f"{name}.{number}", inner, found)
    elif value is not None:
        found[name] = int(value) if isinstance(value, bool) else value


def write_csv(lines: Sequence[Line], file: TextIO) -> None:
    """One row per iteration and one column per name; a cell is empty if the iteration lacks it."""
    rows = [scalars(line) for line in lines]
    columns = list(dict.fromkeys(name for row in rows for name in row)) or ["iteration"]
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def export_tensorboard(run: RunDirectory, logs: Path) -> int:
    """Write all metrics of a run as TensorBoard events to a log directory; the number of iterations written."""
    lines = metrics.read(run)
    if not lines:
        raise TrainingError(f"{run.path} has no metrics yet: no iteration is finished.")
    # TensorBoard needs the time of day; the metrics have only the duration of the run.
    began = run.metrics.stat().st_mtime - lines[-1]["seconds"]
    with _writer(logs, first=lines[0]["iteration"]) as writer:
        for line in lines:
            _add(writer, line, began + line["seconds"])
    return len(lines)


class TensorBoard(BaseObserver):
    """Writes metrics as TensorBoard events during a run; must come after the observers whose values it writes.

    A resumed run replaces the events after the checkpoint it resumes from.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._writer: Any = None

    def on_start(self, training: Training) -> None:
        self._writer = _writer(self._logs, first=training.counters.iteration + 1)

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        _add(self._writer, metrics.fields(training, result))
        return {}

    def on_end(self, training: Training, why: str) -> None:
        if self._writer is not None:
            self._writer.close()


def _writer(logs: Path, *, first: int) -> Any:
    """A writer whose events replace those of step `first` and later in the directory."""
    try:
        from tensorboardX import SummaryWriter
    except ImportError:
        raise TrainingError("TensorBoard events need tensorboardX: pip install 'tabia[tensorboard]'.") from None
    try:
        return SummaryWriter(str(logs), purge_step=first, flush_secs=10)
    except OSError as error:
        raise TrainingError(f"{logs} cannot be written: {error.strerror or error}.") from None


def _add(writer: Any, line: Line, at: float | None = None) -> None:
    for name, value in scalars(line).items():
        if name != "iteration" and not isinstance(value, str):
            writer.add_scalar(_tag(name), value, line["iteration"], walltime=at)


def _tag(name: str) -> str:
    """The tag of a metric: TensorBoard groups by the part before the slash and allows few characters.

    >>> _tag("loss_policy"), _tag("matches.mcts:simulations=100.score"), _tag("game_length")
    ('learning/loss_policy', 'strength/matches.mcts_simulations_100.score', 'selfplay/game_length')
    """
    plain = re.sub(r"[^-.\w]", "_", name)
    if name in _RUN:
        return f"run/{plain}"
    if name in _LEARNING or name.startswith("loss_"):
        return f"learning/{plain}"
    if name.startswith(_CLUSTER):
        return f"cluster/{plain}"
    return f"{'strength' if name.startswith(_STRENGTH) else 'selfplay'}/{plain}"
