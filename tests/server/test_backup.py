"""Backups: what is restored equals what was stored, by checksum, from and into either database, also under load."""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql

from tabia.server.clock import ManualClock
from tabia.server.database import backup as backups
from tabia.server.database.engines import FILE, open_existing
from tabia.server.database.schema import games, people, ratings, results, sessions, settings
from tabia.server.database.store import Store
from tabia.server.errors import StoreError

from .databases import Postgres
from .test_store import GAME

CLOCK = ManualClock()


def fill(store: Store) -> None:
    """Rows in every kind of table, with text and numbers that are easy to lose."""
    with store.database.transaction() as connection:
        for name, owner in (("zoë", None), ("a\u2028b", None), ("ß🐢", "zoë"), ("Bot", "a\u2028b"), ("_x", None)):
            row = {"id": name, "name": name, "name_key": name, "role": "member", "owner_id": owner, "created": "2026"}
            connection.execute(people.insert().values(**row))
        connection.execute(settings.insert().values(key="secret", value='"quoted"\n\\'))
        connection.execute(sessions.insert().values(id_hash="f" * 64, person_id="zoë", created="a", seen="b"))
        rated = {"person_id": "zoë", "game": "connect4", "volatility": 0.06, "games": 3, "updated": "2026"}
        connection.execute(ratings.insert().values(**rated, rating=1500.1 + 1e-11, deviation=1 / 3))
    human = {"kind": "human", "agent": None}
    for number in range(30):
        seats = [{**human, "person": "zoë", "name": "zoë"}, {"kind": "agent", "agent": "level:club"}]
        over = {"text": "Zoë won"} if number % 2 else None
        actions = tuple(range(number % 7))
        store.save(replace(GAME, id=f"{number:x}", seats=seats, actions=actions, result=over, rated=bool(number % 3)))
    with store.database.transaction() as connection:
        for seat in (0, 1):
            connection.execute(results.insert().values(**RESULT, seat=seat, opponent_seat=1 - seat))


RESULT = {
    "game_id": "1",
    "game": "connect4",
    "finished": 1,
    "person_id": "zoë",
    "opponent_rating": 0.1,
    "opponent_deviation": 0.0,
    "score": 0.5,
    "weight": 1.0,
    "moved_first": True,
    "advantage": 12.5,
    "rating_before": 1.0,
    "deviation_before": 2.0,
    "rating_after": 1e-300,
    "deviation_after": 1.7976931348623157e308,
}


@pytest.mark.parametrize("target", ["sqlite", "postgresql"])
def test_a_restored_database_equals_the_one_backed_up(
    database: Path | str, target: str, tmp_path: Path, postgres: Postgres
) -> None:
    store = Store(database)
    fill(store)
    file = tmp_path / "backup.jsonl"
    contents = backups.backup(store.database, file, CLOCK)
    assert contents.rows["games"] == 30 and contents.rows["people"] == 5 and contents == backups.read(file)
    assert file.stat().st_mode & 0o077 == 0  # it holds hashes of passwords
    where = tmp_path / "new" if target == "sqlite" else postgres.create()
    assert backups.restore(where, file) == contents
    restored = Store(where)
    for number in range(30):
        assert restored.load(f"{number:x}") == store.load(f"{number:x}")
    again = tmp_path / "again.jsonl"
    assert backups.backup(restored.database, again, CLOCK) == contents and again.read_bytes() == file.read_bytes()
    with restored.database.transaction() as connection:  # numbers continue after those that were restored
        made = connection.execute(results.insert().values(**RESULT | {"game_id": "3"}, seat=0, opponent_seat=1))
        assert made.inserted_primary_key == (3,)
    for opened in (store, restored):
        opened.close()


def test_a_database_that_is_not_empty_is_left_alone(database: Path | str, tmp_path: Path) -> None:
    store = Store(database)
    fill(store)
    file = tmp_path / "backup.jsonl"
    contents = backups.backup(store.database, file, CLOCK)
    with pytest.raises(StoreError, match="is not empty; restore into a new database"):
        backups.restore(database, file)
    with store.database.transaction() as connection:
        assert backups.digest(connection) == contents
    store.close()


