"""`tools/run_study.py`: what it packs continues a study, and it ends when it should."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tabia.studies import StudyDirectory, packing
from tabia.studies.part import Measurement, Outcome

SERVICE = """#!/bin/sh
echo "$1" >> "{log}"
[ "$1" = -d ] || cat >> "{log}"
"""


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    path = Path(__file__).parents[2] / "tools" / "run_study.py"
    spec = importlib.util.spec_from_file_location("run_study", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, spec.name, module)  # where its dataclass looks up annotations
    spec.loader.exec_module(module)
    return module


def test_a_study_is_continued_from_what_was_packed(tool: ModuleType, tmp_path: Path) -> None:
    study = ["connect-width", "--scale", "tiny"]
    assert tool.main([*study, "--only", "train-*", "--out", str(tmp_path / "first")]) == 0
    packed = [str(tmp_path / "first" / name) for name in ("parts.tar.gz", "weights.tar")]
    assert sorted(map(str, (tmp_path / "first").iterdir())) == packed
    starts = [word for one in packed for word in ("--start", one)]
    assert tool.main([*study, *starts, "--out", str(tmp_path / "second")]) == 0
    assert [path.name for path in (tmp_path / "second").iterdir()] == ["parts.tar.gz"]  # nothing needs weights now
    directory = StudyDirectory(tmp_path / "all")
    assert packing.unpack(tmp_path / "second" / "parts.tar.gz", directory) == ["train-7-0", "rate-7-0"]


def test_what_runs_when_the_time_is_over_is_stopped(
    tool: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "bin").mkdir()
    service = tmp_path / "bin" / tool.SERVICE
    service.write_text(SERVICE.format(log=tmp_path / "log"), encoding="utf-8")
    service.chmod(0o755)
    monkeypatch.setitem(tool.ENVIRONMENT, "PATH", f"{service.parent}:{tool.ENVIRONMENT['PATH']}")
    monkeypatch.setenv("PATH", tool.ENVIRONMENT["PATH"])
    words = ["connect-width", "--scale", "tiny", "--together", "2", "--minutes", "0.02", "--out", str(tmp_path / "out")]
    assert tool.main(words) == 0
    assert "Jobs stopped or not started: 1 of 1." in capfd.readouterr().out
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["parts.tar.gz"]
    assert (tmp_path / "log").read_text(encoding="utf-8").split() == ["-d", "quit"]


def test_parts_that_need_each_other_share_a_process(tool: ModuleType, tmp_path: Path) -> None:
    def part(name: str, *needs: str) -> Measurement:
        return Measurement(name=name, keys=(), measure=lambda place: Outcome(()), seed=0, needs=needs)

    parts = [part("a"), part("b"), part("of-a", "a"), part("of-both", "a", "b"), part("after", "of-a")]
    jobs = tool.plan(parts, StudyDirectory(tmp_path))
    assert [(job.parts, job.needs) for job in jobs] == [
        (["a", "of-a", "after"], set()),
        (["b"], set()),
        (["of-both"], {"a", "b"}),
    ]


def test_a_mistake_is_one_line(tool: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        tool.main(["connect-wide", "--out", str(tmp_path)])
    assert "Did you mean connect-width" in capfd.readouterr().err
