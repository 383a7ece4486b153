"""Who asks, and the guests that strangers become."""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Mapping
from dataclasses import dataclass

import sqlalchemy as sql

from tabia.server.accounts import sessions, tokens
from tabia.server.accounts.cookies import Cookie, CookieNames
from tabia.server.accounts.visitor import READ, ROLE_SCOPES, Role, Visitor, stranger
from tabia.server.clock import Clock
from tabia.server.database.database import Database
from tabia.server.database.schema import people
from tabia.server.errors import Unauthorized

_LONGEST_SECRET = 200  # characters of a cookie or token that are looked at


@dataclass(frozen=True)
class AccountOptions:
    """How a shared server treats people; `secure` says that browsers reach it by TLS."""

    secure: bool = True
    invite_only: bool = False


class Accounts:
    """The people of a shared server."""

    def __init__(self, database: Database, options: AccountOptions, clock: Clock) -> None:
        self.database, self.options, self.clock = database, options, clock
        self.names = CookieNames(options.secure)

    async def visitor(self, cookies: Mapping[str, str], authorization: str | None, address: str) -> Visitor:
        """Who sent a request with these cookies or this header; a token that is not valid is refused."""
        if authorization is not None:
            return await asyncio.to_thread(self._by_token, authorization, address)
        secret = cookies.get(self.names.session)
        if not secret or len(secret) > _LONGEST_SECRET:
            return self._stranger(address)
        return await asyncio.to_thread(self._by_cookie, secret, address)

    def _by_token(self, authorization: str, address: str) -> Visitor:
        kind, _, token = authorization.partition(" ")
        if kind.lower() != "bearer" or not token.startswith(tokens.PREFIX) or len(token) > _LONGEST_SECRET:
            raise Unauthorized("Send the header as `Authorization: Bearer TOKEN`.")
        with self.database.transaction() as connection:
            found = tokens.find(connection, token, self.clock)
        if found is None:
            raise Unauthorized("The token is not valid; it was removed, or copied incompletely.")
        role = Role(found.role)
        scopes = found.scopes & ROLE_SCOPES[role]
        return Visitor(person=found.person, name=found.name, role=role, scopes=scopes, address=address)

    def _by_cookie(self, secret: str, address: str) -> Visitor:
        with self.database.transaction() as connection:
            found = sessions.find(connection, secret, self.clock)
        if found is None:
            return self._stranger(address)
        role = Role(found.role)
        return Visitor(
            person=found.person,
            name=found.name,
            role=role,
            scopes=ROLE_SCOPES[role],
            address=address,
            session=found.id_hash,
        )

    def _stranger(self, address: str) -> Visitor:
        return stranger(address, frozenset({READ})) if self.options.invite_only else stranger(address)

    async def ensure_person(self, visitor: Visitor) -> tuple[Visitor, Cookie | None]:
        """The visitor as somebody who can hold a seat: a stranger becomes a guest, with a cookie to set."""
        if visitor.role != Role.STRANGER:
            return visitor, None
        if self.options.invite_only:
            raise Unauthorized("Sign in to play here; a new account needs an invitation.")
        return await asyncio.to_thread(self._new_guest, visitor)

    def _new_guest(self, visitor: Visitor) -> tuple[Visitor, Cookie]:
        guest = {"id": new_id(), "name": f"Guest {secrets.randbelow(9000) + 1000}", "role": Role.GUEST.value}
        with self.database.transaction() as connection:
            connection.execute(people.insert().values(**guest, created=self.clock.stamp()))
            return self._signed_in(connection, guest["id"], guest["name"], Role.GUEST, visitor.address)

    def _signed_in(
        self, connection: sql.Connection, person: str, name: str, role: Role, address: str
    ) -> tuple[Visitor, Cookie]:
        """A new session of a person."""
        secret = sessions.start(connection, person, self.clock)
        visitor = Visitor(
            person=person,
            name=name,
            role=role,
            scopes=ROLE_SCOPES[role],
            address=address,
            session=sessions.digest(secret),
        )
        return visitor, self._session_cookie(secret)

    def _session_cookie(self, secret: str | None) -> Cookie:
        seconds = round(sessions.ABSOLUTE.total_seconds())
        return Cookie(self.names.session, secret, seconds, self.options.secure)


def new_id() -> str:
    """The id of a person."""
    return secrets.token_urlsafe(12)
