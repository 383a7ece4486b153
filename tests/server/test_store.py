"""The store: what is saved reads back, undo shortens a game, newer databases are refused."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql

from tabia.server.database.database import FILE
from tabia.server.database.schema import metadata
from tabia.server.database.store import Saved, Store
from tabia.server.errors import StoreError

GAME = Saved(
    id="one",
    game="connect4",
    rules=1,
    seed=5,
    seats=[{"kind": "human", "agent": None}, {"kind": "agent", "agent": "level:club"}],
    opening=1,
    created="2026-11-16T12:00:00+00:00",
    version=3,
    resigned=None,
    actions=(3, 3, 4),
    result=None,
)


def test_games_read_back_after_moves_undo_and_another_line(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for actions in ((), (3,), (3, 3, 4), (3, 3), (3, 2, 2, 2), (1,)):
        saved = replace(GAME, actions=actions, version=GAME.version + len(actions))
        store.save(saved)
        assert store.load("one") == saved
    store.close()
    again = Store(tmp_path)
    assert again.load("one") == saved and again.load("two") is None
    again.close()


def test_finished_games_are_listed_newest_first(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for number in range(5):
        result = {"text": "Red won"} if number % 2 else None
        game = "connect4" if number < 4 else "othello"
        store.save(replace(GAME, id=str(number), game=game, created=f"2026-11-16T12:00:0{number}", result=result))
    assert [saved.id for saved in store.listed()] == ["4", "3", "2", "1", "0"]
    assert [saved.id for saved in store.listed(finished=True)] == ["3", "1"]
    assert [saved.id for saved in store.listed(finished=False, game="connect4", limit=1)] == ["2"]
    assert len(store.listed()[0].actions) == 3
    store.close()


def test_commits_reach_the_disk_without_a_write_ahead_log(tmp_path: Path) -> None:
    store = Store(tmp_path)
    with store.database.transaction() as connection:
        assert connection.execute(sql.text("PRAGMA journal_mode")).scalar() == "delete"
        assert connection.execute(sql.text("PRAGMA synchronous")).scalar() == 2  # FULL
    store.close()


def test_the_migrations_make_the_tables_that_the_code_expects(tmp_path: Path) -> None:
    store = Store(tmp_path)
    found = sql.inspect(store.database.engine)
    for table in metadata.tables.values():
        assert {column["name"] for column in found.get_columns(table.name)} == {column.name for column in table.columns}
    store.close()


def test_a_newer_database_is_refused_in_one_line(tmp_path: Path) -> None:
    Store(tmp_path).close()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.execute("UPDATE alembic_version SET version_num = '9999'")
    connection.commit()
    connection.close()
    with pytest.raises(StoreError, match=r"written by a newer Tabia \(schema 9999\); update Tabia") as refused:
        Store(tmp_path)
    assert "\n" not in str(refused.value)


def test_a_file_that_is_no_database_is_refused_in_one_line(tmp_path: Path) -> None:
    (tmp_path / FILE).write_bytes(b"no database " * 100)
    with pytest.raises(StoreError, match="cannot be used: file is not a database"):
        Store(tmp_path)


def test_a_failed_write_changes_nothing_and_says_so(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.save(GAME)
    with store.database.transaction() as connection:
        pages = connection.execute(sql.text("PRAGMA page_count")).scalar()
        connection.execute(sql.text(f"PRAGMA max_page_count = {pages}"))  # as on a full disk
    with pytest.raises(StoreError, match="Nothing was saved: database or disk is full"):
        store.save(replace(GAME, id="two", seats=[{"kind": "human", "agent": "x" * 100_000}]))
    assert store.load("two") is None and store.load("one") == GAME
    store.close()
