"""The store: what is saved reads back, undo shortens a game, newer databases are refused."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import sqlalchemy as sql
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext

from tabia.server.database.engines import FILE
from tabia.server.database.schema import games, metadata, people, settings
from tabia.server.database.store import DELETED, Saved, Store
from tabia.server.errors import Refused, StoreError, Unavailable

from .conftest import play, start
from .databases import Postgres
from .shared import Shared

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

FIRST_SCHEMA = """
CREATE TABLE games (id VARCHAR(32) PRIMARY KEY, game VARCHAR(400) NOT NULL, rules INTEGER NOT NULL,
    seed INTEGER NOT NULL, seats TEXT NOT NULL, opening INTEGER NOT NULL, created VARCHAR(40) NOT NULL,
    version INTEGER NOT NULL, resigned INTEGER, plies INTEGER NOT NULL, result TEXT);
CREATE INDEX ix_games_created ON games (created);
CREATE TABLE moves (game_id VARCHAR(32) NOT NULL REFERENCES games (id), ply INTEGER NOT NULL, action INTEGER NOT NULL,
    PRIMARY KEY (game_id, ply));
CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL PRIMARY KEY);
INSERT INTO alembic_version VALUES ('0001');
"""


def test_games_read_back_after_moves_undo_and_another_line(database: Path | str) -> None:
    store = Store(database)
    for actions in ((), (3,), (3, 3, 4), (3, 3), (3, 2, 2, 2), (1,)):
        saved = replace(GAME, actions=actions, version=GAME.version + len(actions))
        store.save(saved)
        assert store.load("one") == saved
    store.close()
    again = Store(database)
    assert again.load("one") == saved and again.load("two") is None
    again.close()


def test_finished_games_are_listed_newest_first(database: Path | str) -> None:
    store = Store(database)
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


def test_the_migrations_make_the_tables_that_the_code_expects(database: Path | str) -> None:
    """Alembic itself compares: columns, types, indexes and constraints."""
    store = Store(database)
    with store.database.engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"compare_type": True})
        assert compare_metadata(context, metadata) == []
    store.close()


def test_a_database_of_the_first_schema_is_upgraded(tmp_path: Path) -> None:
    """Finished games of version 0.2 get numbers in the order of their creation."""
    connection = sqlite3.connect(tmp_path / FILE)
    connection.executescript(FIRST_SCHEMA)
    rows = [
        ("late", "03", None, "{}"),
        ("resigned", "01", 0, "{}"),
        ("open", "02", None, None),
        ("tie", "03", None, "{}"),
    ]
    seat = '[{"kind": "human", "agent": null}]'
    for name, created, resigned, result in rows:
        row = (name, "connect4", 1, 5, seat, 0, created, 1, resigned, 0, result)
        connection.execute(f"INSERT INTO games VALUES ({', '.join('?' * len(row))})", row)
    connection.commit()
    connection.close()
    store = Store(tmp_path)
    found = {saved.id: (saved.finished, saved.ended_by) for saved in store.listed()}
    assert found == {"resigned": (1, "resignation"), "late": (2, "rules"), "tie": (3, "rules"), "open": (None, None)}
    store.close()


def test_seats_keep_people_and_lose_those_whose_account_has_gone(database: Path | str) -> None:
    store = Store(database)
    with store.database.transaction() as connection:
        connection.execute(people.insert().values(id="ada", name="Ada", role="member", created="2026"))
    human = {"kind": "human", "agent": None}
    saved = replace(
        GAME,
        seats=[{**human, "person": "ada", "name": "Ada"}, {**human, "person": "gone", "name": "Bob"}],
        rated=True,
        clock={"initial_s": 60, "increment_s": 1},
        clocks=[60000, 59000],
        turn_started="2026-11-16T12:00:00.000+00:00",
        visibility="link",
        invite_hash="f" * 64,
    )
    store.save(saved)
    gone = {**human, "person": None, "name": DELETED}
    expected = replace(saved, seats=[saved.seats[0], gone])
    assert store.load("one") == expected and store.invited("f" * 64) == expected
    assert [game.id for game in store.listed(person="ada")] == ["one"] and store.listed(person="gone") == []
    with store.database.transaction() as connection:
        assert "Ada" not in connection.execute(sql.select(games.c.seats)).scalar_one()
    store.close()


def test_games_are_numbered_in_the_order_in_which_they_end(database: Path | str) -> None:
    """Also when many threads end games at once; `also` sees the number inside the transaction."""
    store, seen = Store(database), []
    over = [replace(GAME, id=f"game {number}", result={"text": "Red won"}) for number in range(40)]

    def finish(saved: Saved) -> None:
        def also(connection: sql.Connection, _: Saved) -> None:
            seen.append(connection.execute(sql.select(games.c.finished).where(games.c.id == saved.id)).scalar_one())

        assert store.save(saved, also).finished is not None

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(finish, over))
    assert seen == list(range(1, 41))
    first = store.load("game 0")
    assert first is not None and store.save(first).finished == first.finished
    assert store.save(replace(first, result=None)).finished is None  # taken back
    assert store.save(first).finished == 41
    store.close()


def test_what_also_writes_and_the_game_are_stored_together_or_not_at_all(database: Path | str) -> None:
    store = Store(database)

    def fail(connection: sql.Connection, _: Saved) -> None:
        connection.execute(settings.insert().values(key="written", value="yes"))
        raise RuntimeError("crash")

    with pytest.raises(RuntimeError, match="crash"):
        store.save(GAME, fail)
    assert store.load("one") is None
    with store.database.transaction() as connection:
        assert connection.execute(sql.select(settings)).all() == []
    store.close()


def test_text_that_cannot_be_stored_is_refused(postgres: Postgres) -> None:
    store = Store(postgres.create())
    for text in ("a\0b", "\ud800"):
        with pytest.raises(Refused, match="cannot be stored"):
            store.listed(game=text)
    assert store.listed() == []
    store.close()


def test_a_broken_connection_fails_one_transaction_and_the_next_one_works(postgres: Postgres) -> None:
    store = Store(postgres.create())
    store.save(GAME)
    with pytest.raises(Unavailable, match="does not answer at this moment"), store.database.transaction() as connection:
        own = connection.execute(sql.text("SELECT pg_backend_pid()")).scalar_one()
        other = sql.create_engine(store.database.engine.url, poolclass=sql.NullPool)
        with other.begin() as killer:
            killer.execute(sql.text(f"SELECT pg_terminate_backend({own})"))
        other.dispose()
        connection.execute(sql.select(games)).all()
    assert store.load("one") == GAME
    store.close()


def test_a_restarted_server_is_found_again(tmp_path: Path) -> None:
    """Acknowledged moves survive SIGKILL of all processes; meanwhile answers are 503 with Retry-After."""
    server = Postgres(fsync=True)
    try:
        shared = Shared(tmp_path, server.create())
        browser = shared.member()
        game = play(browser, start(browser), "b2", "a1")
        url = f"/api/v1/games/{game['id']}/moves"
        move = {"ply": 2, "action": game["position"]["legal"][0]["action"]}
        server.kill()
        refused = browser.post(url, json=move)
        assert refused.status_code == 503 and int(refused.headers["retry-after"]) >= 1
        assert refused.headers["content-type"] == "application/problem+json" and "try again" in refused.json()["detail"]
        with pytest.raises(StoreError, match="cannot be used: connection"):
            Store(shared.parts.store.database.engine.url.render_as_string())
        server.start()
        answer = browser.post(url, json=move)
        assert answer.status_code == 200
        held = shared.parts.store.load(game["id"])
        assert held is not None and held.actions == tuple(entry["action"] for entry in answer.json()["moves"])
        shared.close()
    finally:
        server.close()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("mysql://localhost/tabia", "not mysql"),
        ("no url", "A database is sqlite:///FILE or postgresql://"),
        ("sqlite://", "not sqlite"),
        ("postgresql://ada:secret@127.0.0.1:1/tabia", "cannot be used: connection"),
    ],
)
def test_other_addresses_are_refused_in_one_line_without_the_password(url: str, why: str) -> None:
    with pytest.raises(StoreError, match=why) as refused:
        Store(url)
    assert "secret" not in str(refused.value) and "\n" not in str(refused.value)


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
