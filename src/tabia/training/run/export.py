"""A run's metrics for other programs: as CSV, and as scalars of a TensorBoard event file.

    write_csv(metrics.read(run), sys.stdout)
    export_tensorboard(run, Path("logs/connect4"))

TensorBoard's files are written by tensorboardX, the extra `tensorboard`; TensorBoard itself is not needed for that.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from tabia.training.errors import TrainingError
from tabia.training.iteration import Report
from tabia.training.loop import BaseObserver, Training
from tabia.training.report.series import Line
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory

_LEFT_OUT = ("first_moves",)  # a count for every move of the game; metrics.jsonl has them
_RUN = ("seconds", "progress", "total_games", "positions", "games")
_LEARNING = ("entropy", "target_entropy", "agreement", "illegal", "rate", "ready")
_STRENGTH = ("matches.", "keeps_", "gate_")


def scalars(line: Line) -> dict[str, float | str]:
    """A line of metrics without nesting: `matches.random.share`, and seats counted from 1 as in `scores.1`.

    >>> scalars({"iteration": 7, "scores": [0.5, -0.5], "matches": {"random": {"share": 0.9}}, "gate_passed": True})
    {'iteration': 7, 'scores.1': 0.5, 'scores.2': -0.5, 'matches.random.share': 0.9, 'gate_passed': 1}
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
    """One row per iteration; the columns are all names that occur, and a cell is empty where a line has none."""
    rows = [scalars(line) for line in lines]
    columns = list(dict.fromkeys(name for row in rows for name in row)) or ["iteration"]
    writer = csv.DictWriter(file, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)


def export_tensorboard(run: RunDirectory, logs: Path) -> int:
    """Write all metrics of a run as TensorBoard events into a log directory; the number of iterations written."""
    lines = metrics.read(run)
    if not lines:
        raise TrainingError(f"{run.path} has no metrics yet: no iteration is finished.")
    # TensorBoard wants the time of day; the metrics know only how long the run has taken.
    began = run.metrics.stat().st_mtime - lines[-1]["seconds"]
    with _writer(logs, first=lines[0]["iteration"]) as writer:
        for line in lines:
            _add(writer, line, began + line["seconds"])
    return len(lines)


class TensorBoard(BaseObserver):
    """Writes the metrics as TensorBoard events while a run is trained; must come after the observers it reports.

    A resumed run replaces what had been written after the checkpoint it resumes from.
    """

    def __init__(self, logs: Path) -> None:
        self._logs = logs
        self._writer: Any = None

    def begun(self, training: Training) -> None:
        self._writer = _writer(self._logs, first=training.counters.iteration + 1)

    def on_iteration(self, training: Training, report: Report) -> dict[str, Any]:
        _add(self._writer, metrics.fields(training, report))
        return {}

    def ended(self, training: Training, why: str) -> None:
        if self._writer is not None:
            self._writer.close()


def _writer(logs: Path, *, first: int) -> Any:
    """A writer whose events replace those of step `first` and later that the directory already holds."""
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
    """TensorBoard groups by what comes before the slash, and knows few characters.

    >>> _tag("loss_policy"), _tag("matches.mcts:simulations=100.share"), _tag("length")
    ('learning/loss_policy', 'strength/matches.mcts_simulations_100.share', 'selfplay/length')
    """
    plain = re.sub(r"[^-.\w]", "_", name)
    if name in _RUN:
        return f"run/{plain}"
    if name in _LEARNING or name.startswith("loss_"):
        return f"learning/{plain}"
    return f"{'strength' if name.startswith(_STRENGTH) else 'selfplay'}/{plain}"
