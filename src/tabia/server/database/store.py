"""Games in the database: their actions, their seats and how they ended. What a method has returned from is stored."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import sqlalchemy as sql

from tabia.server.database.database import AdvisoryLock
from tabia.server.database.engines import open_database
from tabia.server.database.schema import games, moves, people, seats

DELETED = "deleted"
"""The name at the seat of a person whose account was deleted."""
_JSON = ("seats", "result", "clock", "clocks")
_PERSON = ("person", "name")  # members of a seat that are rows of `seats`


@dataclass(frozen=True)
class Saved:
    """A game as it is stored.

    A seat has `kind` and `agent`, and `person` and `name` if somebody has taken it. `finished` is given by the store:
    1, 2, ... in the order in which games ended.
    """

    id: str
    game: str
    rules: int
    seed: int
    seats: list[dict[str, Any]]
    opening: int
    created: str
    version: int
    resigned: int | None
    actions: tuple[int, ...]
    result: dict[str, Any] | None
    visibility: str = "private"
    rated: bool = False
    clock: dict[str, Any] | None = None
    clocks: list[int | None] | None = None
    turn_started: str | None = None
    ended_by: str | None = None
    finished: int | None = None
    finished_at: str | None = None
    invite_hash: str | None = None


WriteAlso = Callable[[sql.Connection, Saved], object]
"""What is written together with a game, given as it was written."""


class Store:
    """The games of a database, in a directory or at a URL."""

    def __init__(self, where: Path | str) -> None:
        self.database = open_database(where)

    def save(self, saved: Saved, also: WriteAlso | None = None) -> Saved:
        """Write a game as it is now: all of it or, after a crash, none of it. Returns it with `finished` set.

        `also` writes in the same transaction, after the game. A commit whose acknowledgment was lost is tried again by
        the caller, so `also` must do nothing the second time.
        """
        with self.database.transaction() as connection:
            return self.write(connection, saved, also)

    def write(self, connection: sql.Connection, saved: Saved, also: WriteAlso | None = None) -> Saved:
        """Save within a transaction, which may save other games too."""
        if saved.result is not None:
            self.database.acquire(connection, AdvisoryLock.FINISHING)
        saved = _without_deleted(connection, saved)
        query = sql.select(games.c.finished).where(games.c.id == saved.id)
        old = connection.execute(query).first()
        saved = replace(saved, finished=_finished(connection, saved, None if old is None else old.finished))
        fields = _fields(saved)
        if old is None:
            connection.execute(games.insert().values(**fields))
        else:
            connection.execute(games.update().where(games.c.id == saved.id).values(**fields))
        _save_moves(connection, saved)
        _save_seats(connection, saved)
        if also is not None:
            also(connection, saved)
        return saved

    def load(self, id: str) -> Saved | None:
        """A game by its id."""
        return self._one(games.c.id == id)

    def invited(self, invite_hash: str) -> Saved | None:
        """The game that a secret link leads to."""
        return self._one(games.c.invite_hash == invite_hash)

    def listed(
        self, *, finished: bool | None = None, game: str | None = None, person: str | None = None, limit: int = 50
    ) -> list[Saved]:
        """The newest games, all or a person's, without their moves but with as many zeros as they have plies."""
        query = sql.select(games).order_by(games.c.created.desc(), games.c.id).limit(limit)
        if finished is not None:
            query = query.where(games.c.result.is_not(None) if finished else games.c.result.is_(None))
        if game is not None:
            query = query.where(games.c.game == game)
        if person is not None:
            query = query.where(games.c.id.in_(sql.select(seats.c.game_id).where(seats.c.person_id == person)))
        with self.database.transaction() as connection:
            return _all_saved(connection, query)

    def close(self) -> None:
        """Close the database."""
        self.database.close()

    def _one(self, condition: sql.ColumnElement[bool]) -> Saved | None:
        with self.database.transaction() as connection:
            found = _all_saved(connection, sql.select(games).where(condition))
            if not found:
                return None
            query = sql.select(moves.c.action).where(moves.c.game_id == found[0].id).order_by(moves.c.ply)
            return replace(found[0], actions=tuple(connection.execute(query).scalars()))


