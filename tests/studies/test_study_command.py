"""`tabia study`: what it prints, what it refuses, and that Ctrl-C loses nothing."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.studies import publication, registry

ROOT = Path(__file__).parents[2]


def call(*arguments: object) -> tuple[int, str]:
    result = CliRunner().invoke(app, ["study", *map(str, arguments)])
    return result.exit_code, result.output


def test_list_names_every_study() -> None:
    status, text = call("list")
    assert status == 0 and all(name in text for name in registry.names())
    listed = json.loads(CliRunner().invoke(app, ["study", "list", "--json"]).stdout)
    assert [one["name"] for one in listed] == registry.names()


def test_run_then_report_then_publish(tmp_path: Path) -> None:
    out = tmp_path / "study"
    status, text = call("run", "bandits", "--scale", "tiny", "--out", out, "--only", "bandits-0")
    assert status == 0 and str(out / "results.md") in text and "not comparable" in text
    (out / "results.csv").unlink()
    status, text = call("report", "bandits", "--out", out, "--publish", tmp_path / "docs")
    assert status == 0 and (out / "results.csv").is_file()
    folder = tmp_path / "docs" / "bandits"
    assert sorted(path.name for path in folder.iterdir()) == ["figures", "parts.tar.gz", "results.csv", "results.md"]
    index = (tmp_path / "docs" / publication.INDEX).read_text()
    assert "bandits/results" in index and "4357.4" in index and max(map(len, index.splitlines())) <= 120
    assert call("index", tmp_path / "docs")[0] == 0
    assert (tmp_path / "docs" / publication.INDEX).read_text() == index


def test_parts_are_listed_with_their_state(tmp_path: Path) -> None:
    out = tmp_path / "study"
    call("run", "bandits", "--scale", "tiny", "--out", out)
    status, text = call("run", "bandits", "--scale", "tiny", "--out", out, "--parts")
    assert status == 0 and "bandits-0" in text and "finished" in text


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        (("run", "bandit"), "There is no study 'bandit'. Did you mean bandits"),
        (("run", "bandits", "--scale", "hug"), "There is no scale 'hug'."),
        (("run", "bandits", "--scale", "tiny", "--only", "bandits-9"), "There is no part 'bandits-9'. Did you mean"),
        (("report", "bandits", "--out", "nowhere"), "nowhere holds no study"),
        (("index", "nowhere"), "nowhere is not a directory of published results"),
    ],
)
def test_refusals_say_what_to_do(arguments: tuple[str, ...], answer: str, tmp_path: Path) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        status, text = call(*arguments)
    assert status == 2 and answer in text and "Traceback" not in text
    assert list(tmp_path.iterdir()) == []


def test_a_directory_of_another_study_is_refused(tmp_path: Path) -> None:
    out = tmp_path / "study"
    assert call("run", "bandits", "--scale", "tiny", "--out", out)[0] == 0
    status, text = call("run", "tictactoe-mcts", "--scale", "tiny", "--out", out)
    assert status == 2 and "its study is 'bandits', not 'tictactoe-mcts'" in text
    assert f"tabia study run bandits --scale tiny --seed 0 --out {out}" in text
    assert call("report", "tictactoe-mcts", "--out", out)[0] == 2


def test_without_matplotlib_one_line_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    status, text = call("run", "bandits", "--scale", "tiny", "--out", tmp_path / "study")
    assert status == 0 and text.count("pip install 'tabia[plots]'") == 1
    assert not (tmp_path / "study" / "figures").exists() and (tmp_path / "study" / "results.md").is_file()


def test_ctrl_c_says_how_to_resume(tmp_path: Path) -> None:
    out = tmp_path / "study"
    command = ["run", "tictactoe-mcts", "--scale", "quick", "--out", str(out), "--only", "c-0-0"]
    with subprocess.Popen(
        [sys.executable, "-m", "tabia", "study", *command],
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
    ) as running:
        assert running.stderr is not None
        assert running.stderr.readline().startswith("c-0-0")
        running.send_signal(signal.SIGINT)
        rest = running.stderr.read()
        assert running.wait(120) == 130
    resume = f"Continue with: tabia study run tictactoe-mcts --scale quick --out {out} --only c-0-0"
    assert "tabia: interrupted." in rest and resume in rest and "Traceback" not in rest
