"""The operator's commands, on the database of a server that runs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.server.accounts.accounts import AccountOptions, Accounts
from tabia.server.accounts.visitor import stranger
from tabia.server.clock import Clock
from tabia.server.database.engines import open_database
from tabia.server.errors import Forbidden
from tests.server.running import run

from .shared import CHEAP, PASSWORD


@pytest.fixture
def accounts(database: Path | str) -> Iterator[Accounts]:
    found = Accounts(open_database(database), AccountOptions(hashing=CHEAP, invite_only=True), Clock())
    yield found
    found.close()
    found.database.close()


def serve(database: Path | str, *words: str) -> Result:
    place = ("--data", str(database)) if isinstance(database, Path) else ("--db", database)
    return CliRunner().invoke(app, ["serve", *words, *place])


def test_invite_list_reset_ban_and_promote(database: Path | str, accounts: Accounts) -> None:
    codes = serve(database, "invite", "--count", "3").stdout.split()
    assert len(set(codes)) == 3
    run(accounts.sign_up(stranger("192.0.2.1"), "Ada", PASSWORD, codes[0]))
    (listed,) = json.loads(serve(database, "people", "list", "--json").stdout)
    assert (listed["name"], listed["role"], listed["banned"]) == ("Ada", "member", None)
    said = serve(database, "people", "reset", "ada").stdout
    password = said.split(" is ")[1].split(";")[0]
    run(accounts.login(stranger("192.0.2.2"), "Ada", password, {}))
    assert serve(database, "people", "operator", "ada").exit_code == 0
    assert "operator" in serve(database, "people", "list").stdout
    assert serve(database, "people", "ban", "ada").exit_code == 0
    with pytest.raises(Forbidden, match="banned"):
        run(accounts.login(stranger("192.0.2.2"), "Ada", password, {}))
    assert serve(database, "people", "unban", "ada").exit_code == 0
    run(accounts.login(stranger("192.0.2.2"), "Ada", password, {}))


def test_backup_and_restore(database: Path | str, accounts: Accounts, tmp_path: Path) -> None:
    file, new = tmp_path / "backup.jsonl", tmp_path / "new"
    made = serve(database, "backup", str(file))
    assert made.exit_code == 0 and "0 games, 0 people" in made.stdout
    restored = serve(new, "restore", str(file))
    assert restored.exit_code == 0 and made.stdout.split("sha256")[1] == restored.stdout.split("sha256")[1]
    again = serve(new, "restore", str(file))
    assert again.exit_code == 2 and "is not empty" in again.stderr


def test_refusals_are_one_line_with_exit_code_2(tmp_path: Path, accounts: Accounts, database: Path | str) -> None:
    for words, why in (
        (("people", "ban", "nobody"), "Nobody here has the name 'nobody'"),
        (("backup", str(tmp_path / "missing" / "file")), "cannot be written"),
        (("restore", str(tmp_path / "missing")), "cannot be read"),
    ):
        found = serve(database, *words)
        assert found.exit_code == 2 and why in found.stderr and found.stderr.count("\n") == 1
    found = serve(tmp_path / "elsewhere", "people", "list")
    assert found.exit_code == 2 and "does not exist" in found.stderr
    found = CliRunner().invoke(app, ["serve", "--data", str(tmp_path), "people", "list"])
    assert found.exit_code == 2 and "Write --data after people" in found.stderr
