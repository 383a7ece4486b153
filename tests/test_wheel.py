"""The wheel is complete: installed on its own, it lists its agents and one of them moves."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

pytest.importorskip("hatchling")

ROOT = Path(__file__).parents[1]


def run(*command: str | Path, cwd: Path) -> str:
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=cwd, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    pip = (sys.executable, "-m", "pip", "--disable-pip-version-check", "wheel", "--quiet")
    run(*pip, "--no-deps", "--no-build-isolation", "--no-index", "--wheel-dir", folder, ROOT, cwd=folder)
    (built,) = folder.glob("tabia-*.whl")
    return built


def test_it_is_small(wheel: Path) -> None:
    assert wheel.stat().st_size < 60_000_000


def test_the_repository_is_small() -> None:
    listed = run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    sizes = [(ROOT / name).stat().st_size for name in listed if name and (ROOT / name).is_file()]
    assert 1_000_000 < sum(sizes) < 58_000_000


def test_it_holds_the_data_files_and_nothing_else(wheel: Path) -> None:
    inside = set(zipfile.ZipFile(wheel).namelist())
    package = ROOT / "src" / "tabia"
    files = {path for path in package.rglob("*") if path.is_file() and "__pycache__" not in path.parts}
    missing = {f"tabia/{path.relative_to(package).as_posix()}" for path in files} - inside
    assert not missing
    assert all(name.startswith(("tabia/", "tabia-")) for name in inside)


def test_it_plays(wheel: Path, tmp_path: Path) -> None:
    """Only Tabia comes from the wheel; its dependencies are those of this environment."""
    venv = tmp_path / "venv"
    run(sys.executable, "-m", "venv", "--without-pip", venv, cwd=tmp_path)
    (packages,) = (venv / "lib").glob("python3*/site-packages")
    zipfile.ZipFile(wheel).extractall(packages)
    # Python searches a folder that a .pth file names but reads no .pth file in it, so the editable Tabia stays out.
    dependencies = sysconfig.get_path("purelib")
    (packages / "dependencies.pth").write_text(dependencies + "\n", encoding="utf-8")
    python = venv / "bin" / "python"
    place = run(python, "-I", "-c", "import tabia; print(tabia.__file__)", cwd=tmp_path)
    assert place.startswith(str(packages))
    assert "az:connect4" in run(python, "-I", "-m", "tabia", "agents", cwd=tmp_path)
    answer = run(python, "-I", "-m", "tabia", "analyze", "tictactoe", "--player", "az:tictactoe", cwd=tmp_path)
    assert "az:tictactoe plays" in answer