def test_an_existing_file_is_not_replaced(tmp_path: Path) -> None:
    store = Store(tmp_path)
    file = tmp_path / "backup.jsonl"
    file.write_text("mine", encoding="utf-8")
    with pytest.raises(StoreError, match="exists; choose another name"):
        backups.backup(store.database, file, CLOCK)
    assert file.read_text(encoding="utf-8") == "mine"
    with pytest.raises(StoreError, match="cannot be written"):
        backups.backup(store.database, tmp_path / "missing" / "backup.jsonl", CLOCK)
    store.close()


def _cut(lines: list[bytes]) -> list[bytes]:
    return lines[:-1]


def _shorten(lines: list[bytes]) -> list[bytes]:
    return [*lines[:5], *lines[6:]]


def _swap(lines: list[bytes]) -> list[bytes]:
    return [line.replace(b"connect4", b"connect3", 1) for line in lines]


def _rename(lines: list[bytes]) -> list[bytes]:
    return [lines[0].replace(b'"0002"', b'"9999"'), *lines[1:]]


def _garble(lines: list[bytes]) -> list[bytes]:
    return [*lines[:3], b"{", *lines[3:]]


def _signed(lines: list[bytes]) -> list[bytes]:
    """A row with a column too many, and the checksum that belongs to it."""
    place = next(number for number, line in enumerate(lines) if line.startswith(b"["))
    lines = [*lines[:place], lines[place].replace(b"]\n", b",1]\n"), *lines[place + 1 :]]
    last = json.loads(lines[-1]) | {"sha256": hashlib.sha256(b"".join(lines[1:-1])).hexdigest()}
    return [*lines[:-1], json.dumps(last).encode()]


def _empty(lines: list[bytes]) -> list[bytes]:
    return []


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (_cut, "not complete or was changed"),
        (_shorten, "not complete or was changed"),
        (_swap, "not complete or was changed"),
        (_rename, "schema 9999"),
        (_garble, "not a backup of Tabia, or it is damaged"),
        (_empty, "not complete"),
        (lambda lines: [b"[1]\n"], "not a backup of Tabia"),
        (lambda lines: [lines[0], b"1\n", *lines[1:]], "not complete or was changed"),
        (lambda lines: [lines[0], b'{"x": 1}\n', *lines[1:]], "not complete or was changed"),
        (lambda lines: [b"[" * 100_000], "not a backup of Tabia, or it is damaged"),
    ],
)
def test_a_damaged_backup_restores_nothing(
    change: Callable[[list[bytes]], list[bytes]], why: str, tmp_path: Path
) -> None:
    store = Store(tmp_path / "old")
    fill(store)
    file = tmp_path / "backup.jsonl"
    backups.backup(store.database, file, CLOCK)
    store.close()
    file.write_bytes(b"".join(change(file.read_bytes().splitlines(keepends=True))))
    with pytest.raises(StoreError, match=why) as refused:
        backups.restore(tmp_path / "new", file)
    assert "\n" not in str(refused.value)
    assert not (tmp_path / "new" / FILE).exists()


def test_rows_that_do_not_fit_restore_nothing(database: Path | str, tmp_path: Path) -> None:
    store = Store(tmp_path / "old")
    fill(store)
    file = tmp_path / "backup.jsonl"
    backups.backup(store.database, file, CLOCK)
    store.close()
    file.write_bytes(b"".join(_signed(file.read_bytes().splitlines(keepends=True))))
    with pytest.raises(StoreError, match="rows that do not fit"):
        backups.restore(database, file)
    restored = Store(database)
    with restored.database.transaction() as connection:
        assert backups.digest(connection).total == 0
    restored.close()


