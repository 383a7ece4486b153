"""`tabia doctor`: one line each, what to do, and exit code 1 where something is broken."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import jax
import jax.numpy as jnp
import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.networks import numerics
from tabia.server import doctor
from tabia.server.doctor import BROKEN, OK, WARNING, examine, sqlite_has_wal_bug


def test_a_sound_machine_is_all_right(tmp_path: Path) -> None:
    answer = CliRunner().invoke(app, ["doctor", "--data", str(tmp_path / "new" / "data"), "--runs", str(tmp_path)])
    assert answer.exit_code == 0, answer.output
    lines = answer.stdout.splitlines()
    assert all(line.split()[0] in (OK, WARNING) for line in lines)
    for what in ("Tabia", "Python", "device", "memory", "SQLite", "data", "runs disk", "extra server"):
        assert sum(f" {what}: " in line for line in lines) == 1


def test_a_missing_extra_and_a_closed_directory_are_broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(dir: Path) -> None:
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr(doctor.tempfile, "TemporaryFile", closed)
    monkeypatch.setattr(doctor, "_is_installed", lambda package: package != "fastapi")
    found = {finding.what: finding for finding in examine(tmp_path, tmp_path)}
    assert found["data"].state == BROKEN and "choose another with --data" in found["data"].text
    assert found["extra server"].state == BROKEN and "install tabia[server]" in found["extra server"].text
    answer = CliRunner().invoke(app, ["doctor", "--data", str(tmp_path)])
    assert answer.exit_code == 1


def test_little_disk_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LEAST_DISK", 2**80)
    found = {finding.what: finding for finding in examine(tmp_path, tmp_path)}
    assert found["data disk"].state == WARNING and "make room" in found["data disk"].text


@pytest.mark.parametrize(
    ("version", "bug"),
    [
        ((3, 6, 23), False),
        ((3, 7, 0), True),
        ((3, 44, 5), True),
        ((3, 44, 6), False),
        ((3, 50, 7), False),
        ((3, 51, 2), True),
        ((3, 51, 3), False),
    ],
)
def test_the_versions_of_sqlite_with_the_wal_bug(version: tuple[int, int, int], bug: bool) -> None:
    assert sqlite_has_wal_bug(version) is bug


def test_a_version_with_the_bug_is_a_warning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite3, "sqlite_version_info", (3, 40, 1))
    monkeypatch.setattr(sqlite3, "sqlite_version", "3.40.1")
    found = {finding.what: finding for finding in examine(tmp_path, tmp_path)}
    assert found["SQLite"].state == WARNING and "rollback journal" in found["SQLite"].text


def test_wrong_convolutions_of_a_gpu_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    assert list(doctor._convolutions()) == []  # on a CPU
    monkeypatch.setattr(jax, "default_backend", lambda: "gpu")
    monkeypatch.setattr(numerics, "error", lambda layer, board, batch, dtype: 0.001)
    (found,) = doctor._convolutions()
    assert found.state == OK
    monkeypatch.setattr(
        numerics, "error", lambda layer, board, batch, dtype: float(layer.inputs == 8 and dtype == jnp.bfloat16)
    )
    (found,) = doctor._convolutions()
    assert found.state == WARNING and "(8 filters in bfloat16)" in found.text
