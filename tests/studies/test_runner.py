"""A study is stored part by part, and resumes after an interrupt anywhere exactly as if it had not been interrupted."""

from __future__ import annotations

import csv
import datetime
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tabia.core.locks import FileLock
from tabia.evaluation.records import load
from tabia.studies import packing, report, results, runner
from tabia.studies.directory import LOCK, StudyDirectory
from tabia.studies.estimates import StudyError, exact
from tabia.studies.figures import draw
from tabia.studies.matches import RECORDS
from tabia.studies.part import Measurement, Outcome
from tabia.studies.plots import Curve, Figure
from tabia.studies.study import Scale
from tabia.studies.verdicts import Published

from .toy_study import GAMES, STUDY

PARTS = ("first", "match-0", "last")


def run(path: Path, **options: object) -> runner.Run:
    return runner.run(STUDY, StudyDirectory(path), STUDY.scale("tiny"), **options)  # type: ignore[arg-type]


class Interrupt:
    """Interrupts a study at the n-th report of progress, as Ctrl-C would."""

    def __init__(self, at: int) -> None:
        self.left, self.seen = at, 0

    def __call__(self, part: str, done: float, total: float) -> None:
        assert 0.0 <= done <= total == 3.0
        self.seen += 1
        self.left -= 1
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("whole") / "study"
    assert run(path).finished == list(PARTS)
    return path


def stored(path: Path) -> dict[str, object]:
    directory = StudyDirectory(path)
    found: dict[str, object] = {name: directory.result(name).outcome for name in PARTS}
    return found | {"games": load(path / "parts" / "match-0" / RECORDS).records}


def test_an_interrupt_at_any_report_of_progress_loses_and_repeats_nothing(whole: Path, tmp_path: Path) -> None:
    count = Interrupt(-1)
    run(tmp_path / "count", observe=count)
    assert count.seen > 25  # both sides of every part boundary, and every move of the match
    for at in range(1, count.seen + 1):
        path = tmp_path / f"at-{at}"
        with pytest.raises(KeyboardInterrupt):
            run(path, observe=Interrupt(at))
        run(path)
        assert stored(path) == stored(whole), f"interrupted at report {at} of {count.seen}"
    assert len(load(whole / "parts" / "match-0" / RECORDS).records) == GAMES


def test_a_finished_part_is_not_run_again(whole: Path) -> None:
    before = (whole / "parts" / "first" / "result.json").stat()
    assert run(whole).finished == list(PARTS)
    assert (whole / "parts" / "first" / "result.json").stat() == before


def test_only_some_parts(tmp_path: Path) -> None:
    assert run(tmp_path / "a", only=["f*"]).finished == ["first"]
    with pytest.raises(StudyError, match=r"needs match-0\. Run first: --only match-0"):
        run(tmp_path / "a", only=["last"])
    with pytest.raises(StudyError, match=r"no part 'mtch-0'\. Did you mean match-0"):
        run(tmp_path / "a", only=["mtch-0"])
    assert run(tmp_path / "a", only=["match-0", "last"]).finished == ["match-0", "last"]


