"""What an operator does with people, from the command line of the server's computer."""

from __future__ import annotations

import secrets
from typing import Any

import sqlalchemy as sql

from tabia.server.accounts import people, sessions
from tabia.server.accounts.passwords import Hashing, Passwords
from tabia.server.accounts.throttle import ACCOUNT, PLACE, Attempt, Throttle
from tabia.server.accounts.visitor import Role
from tabia.server.clock import Clock
from tabia.server.database import schema
from tabia.server.database.database import Database
from tabia.server.database.settings import secret_key
from tabia.server.errors import NotFound, Refused


class Operators:
    """The people of a database, for its operator; may be used while the server runs."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database, self._clock = database, clock

    def listed(self) -> list[dict[str, Any]]:
        """Everyone who has a name, by name."""
        query = sql.select(schema.people).where(schema.people.c.name_key.is_not(None))
        seen = sql.select(schema.sessions.c.person_id, sql.func.max(schema.sessions.c.seen).label("seen"))
        last = seen.group_by(schema.sessions.c.person_id)
        with self._database.transaction() as connection:
            visits = {row.person_id: row.seen for row in connection.execute(last)}
            return [
                {
                    "name": row.name,
                    "role": row.role,
                    "created": row.created,
                    "seen": visits.get(row.id),
                    "banned": row.banned,
                }
                for row in connection.execute(query.order_by(schema.people.c.name_key))
            ]

    def reset(self, name: str, hashing: Hashing) -> str:
        """A new random password; all sessions end, and what slowed the account down is forgotten."""
        password = "-".join(secrets.token_hex(2) for _ in range(5))
        hashed = Passwords(hashing)
        held = hashed.hash_now(password)
        hashed.close()
        throttle = Throttle(secret_key(self._database, "accounts"), self._clock)
        with self._database.transaction() as connection:
            row = self._found(connection, name)
            if row.role == Role.BOT:
                raise Refused(f"{row.name} is a bot, which has no password; its owner can remove it.")
            people.change(connection, row.id, password=held)
            sessions.end_all(connection, row.id)
            throttle.forgive(connection, [Attempt(ACCOUNT, row.name_key), Attempt(PLACE, f"person {row.id}")])
        return password

    def ban(self, name: str) -> None:
        """Sign somebody out, with all of their bots, until `unban`; tokens do not work meanwhile."""
        with self._database.transaction() as connection:
            row = self._found(connection, name)
            for person in (row.id, *(bot["id"] for bot in people.bots(connection, row.id))):
                people.change(connection, person, banned=self._clock.stamp())
                sessions.end_all(connection, person)

    def unban(self, name: str) -> None:
        """Let somebody sign in again, and their bots."""
        with self._database.transaction() as connection:
            row = self._found(connection, name)
            for person in (row.id, *(bot["id"] for bot in people.bots(connection, row.id))):
                people.change(connection, person, banned=None)

    def promote(self, name: str) -> None:
        """Make a member an operator."""
        self._become(name, Role.OPERATOR)

    def demote(self, name: str) -> None:
        """Make an operator a member."""
        self._become(name, Role.MEMBER)

    def _become(self, name: str, role: Role) -> None:
        with self._database.transaction() as connection:
            row = self._found(connection, name)
            if row.role == Role.BOT:
                raise Refused(f"{row.name} is a bot; only members can be operators.")
            people.change(connection, row.id, role=role.value)

    @staticmethod
    def _found(connection: sql.Connection, name: str) -> sql.Row[Any]:
        row = people.find(connection, name)
        if row is None:
            raise NotFound(f"Nobody here has the name {name!r}; `tabia serve people list` shows all names.")
        return row
