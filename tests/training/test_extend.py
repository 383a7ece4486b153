"""Extending a run: it continues with its schedules stretched to the new length."""

from __future__ import annotations

import fcntl
import shutil
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.training import loop
from tabia.training.errors import TrainingError
from tabia.training.learning import learning_rate_at
from tabia.training.loop import train
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.run.metrics import Metrics
from tabia.training.training import Training

from .comparing import same, timeless


@pytest.fixture
def run(watched, tmp_path: Path) -> RunDirectory:
    shutil.copytree(watched.run.path, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def command(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def test_a_finished_run_continues(run: RunDirectory, watched) -> None:
    before = timeless(run)
    result = command("resume", run.path, "--iterations", 2)
    assert result.exit_code == 0, result.output
    assert "Strength after" in result.stderr and "iteration 6 (" in result.stderr
    lines = metrics.read(run)
    assert [line["iteration"] for line in lines] == [1, 2, 3, 4, 5, 6] and timeless(run)[:4] == before
    # Iterations 5 and 6 start at four and five sixths of the new length.
    settings = watched.training.config.learner
    assert [line["learning_rate"] for line in lines[4:]] == [learning_rate_at(settings, at / 6) for at in (4, 5)]
    assert (
        lines[3]["learning_rate"] < lines[4]["learning_rate"] > lines[5]["learning_rate"] > settings.learning_rate_end
    )
    assert [line["progress"] for line in lines[4:]] == [0.83333, 1.0]
    assert run.config() == watched.training.config.changed({"iterations": 6})


def test_extended_at_once_or_after_a_stop_is_the_same_run(run: RunDirectory, tmp_path: Path) -> None:
    shutil.copytree(run.path, tmp_path / "other")
    at_once, twice = Training.resume(run), Training.resume(tmp_path / "other")
    at_once.extend(iterations=2)
    train(at_once, [Metrics()])
    twice.extend(iterations=2)
    again = Training.resume(tmp_path / "other")  # stopped before anything was done
    train(again, [Metrics()])
    assert same(at_once.state, again.state) and timeless(at_once.run) == timeless(again.run)


def test_minutes_are_added_to_the_time_already_spent(run: RunDirectory) -> None:
    training = Training.resume(run)
    done = training.counters.seconds
    training.extend(minutes=2.0)
    assert training.config.minutes == pytest.approx(done / 60 + 2.0) and run.config() == training.config
    working = done - training.counters.compile_seconds
    assert training.progress == pytest.approx(working / (working + 120.0))
    training.counters.seconds += 120.0
    assert training.progress == pytest.approx(1.0)
    training.extend(iterations=3)  # a length in iterations replaces one in minutes
    assert training.config.minutes == 0 and training.progress == pytest.approx(4 / 7)


def test_minutes_that_are_spent_on_compiling_still_bring_an_iteration(run: RunDirectory) -> None:
    result = command("resume", run.path, "--minutes", 0.0001)
    assert result.exit_code == 0 and "finished after 5 iterations" in result.stderr
    assert [line["iteration"] for line in metrics.read(run)] == [1, 2, 3, 4, 5]


def test_an_invalid_extension_is_refused_and_changes_nothing(run: RunDirectory) -> None:
    before = (run.path / "config.toml").read_bytes()
    training = Training.resume(run)
    for more in ({}, {"minutes": 1.0, "iterations": 1}, {"minutes": float("nan")}, {"minutes": 1e9}):
        with pytest.raises(TrainingError):
            training.extend(**more)
    result = command("resume", run.path, "--minutes", 1, "--iterations", 1)
    assert result.exit_code == 2 and "minutes or by iterations" in result.stderr
    with (run.path / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # as another process would
        result = command("resume", run.path, "--minutes", 1)
        assert result.exit_code == 2 and "another process" in result.stderr
    assert (run.path / "config.toml").read_bytes() == before


def test_a_finished_run_says_how_strong_it_is_and_how_to_extend_it(run: RunDirectory) -> None:
    result = command("resume", run.path)
    assert result.exit_code == 0 and "is finished" in result.stderr
    assert "Strength after" in result.stderr and f"tabia resume {run.path} --minutes" in result.stderr


# After Ctrl-C.


def test_a_stopped_run_says_how_strong_it_was_when_last_measured(run: RunDirectory, monkeypatch) -> None:
    def stopped(training: Training, *_: object, **__: object) -> str:
        training.counters.iteration += 1
        return "stopped"

    monkeypatch.setattr(loop, "train", stopped)
    result = command("resume", run.path, "--iterations", 2)
    assert result.exit_code == 130 and "tabia: interrupted. Saved iteration" in result.stderr
    assert "Last measured: Strength after" in result.stderr and "iteration 4 (" in result.stderr


def test_a_run_stopped_before_any_evaluation_says_how_to_measure_it(unfinished: RunDirectory, monkeypatch) -> None:
    monkeypatch.setattr(loop, "train", lambda *_, **__: "stopped")
    result = command("resume", unfinished.path)
    assert result.exit_code == 130 and "Strength has not been measured yet" in result.stderr
    measure = f"`tabia match tictactoe network:{unfinished.path}@latest random --games 100`."
    assert f"Measure it with {measure} Continue with: tabia resume {unfinished.path}\n" in result.stderr