def test_a_backup_under_load_is_of_one_moment(database: Path | str, tmp_path: Path) -> None:
    """Each save adds a move and writes the number of plies: in a backup they always agree."""
    store, done = Store(database), threading.Event()

    def play(game: str) -> None:
        saved = replace(GAME, id=game, actions=())
        while not done.is_set():
            saved = replace(saved, actions=(*saved.actions, 1)[-60:], version=saved.version + 1)
            store.save(saved)

    writers = [threading.Thread(target=play, args=(f"game {number}",)) for number in range(2)]
    for writer in writers:
        writer.start()
    other = open_existing(database)  # as another process would
    found = [backups.backup(other, tmp_path / f"{number}.jsonl", CLOCK) for number in range(3)]
    done.set()
    for writer in writers:
        writer.join()
    assert found[-1].sha256 != found[0].sha256  # games went on meanwhile
    for number in range(3):
        where = tmp_path / f"restored {number}"
        assert backups.restore(where, tmp_path / f"{number}.jsonl") == found[number]
        restored = Store(where)
        for saved in restored.listed():
            held = restored.load(saved.id)
            assert held is not None and len(held.actions) == len(saved.actions)
        restored.close()
    assert not list(tmp_path.glob(".*"))  # no copies are left
    for opened in (other, store.database):
        opened.close()


def test_nothing_is_created_or_upgraded_where_a_database_has_to_exist(tmp_path: Path, postgres: Postgres) -> None:
    with pytest.raises(StoreError, match="does not exist; check --db or --data"):
        open_existing(tmp_path)
    assert not list(tmp_path.iterdir())
    url = postgres.create()
    with pytest.raises(StoreError, match="holds no games of Tabia"):
        open_existing(url)
    engine = sql.create_engine(url)
    assert sql.inspect(engine).get_table_names() == []
    engine.dispose()
    connection = sqlite3.connect(tmp_path / FILE)
    connection.executescript(
        "CREATE TABLE alembic_version (version_num VARCHAR(32)); INSERT INTO alembic_version VALUES ('0001')"
    )
    connection.close()
    with pytest.raises(StoreError, match="has schema 0001, not 0002"):
        open_existing(tmp_path)


def test_one_server_per_database(database: Path | str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tabia.server.database.engines._SECONDS", 0.3)
    first, second, refused = Store(database), Store(database), []

    def claim() -> None:
        try:
            with second.database.claim():
                pass
        except StoreError as error:
            refused.append(str(error))

    def try_to_claim() -> None:
        thread = threading.Thread(target=claim)
        thread.start()
        thread.join()

    with first.database.claim():
        try_to_claim()
    assert len(refused) == 1 and "Another server uses" in refused[0]
    try_to_claim()
    assert len(refused) == 1
    for store in (first, second):
        store.close()


def test_a_write_ahead_log_is_turned_off_or_refused(tmp_path: Path) -> None:
    Store(tmp_path).close()
    other = sqlite3.connect(tmp_path / FILE, isolation_level=None)
    other.execute("PRAGMA journal_mode=WAL")
    other.execute("UPDATE alembic_version SET version_num = version_num")
    with pytest.raises(StoreError, match=r"locked|journal mode wal"):
        Store(tmp_path)
    other.close()
    store = Store(tmp_path)
    with store.database.transaction() as connection:
        assert connection.execute(sql.text("PRAGMA journal_mode")).scalar() == "delete"
    store.close()


def test_one_writer_many_readers_and_backups_leave_the_file_intact(tmp_path: Path) -> None:
    store, done = Store(tmp_path), threading.Event()

    def read() -> None:
        while not done.is_set():
            store.listed()

    readers = [threading.Thread(target=read) for _ in range(8)]
    for reader in readers:
        reader.start()
    for number in range(40):
        store.save(replace(GAME, id=f"{number}"))
        if number % 20 == 0:
            backups.backup(store.database, tmp_path / f"{number}.jsonl", CLOCK)
    done.set()
    for reader in readers:
        reader.join()
    with store.database.transaction() as connection:
        assert connection.execute(sql.text("PRAGMA integrity_check")).scalar() == "ok"
        assert connection.execute(sql.select(sql.func.count()).select_from(games)).scalar() == 40
    store.close()
