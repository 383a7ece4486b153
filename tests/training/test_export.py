"""Metrics as CSV and as TensorBoard events equal those in metrics.jsonl."""

from __future__ import annotations

import csv
import struct
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.training.errors import TrainingError
from tabia.training.run import export, metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.run.export import TensorBoard


def command(*words: object):
    return CliRunner().invoke(app, [str(word) for word in words])


def test_csv_has_every_number_of_every_iteration(watched, tmp_path: Path) -> None:
    assert command("metrics", watched.run.path, "--csv", tmp_path / "run.csv").exit_code == 0
    with (tmp_path / "run.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = metrics.read(watched.run)
    assert len(rows) == len(lines) == 4
    for row, line in zip(rows, lines, strict=True):
        for name in ("iteration", "seconds", "loss_policy", "agreement_network"):
            assert row[name] == ("" if name not in line else str(line[name]))
        assert float(row["scores.2"]) == line["scores"][1]
        score = line.get("matches", {}).get("random", {}).get("score")
        assert row["matches.random.score"] == ("" if score is None else str(score))
    shown = command("metrics", watched.run.path)
    assert shown.stdout == (tmp_path / "run.csv").read_text(encoding="utf-8")


def events(path: Path) -> list[Any]:
    """The events of a file: records of length, checksum, content, checksum."""
    from tensorboardX.proto.event_pb2 import Event

    content, found, place = path.read_bytes(), [], 0
    while place < len(content):
        (size,) = struct.unpack_from("<Q", content, place)
        found.append(Event.FromString(content[place + 12 : place + 12 + size]))
        place += 12 + size + 4
    assert place == len(content)
    return found


def series(path: Path, tag: str) -> list[tuple[int, float]]:
    return [
        (event.step, value.simple_value) for event in events(path) for value in event.summary.value if value.tag == tag
    ]


def test_tensorboard_events_are_the_metrics(watched, tmp_path: Path) -> None:
    pytest.importorskip("tensorboardX")
    result = command("metrics", watched.run.path, "--tensorboard", tmp_path / "logs")
    assert result.exit_code == 0 and "4 iterations" in result.stderr and not result.stdout
    (path,) = (tmp_path / "logs").iterdir()
    lines = metrics.read(watched.run)
    for tag, name in (
        ("learning/loss_policy", "loss_policy"),
        ("selfplay/game_length", "game_length"),
        ("run/seconds", "seconds"),
    ):
        expected = [(line["iteration"], pytest.approx(line[name], rel=1e-6)) for line in lines if name in line]
        assert series(path, tag) == expected and expected
    scores = [
        (line["iteration"], pytest.approx(line["matches"]["random"]["score"])) for line in lines if "matches" in line
    ]
    assert series(path, "strength/matches.random.score") == scores
    times = [event.wall_time for event in events(path) if event.summary.value]
    assert times[-1] - times[0] == pytest.approx(lines[-1]["seconds"] - lines[0]["seconds"], abs=0.01)


def test_a_resumed_run_replaces_the_events_after_its_checkpoint(watched, tmp_path: Path) -> None:
    """TensorBoard drops what it has of a step and later when a session starts there."""
    pytest.importorskip("tensorboardX")
    live = TensorBoard(tmp_path / "logs")
    live.on_start(watched.training)
    result = type("Result", (), {"fields": lambda self: {"game_length": 7.0}})()
    live.on_iteration(watched.training, result)
    live.on_end(watched.training, "finished")
    (path,) = (tmp_path / "logs").iterdir()
    starts = [event.step for event in events(path) if event.session_log.status == 1]
    assert starts == [watched.training.counters.iteration + 1]
    assert series(path, "selfplay/game_length") == [(watched.training.counters.iteration, 7.0)]


def test_without_tensorboardx_the_extra_is_named(watched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    with pytest.raises(TrainingError, match=r"pip install 'tabia\[tensorboard\]'"):
        export.export_tensorboard(watched.run, tmp_path / "logs")


def test_a_run_without_metrics(unfinished: RunDirectory, tmp_path: Path) -> None:
    assert command("metrics", unfinished.path).stdout == "iteration\n"
    result = command("metrics", unfinished.path, "--tensorboard", tmp_path / "logs")
    assert result.exit_code == 2 and "no iteration is finished" in result.stderr
    result = command("metrics", tmp_path)
    assert result.exit_code == 2 and "holds no run" in result.stderr
