"""The time of a part is the sum over all processes and devices that worked on it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tabia.studies import report, runner
from tabia.studies.clock import TIME, PartClock
from tabia.studies.directory import StudyDirectory
from tabia.studies.part import Measurement, Outcome, Place
from tabia.studies.study import Scale, Source, Study


class Time:
    """A clock that parts and tests set forward."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("tabia.studies.clock.time.monotonic", lambda: self.now)


@pytest.fixture
def time(monkeypatch: pytest.MonkeyPatch) -> Time:
    return Time(monkeypatch)


def test_seconds_of_earlier_processes_count_by_device(tmp_path: Path, time: Time) -> None:
    first = PartClock(tmp_path, "gpu")
    time.now += 40.0
    first.save()
    second = PartClock(tmp_path, "cpu")
    time.now += 2.0
    second.save()
    third = PartClock(tmp_path, "gpu")
    time.now += 3.0
    assert third.seconds == {"gpu": 43.0, "cpu": 2.0}


def test_a_killed_process_loses_only_the_seconds_since_the_last_save(tmp_path: Path, time: Time) -> None:
    killed = PartClock(tmp_path, "cpu")
    for _ in range(35):
        time.now += 1.0
        killed.tick()
    assert PartClock(tmp_path, "cpu").seconds == {"cpu": 33.0}  # saved after 11, 22 and 33 seconds


def test_a_damaged_file_counts_as_no_time(tmp_path: Path, time: Time) -> None:
    (tmp_path / TIME).write_text("[1]")
    assert PartClock(tmp_path, "cpu").seconds == {"cpu": 0.0}


def test_a_resumed_part_reports_the_time_of_both_processes(tmp_path: Path, time: Time) -> None:
    def measure(place: Place) -> Outcome:
        time.now += 60.0
        if not (place.folder / "again").exists():
            (place.folder / "again").touch()
            raise KeyboardInterrupt
        return Outcome()

    study = Study(
        name="timed",
        version=1,
        question="How long?",
        source=Source("Nobody 2000", "section 1"),
        scales=(Scale(name="tiny", about="one part"),),
        parts=lambda scale, seed: [Measurement(name="part", keys=(), measure=measure)],
        published=(),
        claims=(),
        figures=(),
    )
    directory = StudyDirectory(tmp_path / "study")
    with pytest.raises(KeyboardInterrupt):
        runner.run(study, directory, study.scale("tiny"))
    runner.run(study, directory, study.scale("tiny"))
    assert directory.result("part").seconds == {"cpu": 120.0}
    assert not (directory.folder("part") / TIME).exists()
    report.write(study, directory)
    assert ", 2.0 minutes on cpu |" in (tmp_path / "study" / report.MARKDOWN).read_text()
