"""What is stored about people: all of it is exported, and after deletion no row refers to them."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import sqlalchemy as sql

from tabia.server.accounts import privacy
from tabia.server.accounts.visitor import stranger
from tabia.server.database.schema import games, metadata, people, ratings, results, seats, sessions
from tabia.server.database.store import DELETED, Saved
from tests.server.running import run

from .shared import PASSWORD, Shared
from .test_store import GAME

HUMAN = {"kind": "human", "agent": None}


def ids(shared: Shared) -> dict[str, str]:
    with shared.accounts.database.transaction() as connection:
        return {row.name: row.id for row in connection.execute(sql.select(people))}


def played(shared: Shared, *who: str, id: str = "one") -> None:
    """A finished rated game between people, as the server stores it."""
    known = ids(shared)
    names = list(who)
    saved = replace(
        GAME,
        id=id,
        seats=[{**HUMAN, "person": known[name], "name": name} for name in names],
        result={"text": f"{names[0]} won against {names[1]}", "winner": 0, "names": names},
        rated=True,
        ended_by="rules",
    )

    def rate(connection: sql.Connection, written: Saved) -> None:
        for seat, name in enumerate(names):
            opponent = names[1 - seat]
            connection.execute(
                results.insert().values(
                    game_id=id,
                    game="connect4",
                    finished=1,
                    seat=seat,
                    person_id=known[name],
                    opponent_seat=1 - seat,
                    opponent_person=known[opponent],
                    opponent_rating=1500,
                    opponent_deviation=350,
                    score=1 - seat,
                    weight=1,
                    moved_first=seat == 0,
                    advantage=0,
                    rating_before=1500,
                    deviation_before=350,
                    rating_after=1600,
                    deviation_after=300,
                )
            )
            connection.execute(
                ratings.insert().values(
                    person_id=known[name],
                    game="connect4",
                    rating=1600,
                    deviation=300,
                    volatility=0.06,
                    games=1,
                    updated=shared.clock.stamp(),
                )
            )

    shared.parts.store.save(saved, rate)


def everything(shared: Shared) -> str:
    """All rows of all tables as text, except what the server itself keeps."""
    with shared.accounts.database.transaction() as connection:
        return "\n".join(
            json.dumps(list(row), ensure_ascii=False)
            for table in metadata.sorted_tables
            for row in connection.execute(sql.select(table))
        )


def test_deletion_leaves_no_row_that_refers_to_the_person(shared: Shared) -> None:
    ada, bob = shared.member("Ada"), shared.member("Adalbert", "192.0.2.2")
    ada.post("/api/v1/account/tokens", json={"label": "laptop of Ada", "scopes": ["play"]})
    ada.post("/api/v1/account/bots", json={"name": "Deep-Ada"})
    played(shared, "Ada", "Adalbert")
    known = ids(shared)
    before = shared.parts.store.load("one")
    wrong = ada.request("DELETE", "/api/v1/account", json={"password": "not this one"})
    assert wrong.status_code == 422 and "Ada" in ids(shared)
    assert ada.request("DELETE", "/api/v1/account", json={"password": PASSWORD}).status_code == 204
    assert ada.get("/api/v1/account").json()["role"] == "stranger"
    left = everything(shared)
    for secret in (known["Ada"], known["Deep-Ada"], '"Ada"', "Ada won", "Deep-Ada", "laptop of Ada"):
        assert secret not in left
    assert list(ids(shared)) == ["Adalbert"]
    after = shared.parts.store.load("one")
    assert before is not None and after is not None and after.actions == before.actions
    assert after.seats == [{**HUMAN, "person": None, "name": DELETED}, before.seats[1]]
    assert after.result == {"text": f"{DELETED} won against Adalbert", "winner": 0, "names": [DELETED, "Adalbert"]}
    with shared.accounts.database.transaction() as connection:
        kept = connection.execute(sql.select(results).order_by(results.c.seat)).all()
        assert [(row.person_id, row.opponent_person) for row in kept] == [
            (None, known["Adalbert"]),
            (known["Adalbert"], None),
        ]
        assert [row.person_id for row in connection.execute(sql.select(ratings))] == [known["Adalbert"]]
    assert bob.get("/api/v1/account").json()["ratings"][0]["rating"] == 1600
    again = shared.browser("192.0.2.3").post("/api/v1/account", json={"name": "Ada", "password": PASSWORD})
    assert again.status_code == 201  # the name is free


def test_a_game_in_memory_does_not_bring_a_deleted_person_back(shared: Shared) -> None:
    ada = shared.member("Ada")
    shared.member("Bob", "192.0.2.2")
    known = ids(shared)
    live = replace(GAME, seats=[{**HUMAN, "person": known[name], "name": name} for name in ("Ada", "Bob")])
    shared.parts.store.save(live)
    ada.request("DELETE", "/api/v1/account", json={"password": PASSWORD})
    over = {"text": "Ada won", "names": ["Ada", "Bob"]}
    shared.parts.store.save(replace(live, version=4, actions=(3, 3, 4, 4), result=over))
    held = shared.parts.store.load("one")
    assert held is not None and held.actions == (3, 3, 4, 4)
    assert held.seats[0] == {**HUMAN, "person": None, "name": DELETED} and held.seats[1]["name"] == "Bob"
    assert held.result == {"text": f"{DELETED} won", "names": [DELETED, "Bob"]}


def test_the_export_holds_every_row_about_the_person_and_no_secret(shared: Shared) -> None:
    ada = shared.member("Ada")
    shared.member("Bob", "192.0.2.2")
    ada.post("/api/v1/account/tokens", json={"label": "laptop", "scopes": ["play"]})
    ada.post("/api/v1/account/bots", json={"name": "Deep-Ada"})
    played(shared, "Ada", "Bob")
    answer = ada.get("/api/v1/account/export")
    assert answer.status_code == 200 and "attachment" in answer.headers["content-disposition"]
    found: dict[str, Any] = answer.json()
    assert found["account"]["name"] == "Ada" and found["tokens"][0]["label"] == "laptop"
    assert [bot["name"] for bot in found["bots"]] == ["Deep-Ada"] and len(found["sessions"]) == 1
    assert found["ratings"][0]["rating"] == 1600 and found["results"][0]["score"] == 1
    (game,) = found["games"]
    assert game["actions"] == list(GAME.actions) and game["yours"] == [0] and game["names"] == {"0": "Ada", "1": "Bob"}
    known = ids(shared)
    for hidden in (known["Bob"], "$argon2", ada.cookies["tabia"]):
        assert hidden not in answer.text
    with shared.accounts.database.transaction() as connection:
        for table in (sessions, ratings, results, seats):
            (column,) = [column for column in table.c if column.name == "person_id"]
            rows = connection.execute(sql.select(table).where(column == known["Ada"])).all()
            assert len(rows) == len(found["games" if table is seats else table.name])


def test_a_guest_deletes_without_a_password(shared: Shared) -> None:
    browser = shared.guest()
    assert browser.get("/api/v1/account/export").json()["account"]["role"] == "guest"
    assert browser.request("DELETE", "/api/v1/account", json={}).status_code == 204
    assert ids(shared) == {}
    assert browser.get("/api/v1/account/export").status_code == 401


def test_guests_whose_sessions_have_expired_are_removed(shared: Shared) -> None:
    shared.guest()
    shared.clock.advance(10 * 86400)
    recent = shared.guest("192.0.2.2")
    shared.member("Ada")
    shared.clock.advance(5 * 86400)
    shared.accounts.clean()
    assert sorted(name.split()[0] for name in ids(shared)) == ["Ada", "Guest"]
    assert recent.get("/api/v1/account").json()["role"] == "guest"
    shared.clock.advance(100 * 86400)
    shared.accounts.clean()
    assert list(ids(shared)) == ["Ada"]  # an account stays
    with shared.accounts.database.transaction() as connection:
        assert connection.execute(sql.select(sessions)).all() == []


def test_names_of_seats_are_not_in_the_row_of_the_game(shared: Shared) -> None:
    shared.member("Ada")
    shared.member("Bob", "192.0.2.2")
    played(shared, "Ada", "Bob")
    with shared.accounts.database.transaction() as connection:
        assert "Ada" not in connection.execute(sql.select(games.c.seats)).scalar_one()


def test_deleting_somebody_who_has_gone_changes_nothing(shared: Shared) -> None:
    visitor, _ = run(shared.accounts.ensure_person(stranger("192.0.2.1")))
    assert visitor.person is not None
    with shared.accounts.database.transaction() as connection:
        assert privacy.delete(connection, visitor.person) == [visitor.person]
        assert privacy.delete(connection, visitor.person) == [visitor.person]
