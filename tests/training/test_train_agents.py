"""`tools/train_agents.py`: what comes back is a run that players and reports read."""

from __future__ import annotations

import importlib.util
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from tabia.games import make
from tabia.networks import weights
from tabia.networks.weights import read_manifest
from tabia.players.runs import find_agent, weights_file
from tabia.training.report.report import write_report
from tabia.training.run import metrics
from tabia.training.run.directory import RunDirectory

TINY = ("iterations=2", "selfplay.games=16", "learner.batch_size=16", "learner.steps=1", "replay.min_positions=16")


@pytest.fixture
def tool(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    path = Path(__file__).parents[2] / "tools" / "train_agents.py"
    spec = importlib.util.spec_from_file_location("train_agents", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_runs_come_back_as_small_files(tool: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    changes = [word for setting in TINY for word in ("--set", setting)]
    status = tool.main(["tictactoe", "connect3", "--together", "2", "--out", str(tmp_path), *changes])
    assert status == 0, capfd.readouterr().out
    assert sorted(path.name for path in tmp_path.iterdir()) == ["connect3.tar.gz", "tictactoe.tar.gz"]
    with tarfile.open(tmp_path / "tictactoe.tar.gz") as packed:
        packed.extraction_filter = getattr(tarfile, "data_filter", None)  # missing before Python 3.11.4
        packed.extractall(tmp_path)
    run = RunDirectory(tmp_path / "tictactoe")
    assert [line["iteration"] for line in metrics.read(run)] == [1, 2]
    assert "tabia train" in (run.path / "train.log").read_text(encoding="utf-8")
    file = weights_file(str(run.path))
    assert {tensor.stored for tensor in read_manifest(file).tensors.values()} == {"int8", "float16"}
    assert find_agent(make("tictactoe"), str(run.path)).network == weights.load(file).network
    assert write_report(run, rate=False).exists()


def test_a_run_that_fails_is_reported(tool: ModuleType, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert tool.main(["tictactoe", "--out", str(tmp_path), "--set", "search.simulations=0"]) == 1
    assert "search.simulations is a whole number" in capfd.readouterr().out
    assert list(tmp_path.iterdir()) == []


def test_older_checkpoints_are_left_out_of_a_file_that_would_be_too_large(tool: ModuleType, tmp_path: Path) -> None:
    for step in ("1", "2", "10"):
        (tmp_path / "run" / "checkpoints" / step).mkdir(parents=True)
        (tmp_path / "run" / "checkpoints" / step / "weights.safetensors").write_bytes(step.encode())
    content = tool.archive(tmp_path / "run", ["2", "10"])
    (tmp_path / "packed").write_bytes(content)
    with tarfile.open(tmp_path / "packed") as packed:
        assert packed.getnames() == [f"run/checkpoints/{step}/weights.safetensors" for step in ("2", "10")]
