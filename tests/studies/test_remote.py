"""Parts of a study over actors: what a local run finds, without a shared directory, and if actors die."""

from __future__ import annotations

import fcntl
import re
from pathlib import Path

import pytest

from tabia.cluster.errors import ClusterError
from tabia.evaluation.records import load
from tabia.studies import registry, report, runner
from tabia.studies.directory import LOCK, StudyDirectory
from tabia.studies.estimates import StudyError
from tabia.studies.matches import RECORDS
from tabia.studies.part import Outcome
from tabia.studies.remote import PartWork, StudySpec, run_remote
from tests.cluster.in_process import in_process

from .toy_study import STUDY

SPEC = StudySpec("toy", "tiny", 0)


@pytest.fixture(autouse=True)
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let actors find the toy study by its name."""
    load_ = registry.load
    monkeypatch.setattr(registry, "load", lambda name: STUDY if name == "toy" else load_(name))


@pytest.fixture(scope="module")
def local(tmp_path_factory: pytest.TempPathFactory) -> StudyDirectory:
    directory = StudyDirectory(tmp_path_factory.mktemp("local") / "study")
    runner.run(STUDY, directory, STUDY.scale("tiny"))
    return directory


def found(directory: StudyDirectory) -> tuple[dict[str, Outcome], object, str]:
    outcomes = {name: directory.result(name).outcome for name in ("first", "match-0", "last")}
    page, clocks = re.subn(r"\d+\.\d minutes", "", report.write(STUDY, directory)[1].read_text())
    assert clocks == 1  # the time a run took is its own
    return outcomes, load(directory.folder("match-0") / RECORDS).records, page


@pytest.mark.parametrize("actors", [1, 3])
def test_a_study_over_actors_finds_what_a_local_one_finds(local: StudyDirectory, tmp_path: Path, actors: int) -> None:
    directory, shown = StudyDirectory(tmp_path / "study"), list[tuple[str, float, float]]()
    with in_process(PartWork, SPEC, actors=actors, dies=lambda number: number == 2) as (run, launcher, notes):
        done = run_remote(STUDY, directory, STUDY.scale("tiny"), run, observe=lambda *progress: shown.append(progress))
    assert sorted(done.finished) == ["first", "last", "match-0"] and not done.elsewhere and not done.waiting
    assert found(directory) == found(local)
    assert len(launcher.played) == 4 and len(notes) == 1, "the part of the dead actor ran again, the others once"
    assert all(0.0 <= at <= total == 3.0 for _, at, total in shown)
    with in_process(PartWork, SPEC) as (run, launcher, _):
        assert len(run_remote(STUDY, directory, STUDY.scale("tiny"), run).finished) == 3
    assert launcher.played == [], "a finished part is not run again"


def test_a_local_run_and_a_run_over_actors_continue_each_other(local: StudyDirectory, tmp_path: Path) -> None:
    directory, scale = StudyDirectory(tmp_path / "study"), STUDY.scale("tiny")
    runner.run(STUDY, directory, scale, only=["first"])
    with in_process(PartWork, SPEC) as (run, launcher, _):
        assert run_remote(STUDY, directory, scale, run, only=["match-0"]).finished == ["match-0"]
        assert len(launcher.played) == 1
    runner.run(STUDY, directory, scale)
    assert found(directory) == found(local)


def test_a_part_that_another_process_runs_is_left_to_it(tmp_path: Path) -> None:
    directory, scale = StudyDirectory(tmp_path / "study"), STUDY.scale("tiny")
    directory.open("toy", STUDY.version, "tiny", 0)
    directory.folder("match-0").mkdir(parents=True)
    with (directory.folder("match-0") / LOCK).open("w") as lock, in_process(PartWork, SPEC) as (run, _, _):
        fcntl.flock(lock, fcntl.LOCK_EX)  # not by `FileLock`, so it counts as another process's
        done = run_remote(STUDY, directory, scale, run)
    assert (done.finished, done.elsewhere, done.waiting) == (["first"], ["match-0"], ["last"])
    with in_process(PartWork, SPEC) as (run, _, _), pytest.raises(StudyError, match=r"needs match-0\. Run first"):
        run_remote(STUDY, directory, scale, run, only=["last"])


def test_a_training_run_that_started_here_is_refused(tmp_path: Path) -> None:
    directory = StudyDirectory(tmp_path / "study")
    (directory.folder("match-0") / "run").mkdir(parents=True)
    (tmp_path / "study" / "parts").rename(tmp_path / "parts")
    directory.open("toy", STUDY.version, "tiny", 0)
    (tmp_path / "parts").rename(tmp_path / "study" / "parts")
    with in_process(PartWork, SPEC) as (run, _, _), pytest.raises(StudyError, match="Finish it without --ray"):
        run_remote(STUDY, directory, STUDY.scale("tiny"), run)


def test_an_error_of_a_part_names_the_part(tmp_path: Path) -> None:
    class Broken(PartWork):
        def run(self, spec: object, report: object) -> bytes:
            raise StudyError("no such thing")

    directory = StudyDirectory(tmp_path / "study")
    with in_process(Broken, SPEC) as (run, _, _), pytest.raises(ClusterError, match="no such thing"):
        run_remote(STUDY, directory, STUDY.scale("tiny"), run, only=["first"])
    with directory.claimed("first") as mine:
        assert mine, "the part is free again"
