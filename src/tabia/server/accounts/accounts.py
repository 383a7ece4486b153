"""Who asks, and everything a person does with an account: sign up, sign in, sign out, change the password.

Methods are called in the event loop; the database is used in threads, and passwords are hashed in threads of their
own. A new session has a new id, whoever the visitor was before.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeVar

import sqlalchemy as sql

from tabia.server.accounts import invites, names, passwords, people, privacy, sessions, throttle, tokens
from tabia.server.accounts.cookies import Cookie, CookieNames, Devices
from tabia.server.accounts.passwords import Hashing, Passwords
from tabia.server.accounts.recent import Recent
from tabia.server.accounts.throttle import ACCOUNT, ADDRESS, PLACE, SIGN_UP, Attempt, Throttle, network
from tabia.server.accounts.visitor import READ, ROLE_SCOPES, Role, Visitor, stranger
from tabia.server.clock import Clock
from tabia.server.database.database import AdvisoryLock, Database
from tabia.server.database.settings import secret_key
from tabia.server.errors import Forbidden, Refused, Unauthorized

Result = TypeVar("Result")
_LONGEST_SECRET = 200  # characters of a cookie or token that are looked at
WRONG = "The name or the password is wrong."
"""What is said about a wrong password and about a name that nobody has."""


@dataclass(frozen=True)
class AccountOptions:
    """How a shared server treats people; `secure` says that browsers reach it by TLS."""

    secure: bool = True
    invite_only: bool = False
    hashing: Hashing = field(default_factory=Hashing)


class Accounts:
    """The people of a shared server."""

    def __init__(self, database: Database, options: AccountOptions, clock: Clock) -> None:
        self.database, self.options, self.clock = database, options, clock
        self._recent = Recent(clock)
        self.names = CookieNames(options.secure)
        self.passwords = Passwords(options.hashing)
        secret = secret_key(database, "accounts")
        self.throttle = Throttle(secret, clock)
        self.devices = Devices(secret, self.names.device, options.secure)

    def close(self) -> None:
        """End the threads that hash."""
        self.passwords.close()

    def clean(self) -> None:
        """Remove expired sessions, the guests that nobody can be any more, and old attempts."""
        with self.database.transaction() as connection:
            self.database.acquire(connection, AdvisoryLock.FINISHING)
            privacy.remove_lost_guests(connection, self.clock)
            throttle.remove_old(connection, self.clock)

    # Who asks.

    async def visitor(
        self, cookies: Mapping[str, str], authorization: str | None, address: str, *, recent: bool = False
    ) -> Visitor:
        """Who sent a request with these cookies or this header; a token that is not valid is refused.

        With `recent` the answer may be some seconds old, for requests that come often and change no account.
        """
        cookie = cookies.get(self.names.session, "")
        if authorization is None and not 0 < len(cookie) <= _LONGEST_SECRET:
            return self._stranger(address)
        look, kind = (self._by_cookie, "cookie") if authorization is None else (self._by_token, "token")
        secret = cookie if authorization is None else authorization
        found, changes = self._recent.find(f"{kind} {secret}", address) if recent else None, self._recent.changes
        if found is None:
            found = await asyncio.to_thread(look, secret, address)
            if found.person is not None:
                self._recent.keep(f"{kind} {secret}", found, changes)
        return found

    async def ensure_person(self, visitor: Visitor) -> tuple[Visitor, Cookie | None]:
        """The visitor as somebody who can hold a seat: a stranger becomes a guest, with a cookie to set."""
        if visitor.role != Role.STRANGER:
            return visitor, None
        if self.options.invite_only:
            raise Unauthorized("Sign in to play here; a new account needs an invitation.")
        return await self.transact(lambda connection: self._new_guest(connection, visitor))

    async def is_current(self, visitor: Visitor) -> bool:
        """Whether the session of a visitor is still valid: a WebSocket outlives requests."""
        session = visitor.session
        if session is None:
            return True
        return await self.transact(lambda connection: sessions.exists(connection, session))

    # Sign up, in and out.

    async def sign_up(
        self, visitor: Visitor, name: str, password: str, invite: str | None
    ) -> tuple[Visitor, list[Cookie]]:
        """A new account, signed in; a guest's games and ratings become the account's."""
        if visitor.role not in (Role.STRANGER, Role.GUEST):
            raise Refused("You are signed in; sign out to create another account.")
        name = names.check(name)
        passwords.check(password, name)
        with self.passwords.queued():
            await self.transact(
                lambda connection: self._admit(connection, visitor, name, invite), AdvisoryLock.ATTEMPTS
            )
            held = await self.passwords.hash(password)
        return await self.transact(
            lambda connection: self._signed_up(connection, visitor, name, held, invite), AdvisoryLock.NAMES
        )

    async def login(
        self, visitor: Visitor, name: str, password: str, cookies: Mapping[str, str]
    ) -> tuple[Visitor, list[Cookie]]:
        """Sign in with name and password; `Unauthorized` with the same words whatever was wrong."""
        key = names.key(name)
        with self.passwords.queued():
            row = await self.transact(lambda connection: people.find(connection, name))
            made = self._attempts(key, row, visitor, cookies)
            await self.transact(lambda connection: self.throttle.reserve(connection, made), AdvisoryLock.ATTEMPTS)
            if not await self.passwords.verify(None if row is None else row.password, _capped(password)):
                raise Unauthorized(WRONG)
            assert row is not None
            outdated = self.passwords.is_outdated(row.password)
            rehashed = await self.passwords.hash(password) if outdated else row.password
        return await self.transact(lambda connection: self._logged_in(connection, visitor, row, rehashed, made))

    async def logout(self, visitor: Visitor) -> list[Cookie]:
        """End the session here and at the server."""
        session = visitor.session
        if session is not None:
            await self.transact(lambda connection: sessions.end(connection, session))
        return [self._session_cookie(None)]

    async def change_password(self, visitor: Visitor, current: str, new: str) -> tuple[Visitor, list[Cookie]]:
        """Another password; all other sessions end, and this one gets a new id."""
        passwords.check(new, visitor.name)
        with self.passwords.queued():
            checked = await self.confirm(visitor, current)
            held = await self.passwords.hash(new)
        return await self.transact(lambda connection: self._renewed(connection, visitor, checked, held))

    async def confirm(self, visitor: Visitor, password: str) -> str | None:
        """Check the password of somebody who is signed in, and return its hash; guests have none."""
        visitor.require_session()
        assert visitor.person is not None
        person = visitor.person
        row = await self.transact(lambda connection: people.get(connection, person))
        if row.password is None:
            return None
        made = [Attempt(PLACE, f"person {person}")]
        await self.transact(lambda connection: self.throttle.reserve(connection, made), AdvisoryLock.ATTEMPTS)
        if not await self.passwords.verify(row.password, _capped(password)):
            raise Refused("The password is wrong.", field="password")
        await self.transact(lambda connection: self.throttle.forgive(connection, made))
        return str(row.password)

    async def transact(self, work: Callable[[sql.Connection], Result], lock: AdvisoryLock | None = None) -> Result:
        """Do some work in one transaction, in a thread."""

        def run() -> Result:
            with self.database.transaction() as connection:
                if lock is not None:
                    self.database.acquire(connection, lock)
                return work(connection)

        try:
            return await asyncio.to_thread(run)
        finally:
            self._recent.clear()

    # Inside.

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
        return _visitor(found.person, found.name, Role(found.role), address, found.id_hash)

    def _stranger(self, address: str) -> Visitor:
        return stranger(address, frozenset({READ})) if self.options.invite_only else stranger(address)

    def _new_guest(self, connection: sql.Connection, visitor: Visitor) -> tuple[Visitor, Cookie]:
        name = f"Guest {secrets.randbelow(9000) + 1000}"
        person = people.add(connection, name=name, role=Role.GUEST, clock=self.clock)
        return self._start_session(connection, person, name, Role.GUEST, visitor)

    def _admit(self, connection: sql.Connection, visitor: Visitor, name: str, invite: str | None) -> None:
        """Refuse what need not be hashed; an invitation takes the place of the quota of an address."""
        people.check_free(connection, name)
        if invite is not None and invites.is_valid(connection, invite, self.clock):
            return
        self.throttle.reserve(connection, [Attempt(SIGN_UP, network(visitor.address))])
        self._check_invite(connection, invite)

    def _check_invite(self, connection: sql.Connection, invite: str | None) -> None:
        if invite is None and self.options.invite_only:
            raise Refused("A new account needs an invitation; ask the operator of this server.", field="invite")
        if invite is not None and not invites.is_valid(connection, invite, self.clock):
            raise Refused("This invitation is not valid: it was used, it has expired, or it is incomplete.", "invite")

    def _signed_up(
        self, connection: sql.Connection, visitor: Visitor, name: str, held: str, invite: str | None
    ) -> tuple[Visitor, list[Cookie]]:
        people.check_free(connection, name)
        self._check_invite(connection, invite)
        person = visitor.person
        if person is None:
            person = people.add(connection, name=name, role=Role.MEMBER, clock=self.clock, password=held)
        else:
            people.claim(connection, person, name, held)
            sessions.end_all(connection, person)
        if invite is not None:
            invites.use(connection, invite, person, self.clock)
        found, cookie = self._start_session(connection, person, name, Role.MEMBER, visitor)
        return found, [cookie, self.devices.cookie(person)]

    def _attempts(
        self, key: str, row: sql.Row[tuple[object, ...]] | None, visitor: Visitor, cookies: Mapping[str, str]
    ) -> list[Attempt]:
        """What an attempt to sign in counts for: a browser that has signed in before, or its address and the name."""
        device = cookies.get(self.names.device, "")[:_LONGEST_SECRET]
        if row is not None and self.devices.is_known(device, row.id):
            return [Attempt(PLACE, f"device {device}")]
        place = network(visitor.address)
        return [Attempt(ADDRESS, place), Attempt(PLACE, f"{key}\0{place}"), Attempt(ACCOUNT, key)]

    def _logged_in(
        self,
        connection: sql.Connection,
        visitor: Visitor,
        checked: sql.Row[tuple[object, ...]],
        held: str,
        made: list[Attempt],
    ) -> tuple[Visitor, list[Cookie]]:
        row = people.locked(connection, checked.id)
        if row is None or row.password != checked.password:  # changed since it was read: checking takes long
            raise Unauthorized(WRONG)
        if row.banned is not None:
            raise Forbidden("This account is banned; ask the operator of this server.")
        self.throttle.forgive(connection, made)
        if held != row.password:
            people.change(connection, row.id, password=held)
        if visitor.session is not None:
            sessions.end(connection, visitor.session)
        found, cookie = self._start_session(connection, row.id, row.name, Role(row.role), visitor)
        return found, [cookie, self.devices.cookie(row.id)]

    def _renewed(
        self, connection: sql.Connection, visitor: Visitor, checked: str | None, held: str
    ) -> tuple[Visitor, list[Cookie]]:
        assert visitor.person is not None
        row = people.locked(connection, visitor.person)
        if row is None or row.password != checked:
            raise Refused("The password is wrong.", field="password")
        people.change(connection, visitor.person, password=held)
        sessions.end_all(connection, visitor.person)
        found, cookie = self._start_session(connection, visitor.person, visitor.name, visitor.role, visitor)
        return found, [cookie, self.devices.cookie(visitor.person)]

    def _start_session(
        self, connection: sql.Connection, person: str, name: str, role: Role, visitor: Visitor
    ) -> tuple[Visitor, Cookie]:
        secret = sessions.start(connection, person, self.clock)
        found = _visitor(person, name, role, visitor.address, sessions.digest(secret))
        return found, self._session_cookie(secret)

    def _session_cookie(self, secret: str | None) -> Cookie:
        seconds = round(sessions.ABSOLUTE.total_seconds())
        return Cookie(self.names.session, secret, seconds, self.options.secure)


def _visitor(person: str, name: str, role: Role, address: str, session: str) -> Visitor:
    scopes = ROLE_SCOPES[role]
    return Visitor(person=person, name=name, role=role, scopes=scopes, address=address, session=session)


def _capped(password: str) -> str:
    """A password to check; one that nobody can have costs no more than any other."""
    return password if len(password.encode("utf-8", "surrogatepass")) <= passwords.MOST_BYTES else ""
