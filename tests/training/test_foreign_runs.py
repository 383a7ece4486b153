"""Run directories that are damaged, come from a stranger, or are written by two processes at once."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import threading
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.evaluation.recorder import Recorder
from tabia.games import make
from tabia.training.errors import TrainingError
from tabia.training.plan import Plan
from tabia.training.report import report
from tabia.training.run import checkpoint, metrics
from tabia.training.run.directory import RunDirectory
from tabia.training.run.metrics import Metrics
from tabia.training.training import Training

from .conftest import TINY


@pytest.fixture
def run(watched, tmp_path: Path) -> RunDirectory:
    shutil.copytree(watched.run.path, tmp_path / "run")
    return RunDirectory(tmp_path / "run")


def full(*_: object) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


# Creation (D6) and durability (D12).


@pytest.mark.parametrize("number", [1, 2, 3, 4])
def test_a_creation_that_failed_can_be_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """The disk is full at the n-th sync, of any file or folder."""
    run, real, count = RunDirectory(tmp_path / "run"), os.fsync, iter(range(1, 100))
    monkeypatch.setattr(os, "fsync", lambda file: full() if next(count) >= number else real(file))
    with pytest.raises(TrainingError, match="No space left"):
        run.create(TINY)
    monkeypatch.undo()
    run.create(TINY)
    assert run.config() == TINY and run.checkpoints.is_dir()


def test_leftovers_of_a_killed_creation_are_removed(tmp_path: Path) -> None:
    run = RunDirectory(tmp_path / "run")
    run.checkpoints.mkdir(parents=True)
    (run.path / ".config.toml.0123456789abcdef.tmp").write_text("half")
    (run.path / ".lock").write_text("")
    run.create(TINY)
    assert sorted(path.name for path in run.path.iterdir()) == ["checkpoints", "config.toml"]


@pytest.mark.parametrize("name", ["notes.txt", "checkpoints/4", ".hidden"])
def test_anything_else_in_the_directory_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "run" / name).mkdir(parents=True)
    with pytest.raises(TrainingError, match="is not empty and holds no run"):
        RunDirectory(tmp_path / "run").create(TINY)


def test_a_new_run_is_synced_up_to_its_parent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda file: (synced.append(Path(f"/proc/self/fd/{file}").resolve()), real(file)))
    RunDirectory(tmp_path / "runs" / "new").create(TINY)
    assert {tmp_path, tmp_path / "runs", tmp_path / "runs" / "new"} <= set(synced)


def test_metrics_are_synced_before_the_checkpoint_they_lead_to(run, watched, monkeypatch) -> None:
    steps: list[str] = []
    real = os.fdatasync
    monkeypatch.setattr(
        os, "fdatasync", lambda file: (steps.append(str(Path(f"/proc/self/fd/{file}").readlink())), real(file))
    )
    training = watched.training
    checkpoint.save(run, Plan(training.config), training.state, training.counters, watch=steps.append)
    assert steps.index(str(run.metrics)) < steps.index("renamed")


def test_the_first_line_and_then_one_per_second_are_synced(run, watched, monkeypatch) -> None:
    """A sync takes milliseconds, as long as a short iteration."""
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", synced.append)
    training = Training(run, TINY, watched.training.state, watched.training.counters, TINY.network)
    line = type("Result", (), {"fields": lambda self: {"games": 1}})()
    observer, before = Metrics(), len(metrics.read(run))
    for _ in range(5):
        observer.on_iteration(training, line)
    assert len(synced) == 1 and len(metrics.read(run)) == before + 5


# Two writers (D9).


def test_a_file_of_records_has_one_writer(tmp_path: Path) -> None:
    path, settings = tmp_path / "games.txt", '{"seed": 0}'
    held, done = threading.Event(), threading.Event()

    def hold() -> None:
        with Recorder(path, "match", settings):
            held.set()
            done.wait(60)

    other = threading.Thread(target=hold)
    other.start()
    held.wait(60)
    try:
        for words in (
            ["match", "tictactoe", "random", "minimax", "--games", "2"],
            ["tournament", "tictactoe", "random", "minimax", "--games", "2"],
        ):
            result = CliRunner().invoke(app, [*words, "--out", str(path)])
            assert result.exit_code == 2 and result.stderr.strip().count("\n") == 0
            assert "is being written by another process" in result.stderr and not path.exists()
    finally:
        done.set()
        other.join()
    assert not list(tmp_path.iterdir())


# Hostile contents (D2, D10, D11).


@pytest.mark.parametrize("name", ["metrics.jsonl", "best", "machine.json", ".metrics.jsonl.aside"])
def test_training_does_not_write_through_a_link(run: RunDirectory, watched, tmp_path: Path, name: str) -> None:
    target = tmp_path / "precious"
    target.write_text("precious")
    (run.path / name).unlink(missing_ok=True)
    (run.path / name).symlink_to(target)
    training = Training(run, TINY, watched.training.state, watched.training.counters, TINY.network)
    line = type("Result", (), {"fields": lambda self: {"games": 1}})()
    for step in (
        lambda: Metrics().on_start(training),
        lambda: Metrics().on_iteration(training, line),
        lambda: checkpoint.save(run, Plan(training.config), training.state, training.counters),
    ):
        try:
            step()
        except TrainingError as error:
            assert "symbolic link" in str(error)
    assert target.read_text() == "precious"


def test_checkpoints_behind_a_link_are_neither_read_nor_removed(run: RunDirectory, watched, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (run.checkpoints / "2").rename(elsewhere)
    (run.checkpoints / "2").symlink_to(elsewhere)
    before = {path.name: path.read_bytes() for path in elsewhere.iterdir()}
    assert checkpoint.iterations(run) == [4]
    for iteration in (5, 6, 7):
        counters = watched.training.counters
        checkpoint.save(run, Plan(watched.training.config), watched.training.state, type(counters)(iteration=iteration))
    assert {path.name: path.read_bytes() for path in elsewhere.iterdir()} == before
    shutil.move(run.checkpoints, tmp_path / "moved")
    run.checkpoints.symlink_to(tmp_path / "moved")
    with pytest.raises(TrainingError, match="leads out of"):
        Training.resume(run)


EVIL = "$\\frac{$ <script>alert(1)</script> ![x](http://x) `|` \x1b[31m _x"


def test_hostile_names_are_shown_literally_in_a_report(run: RunDirectory) -> None:
    lines = metrics.read(run)
    for line in lines:
        line["matches"] = (
            {EVIL: {"score": 0.5, "low": 0.4, "high": 0.6, "games": 4}, "_": line["matches"]["random"]}
            if "matches" in line
            else {}
        )
        line["first_moves"] = {"4": 3, "0": 1, "999999999": 5}
    run.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines))
    (run.path / "machine.json").write_text(json.dumps([{"from_iteration": "x", "device": EVIL, "versions": 5}]))
    text = report.write_report(run, rate=False).read_text(encoding="utf-8")
    prose = re.sub("`[^`]*`", "", text)
    assert "<script" not in prose and not re.search(r"(?<!\\)\]\(http", prose) and "\x1b" not in text
    assert "frac" in text
    for path in (run.path / "figures").iterdir():
        content = path.read_text(encoding="utf-8")
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f]", content) and "<script" not in content


def test_a_move_named_like_a_formula_is_drawn(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(type(make("tictactoe")), "move_name", lambda self, action, state=None: f"$\\frac{{${action}")
    lines = metrics.read(run)
    assert sum("first_moves" in line for line in lines) >= 2
    report.figures.draw(run, make("tictactoe"), TINY, lines, [])
    assert (run.path / "figures" / "openings.svg").exists()


def test_ratings_that_cannot_be_written_are_reported(run: RunDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    """games/ratings.txt is from another tournament and cannot be removed: the disk is read-only."""
    (run.games / "ratings.txt").write_text("of something else")

    def read_only(self: Path, *rest: object, **more: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(Path, "unlink", read_only)
    result = CliRunner().invoke(app, ["report", str(run.path)])
    assert isinstance(result.exception, SystemExit | None), result.exception