def _finished(connection: sql.Connection, saved: Saved, held: int | None) -> int | None:
    """The place of a game among the finished ones: the one it has, or the next; none while it is not over."""
    if saved.result is None or held is not None:
        return None if saved.result is None else held
    return (connection.execute(sql.select(sql.func.max(games.c.finished))).scalar() or 0) + 1


def _fields(saved: Saved) -> dict[str, Any]:
    """The row of a game."""
    fields = asdict(saved)
    fields["plies"] = len(fields.pop("actions"))
    fields["seats"] = [{key: value for key, value in seat.items() if key not in _PERSON} for seat in saved.seats]
    return fields | {key: None if fields[key] is None else json.dumps(fields[key]) for key in _JSON}


def _save_moves(connection: sql.Connection, saved: Saved) -> None:
    query = sql.select(moves.c.action).where(moves.c.game_id == saved.id).order_by(moves.c.ply)
    held = connection.execute(query).scalars().all()
    kept = 0
    while kept < min(len(held), len(saved.actions)) and held[kept] == saved.actions[kept]:
        kept += 1
    if kept < len(held):
        connection.execute(moves.delete().where(moves.c.game_id == saved.id, moves.c.ply >= kept))
    rows = [{"game_id": saved.id, "ply": ply, "action": saved.actions[ply]} for ply in range(kept, len(saved.actions))]
    if rows:
        connection.execute(moves.insert(), rows)


def _save_seats(connection: sql.Connection, saved: Saved) -> None:
    """The people at the seats."""
    rows = [
        {"game_id": saved.id, "seat": seat, "person_id": place.get("person"), "name": place.get("name")}
        for seat, place in enumerate(saved.seats)
        if place.get("person") is not None or place.get("name") is not None
    ]
    held = connection.execute(sql.select(seats).where(seats.c.game_id == saved.id).order_by(seats.c.seat)).mappings()
    if rows != [dict(row) for row in held]:
        connection.execute(seats.delete().where(seats.c.game_id == saved.id))
        if rows:
            connection.execute(seats.insert(), rows)


def _without_deleted(connection: sql.Connection, saved: Saved) -> Saved:
    """A game without the people whose accounts were deleted while it was in memory."""
    ids = {place.get("person") for place in saved.seats} - {None}
    if not ids:
        return saved
    # The lock keeps an account until the seat that refers to it is stored.
    query = sql.select(people.c.id).where(people.c.id.in_(ids)).with_for_update(read=True, key_share=True)
    gone = ids - set(connection.execute(query).scalars())
    result, places = saved.result, []
    for place in saved.seats:
        is_gone = place.get("person") in gone
        result = anonymized(result, place["name"]) if is_gone and place.get("name") else result
        places.append({**place, "person": None, "name": DELETED} if is_gone else place)
    return replace(saved, seats=places, result=result)


def anonymized(value: Any, name: str) -> Any:
    """A JSON value whose texts do not have a name as a word of its own.

    >>> anonymized({"text": "Ada won against Adam", "names": ["Ada", "Adam"]}, "Ada")
    {'text': 'deleted won against Adam', 'names': ['deleted', 'Adam']}
    """
    if isinstance(value, str):
        return re.sub(rf"(?<![\w-]){re.escape(name)}(?![\w-])", DELETED, value)
    if isinstance(value, list):
        return [anonymized(item, name) for item in value]
    if isinstance(value, dict):
        return {key: anonymized(item, name) for key, item in value.items()}
    return value


def _all_saved(connection: sql.Connection, query: sql.Select[Any]) -> list[Saved]:
    rows = [dict(row) for row in connection.execute(query).mappings()]
    found = connection.execute(sql.select(seats).where(seats.c.game_id.in_([row["id"] for row in rows])))
    taken = {(row.game_id, row.seat): {"person": row.person_id, "name": row.name} for row in found}
    return [_saved(row, taken) for row in rows]


def _saved(row: dict[str, Any], taken: dict[tuple[str, int], dict[str, Any]]) -> Saved:
    """A game without its moves."""
    fields = row | {key: None if row[key] is None else json.loads(row[key]) for key in _JSON}
    fields["seats"] = [seat | taken.get((row["id"], number), {}) for number, seat in enumerate(fields["seats"])]
    fields["actions"] = (0,) * fields.pop("plies")
    return Saved(**fields)
