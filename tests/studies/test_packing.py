"""Archives bring finished parts to another machine: nothing is computed again, and missing weights are noticed."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

import pytest

from tabia.players import runs
from tabia.studies import packing, registry, report, runner
from tabia.studies.directory import StudyDirectory
from tabia.studies.estimates import StudyError
from tabia.studies.part import Measurement, NoControl, Outcome, Place
from tabia.studies.trainings import steps

from .toy_study import STUDY

LIMIT = 64 * 1024  # bytes; smaller than all weights of the run below


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> StudyDirectory:
    directory, study = StudyDirectory(tmp_path_factory.mktemp("trained") / "study"), registry.load("tictactoe-training")
    runner.run(study, directory, study.scale("tiny"), only=["train-0"])
    return directory


def parts(need: str = "") -> list[Measurement]:
    """A training part, and if wanted one that needs it."""
    found = [Measurement(name="train-0", keys=(), measure=lambda place: Outcome())]
    return (
        [*found, Measurement(name="later", keys=(), measure=lambda place: Outcome(), needs=(need,))] if need else found
    )


def test_a_copy_gives_the_same_report_and_runs_nothing_again(tmp_path: Path) -> None:
    original, copy = StudyDirectory(tmp_path / "original"), StudyDirectory(tmp_path / "copy")
    scale = STUDY.scale("tiny")
    runner.run(STUDY, original, scale)
    (archive,) = packing.pack(original, STUDY.parts(scale, 0), tmp_path / "a.tar")
    assert packing.unpack(archive, copy) == ["first", "match-0", "last"]
    before = {path: path.stat() for path in copy.path.rglob("result.json")}
    runner.run(STUDY, copy, scale)
    assert {path: path.stat() for path in copy.path.rglob("result.json")} == before
    pages = [report.write(STUDY, one)[1].read_text() for one in (original, copy)]
    assert pages[0] == pages[1]
    assert packing.unpack(archive, copy) == []


def test_a_study_continues_from_published_results(tmp_path: Path) -> None:
    original, copy = StudyDirectory(tmp_path / "original"), StudyDirectory(tmp_path / "copy")
    scale = STUDY.scale("tiny")
    runner.run(STUDY, original, scale, only=["first"])
    archive = packing.pack_results(original, STUDY.parts(scale, 0), tmp_path / "parts.tar.gz")
    assert packing.unpack(archive, copy) == ["first"]
    first = (copy.folder("first") / "result.json").read_bytes()
    runner.run(STUDY, copy, scale)
    assert (copy.folder("first") / "result.json").read_bytes() == first
    again = packing.pack_results(original, STUDY.parts(scale, 0), tmp_path / "again.tar.gz")
    assert again.read_bytes() == archive.read_bytes()


def test_published_results_have_no_weights_and_say_so(trained: StudyDirectory, tmp_path: Path) -> None:
    copy = StudyDirectory(tmp_path / "copy")
    packing.unpack(packing.pack_results(trained, parts(), tmp_path / "parts.tar.gz"), copy)
    assert copy.finished("train-0") and not list(copy.path.rglob("*.safetensors"))
    with pytest.raises(StudyError, match="train-0 and run the study again"):
        steps(place(copy), "train-0")


def place(directory: StudyDirectory) -> Place:
    return Place(directory.path, NoControl(), folder_of=directory.folder)


def test_only_the_last_weights_travel_unless_a_part_needs_more(trained: StudyDirectory, tmp_path: Path) -> None:
    every = steps(place(trained), "train-0")
    (archive,) = packing.pack(trained, parts(), tmp_path / "last.tar")
    copy = StudyDirectory(tmp_path / "copy")
    packing.unpack(archive, copy)
    assert len(every) > 1 and list(runs.steps(copy.folder("train-0") / "weights")) == every[-1:]
    assert not (copy.folder("train-0") / "run").exists()
    with pytest.raises(StudyError, match="has only some of the checkpoints of train-0"):
        steps(place(copy), "train-0")
    for archive in packing.pack(trained, parts("train-0"), tmp_path / "all.tar"):
        packing.unpack(archive, copy)
    assert steps(place(copy), "train-0") == every


def test_archives_stay_below_the_limit(trained: StudyDirectory, tmp_path: Path) -> None:
    found = packing.pack(trained, parts(), tmp_path / "a.tar", all_weights=True, limit=LIMIT)
    sizes = [len(path.read_bytes()) for path in trained.folder("train-0").rglob("weights/**/*.safetensors")]
    assert max(sizes) < LIMIT < sum(sizes) and [path.name for path in found[:2]] == ["a.tar", "a-2.tar"]
    assert all(path.stat().st_size <= LIMIT for path in found)


@pytest.mark.parametrize(
    "name", ["../study.json", "parts/a/run/config.toml", "/etc/passwd", "parts/../../a/result.json"]
)
def test_other_archives_are_refused(name: str, tmp_path: Path) -> None:
    content = io.BytesIO()
    manifest = b'{"format": 1, "study": "toy", "version": 3, "scale": "tiny", "seed": 0, "tabia": "1", "device": "cpu"}'
    with tarfile.open(fileobj=content, mode="w") as archive:
        for one, text in (("study.json", manifest), (name, b"x")):
            entry = tarfile.TarInfo(one)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    (tmp_path / "a.tar").write_bytes(content.getvalue())
    with pytest.raises(StudyError, match="is not an archive of a study: it holds"):
        packing.unpack(tmp_path / "a.tar", StudyDirectory(tmp_path / "copy"))
    assert sorted(path.name for path in (tmp_path / "copy").iterdir()) in (["study.json"], [".lock", "study.json"])