def test_a_part_that_another_process_runs_is_left_to_it(tmp_path: Path) -> None:
    run(tmp_path / "a", only=["first"])
    folder = tmp_path / "a" / "parts" / "match-0"
    folder.mkdir(parents=True)
    hold = (
        "import fcntl, sys; f = open(sys.argv[1], 'w'); fcntl.flock(f, fcntl.LOCK_EX); print('held', flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", hold, str(folder / LOCK)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None and holder.stdin is not None
        assert holder.stdout.readline() == b"held\n"
        found = run(tmp_path / "a")
        assert (found.finished, found.elsewhere, found.waiting) == (["first"], ["match-0"], ["last"])
        holder.stdin.close()
    assert run(tmp_path / "a").finished == list(PARTS)


def test_locks_are_per_part(tmp_path: Path) -> None:
    run(tmp_path / "a", only=["first"])
    with FileLock(tmp_path / "a" / "parts" / "first" / LOCK):
        assert run(tmp_path / "a", only=["match-0"]).finished == ["match-0"]


def test_a_directory_of_another_study_version_scale_or_seed_is_refused(whole: Path) -> None:
    directory = StudyDirectory(whole)
    for other, scale, seed, what in (
        (replace(STUDY, name="other"), "tiny", 0, "its study is 'toy', not 'other'"),
        (replace(STUDY, version=4), "tiny", 0, "its version is 3, not 4"),
        (STUDY, "quick", 0, "its scale is 'tiny', not 'quick'"),
        (STUDY, "tiny", 7, "its seed is 0, not 7"),
    ):
        with pytest.raises(StudyError, match=what) as refused:
            runner.run(other, directory, other.scale(scale), seed=seed)
        assert "Give another directory with --out" in str(refused.value)
    with pytest.raises(StudyError, match="results of another version of a study cannot be resumed"):
        runner.run(replace(STUDY, version=4), directory, STUDY.scale("tiny"))


def test_other_directories_are_refused(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("hello")
    with pytest.raises(StudyError, match="is not empty and holds no study"):
        run(tmp_path)
    with pytest.raises(StudyError, match="is not a directory"):
        run(tmp_path / "letter.txt")
    with pytest.raises(StudyError, match="must not contain"):
        run(tmp_path / "a,b")
    with pytest.raises(StudyError, match="holds no study"):
        report.write(STUDY, StudyDirectory(tmp_path / "none"))


def test_damaged_files_are_reported(whole: Path, tmp_path: Path) -> None:
    run(tmp_path / "a", only=["first"])
    result = tmp_path / "a" / "parts" / "first" / "result.json"
    result.write_text('{"format": 1, "estimates": [{"key": 1}]}')
    with pytest.raises(StudyError, match="is damaged; remove it"):
        report.write(STUDY, StudyDirectory(tmp_path / "a"))
    (tmp_path / "a" / "study.json").write_text("{")
    with pytest.raises(StudyError, match="is damaged"):
        run(tmp_path / "a")


def test_a_part_must_measure_what_it_declares(tmp_path: Path) -> None:
    wrong = replace(
        STUDY, parts=lambda scale, seed: [Measurement(name="a", keys=("x",), measure=lambda place: Outcome())]
    )
    with pytest.raises(StudyError, match="instead of x"):
        runner.run(wrong, StudyDirectory(tmp_path / "a"), wrong.scale("tiny"))


def test_the_report_follows_from_the_stored_results_alone(whole: Path) -> None:
    written = report.write(STUDY, StudyDirectory(whole))
    before = {path: path.read_bytes() for path in written}
    for path in written:
        path.unlink()
    (whole / "figures").mkdir(exist_ok=True)
    (whole / "figures" / "old.png").write_bytes(b"")  # of an earlier report
    assert {path: path.read_bytes() for path in report.write(STUDY, StudyDirectory(whole))} == before
    assert [path.name for path in (whole / "figures").iterdir()] == ["wins.svg"]
    assert [path.name for path in written] == ["results.csv", "results.md", "wins.svg"]
    page = (whole / "results.md").read_text()
    assert "one seed; 2 are needed" in page and max(map(len, page.splitlines())) <= 120
    assert b"a toy" in before[written[2]] or b"scale" in before[written[2]]


def test_a_part_has_the_commit_and_the_date_of_the_process_that_finished_it(whole: Path) -> None:
    found = StudyDirectory(whole).result("first")
    root = Path(__file__).parents[2]
    words = ["git", "-C", str(root), "rev-parse", "--short=12", "HEAD"]
    head = subprocess.run(words, capture_output=True, text=True, check=False).stdout.strip()
    assert (found.commit or "").rstrip("+") == head  # both are empty outside a checkout
    age = datetime.datetime.now(datetime.UTC).date() - datetime.date.fromisoformat(found.date or "")
    assert datetime.timedelta(0) <= age <= datetime.timedelta(days=1)


def test_the_page_names_commits_and_dates(tmp_path: Path) -> None:
    """Of all parts, also of published archives; older results have neither, and their page says nothing."""
    path, parts = tmp_path / "a", STUDY.parts(STUDY.scale("tiny"), 0)
    run(path)
    for part in parts:
        _redate(path, part.name, None, None)
    assert _computed_on(path) == []
    _redate(path, "last", "3c" * 6 + "+", "2026-03-05")
    assert _computed_on(path) == [f"| computed on | 2026-03-05, commit {'3c' * 6}+ (1 of 3 parts) |"]
    _redate(path, "match-0", "1a" * 6, "2026-02-01")
    _redate(path, "first", None, "2026-02-02")  # computed by an installed package
    whole = [f"| computed on | 2026-02-01 to 2026-03-05, commits {'1a' * 6} {'3c' * 6}+ |"]
    assert _computed_on(path) == whole
    packing.unpack(
        packing.pack_results(StudyDirectory(path), parts, tmp_path / "a.tar.gz"), StudyDirectory(tmp_path / "b")
    )
    assert _computed_on(tmp_path / "b") == whole


def test_many_commits_fit_on_the_page(tmp_path: Path) -> None:
    def one(number: int) -> Measurement:
        return Measurement(
            name=f"part-{number}", keys=(f"{number}",), measure=lambda place: Outcome((exact(f"{number}", 1),))
        )

    study = replace(STUDY, parts=lambda scale, seed: [one(number) for number in range(9)])
    directory = StudyDirectory(tmp_path / "a")
    runner.run(study, directory, study.scale("tiny"))
    for number in range(9):
        _redate(directory.path, f"part-{number}", f"{number}" * 12 + "+", f"2026-02-0{number + 1}")
    report.write(study, directory)
    (line,) = [line for line in (directory.path / "results.md").read_text().splitlines() if "computed on" in line]
    assert len(line) <= 120 and "2026-02-01 to 2026-02-09" in line and "000000000000+" in line and "and 5 more" in line


def _redate(path: Path, part: str, commit: str | None, date: str | None) -> None:
    """Change the commit and the date of a stored part; without both, as older versions stored it."""
    file = path / "parts" / part / "result.json"
    found = {name: value for name, value in json.loads(file.read_text()).items() if name not in ("commit", "date")}
    file.write_text(json.dumps(found if date is None else {**found, "commit": commit, "date": date}))


def _computed_on(path: Path) -> list[str]:
    report.write(STUDY, StudyDirectory(path))
    return [line for line in (path / "results.md").read_text().splitlines() if "computed on" in line]


def test_an_unfinished_study_has_a_report_too(tmp_path: Path) -> None:
    run(tmp_path / "a", only=["first"])
    report.write(STUDY, StudyDirectory(tmp_path / "a"))
    page = (tmp_path / "a" / "results.md").read_text()
    assert "**2 of 3 parts not finished.**" in page
    assert "not comparable (not measured)" in page


def test_the_report_counts_the_seeds_that_were_run(tmp_path: Path) -> None:
    """Of three seeds one is finished and one begun: tables and figures say so."""

    def one(key: str, repeat: int) -> Measurement:
        return Measurement(
            name=f"{key}-{repeat}", keys=(key,), measure=lambda place: Outcome((exact(key, 1),)), seed=repeat
        )

    def parts(scale: Scale, seed: int) -> list[Measurement]:
        return [one(key, repeat) for repeat in range(3) for key in ("wins", "one")]

    study = replace(STUDY, parts=parts, scales=tuple(replace(scale, seeds=3) for scale in STUDY.scales))
    both = Figure(name="both", title="", x="", y="", curves=(Curve("a", (("x", "wins"), ("y", "one"))),))
    directory = StudyDirectory(tmp_path / "a")
    runner.run(study, directory, study.scale("tiny"), only=["wins-0", "one-0", "wins-1"])
    written = report.write(study, directory)
    page = written[1].read_text()
    assert "3 of 6 parts not finished, two of three seeds" in page and "| seeds | 2 of 3, from 0 |" in page
    found = results.collect(study, directory, study.scale("tiny"), 0)
    assert results.seeds_shown(both, found) == "1 to 2 seeds"
    assert results.seeds_shown(study.figures[0], found) == "2 seeds"
    lines = list(csv.DictReader(written[0].read_text().splitlines()))
    assert [lines[0][name] for name in report.PROGRESS] == ["3", "6", "2", "3"]


def test_a_figure_has_no_place_for_what_is_not_measured() -> None:
    points = tuple((name, name) for name in ("measured", "missing", "published"))
    shown = Figure(name="one", title="One", x="", y="", curves=(Curve("curve", points),), joined=False)
    found = {"measured": exact("measured", 1.0)}
    drawn = draw(shown, found, {}, [Published("published", 2.0, "")], scale="", authors="Someone")
    assert drawn is not None
    assert b"measured" in drawn and b"published" in drawn and b"missing" not in drawn


def test_without_matplotlib_only_the_figures_are_missing(whole: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert [path.name for path in report.write(STUDY, StudyDirectory(whole))] == ["results.csv", "results.md"]


def test_an_axis_of_counts_has_whole_numbers_also_where_points_are_moved_aside() -> None:
    """Curves over the same counts are drawn side by side, so that their intervals do not hide each other."""
    found = {f"{curve} {count}": exact(f"{curve} {count}", float(count)) for curve in "ab" for count in range(3)}
    curves = tuple(Curve(curve, tuple((count, f"{curve} {count}") for count in range(3))) for curve in "ab")
    shown = Figure(name="one", title="", x="", y="", curves=curves, y_range=(0.0, 2.0))
    drawn = draw(shown, found, {}, [], scale="", authors="")
    assert drawn is not None and b"<!-- 0.5 -->" not in drawn.split(b'id="matplotlib.axis_2"')[0]
    assert b"<!-- 1 -->" in drawn.split(b'id="matplotlib.axis_2"')[0]
