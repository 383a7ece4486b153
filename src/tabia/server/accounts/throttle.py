"""Attempts are counted before they are made, in the database, so that neither parallel requests nor a restart help.

Keys are HMACs with the server's secret: the table holds neither names nor addresses. An attempt that is refused is not
counted. Rules are chosen so that strangers can slow an account down but not close it: a browser that has signed in
before is counted by itself, and everyone else waits a minute at most once the attempts from everywhere are many.
"""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import lru_cache

import sqlalchemy as sql

from tabia.server.clock import Clock, later, parse, stamp
from tabia.server.database.schema import attempts
from tabia.server.errors import Busy

_DAY, _HOUR = 86400.0, 3600.0


@dataclass(frozen=True)
class Rule(ABC):
    """How many attempts are free, and how long to wait after the others."""

    name: str
    free: int
    window_s: float

    @abstractmethod
    def until(self, count: int, since: datetime, now: datetime) -> str:
        """When the next attempt is allowed, after `count` of them."""

    @abstractmethod
    def starts_again(self, count: int) -> bool:
        """Whether the window starts with this attempt, as with the first one."""


@dataclass(frozen=True)
class Backoff(Rule):
    """A second after the free attempts, then twice as long each time; forgotten a window after the last attempt."""

    longest_s: float = 900.0

    def until(self, count: int, since: datetime, now: datetime) -> str:
        """Later with every attempt."""
        wait = 0.0 if count < self.free else min(2.0 ** min(count - self.free, 40), self.longest_s)
        return later(now, wait)

    def starts_again(self, count: int) -> bool:
        """With every attempt."""
        return True


@dataclass(frozen=True)
class Quota(Rule):
    """The free attempts per window, and no more."""

    def until(self, count: int, since: datetime, now: datetime) -> str:
        """At once, or when the window ends."""
        return stamp(now) if count < self.free else later(since, self.window_s)

    def starts_again(self, count: int) -> bool:
        """With the first attempt only."""
        return count == 1


PLACE = Backoff("place", free=5, window_s=_DAY)
"""Attempts for one account from one address, or from one known browser."""
ACCOUNT = Backoff("account", free=50, window_s=_DAY, longest_s=60.0)
"""Attempts for one account from everywhere, known browsers excepted."""
ADDRESS = Quota("address", free=30, window_s=_HOUR)
"""Failures of one address, whatever the account."""
SIGN_UP = Quota("sign-up", free=5, window_s=_HOUR)
"""New accounts from one address; those with an invitation are not counted."""


@dataclass(frozen=True)
class Attempt:
    """What is counted: a rule, and whom it is about."""

    rule: Rule
    subject: str


class Throttle:
    """The attempts of a server."""

    def __init__(self, secret: bytes, clock: Clock) -> None:
        self._secret, self._clock = secret, clock

    def reserve(self, connection: sql.Connection, made: Sequence[Attempt]) -> None:
        """Count attempts that are about to be made, all of them; `Busy` and none of them if one has to wait."""
        now = self._clock.now()
        held = {attempt: self._held(connection, attempt, now) for attempt in made}
        waits = [(parse(row.until) - now).total_seconds() for row in held.values() if row is not None]
        if waits and max(waits) > 0:
            raise Busy(f"Too many attempts; try again in {_words(max(waits))}.", max(waits))
        for attempt, row in held.items():
            self._count(connection, attempt, row, now)

    def forgive(self, connection: sql.Connection, made: Sequence[Attempt]) -> None:
        """An attempt was right: a back-off starts anew, a quota gets one back."""
        for attempt in made:
            key = self.key(attempt)
            if attempt.rule.starts_again(2):
                connection.execute(attempts.delete().where(attempts.c.key == key))
            else:
                less = {"failures": attempts.c.failures - 1, "until": self._clock.stamp()}
                connection.execute(attempts.update().where(attempts.c.key == key).values(**less))

    def key(self, attempt: Attempt) -> str:
        """What is stored of an attempt."""
        return hmac.digest(self._secret, f"{attempt.rule.name}\0{attempt.subject}".encode(), hashlib.sha256).hex()

    def _held(self, connection: sql.Connection, attempt: Attempt, now: datetime) -> sql.Row[tuple[object, ...]] | None:
        row = connection.execute(sql.select(attempts).where(attempts.c.key == self.key(attempt))).first()
        if row is not None and parse(row.since) + timedelta(seconds=attempt.rule.window_s) <= now:
            connection.execute(attempts.delete().where(attempts.c.key == row.key))
            return None
        return row

    def _count(
        self, connection: sql.Connection, attempt: Attempt, row: sql.Row[tuple[object, ...]] | None, now: datetime
    ) -> None:
        count = 1 if row is None else row.failures + 1
        since = now if row is None or attempt.rule.starts_again(count) else parse(row.since)
        fields = {"failures": count, "since": stamp(since), "until": attempt.rule.until(count, since, now)}
        key = self.key(attempt)
        if row is None:
            connection.execute(attempts.insert().values(key=key, **fields))
        else:
            connection.execute(attempts.update().where(attempts.c.key == key).values(**fields))


@lru_cache(maxsize=4096)
def network(address: str) -> str:
    """What counts as one address: an IPv4 address itself, the /64 of an IPv6 address, which one person has whole.

    >>> network("192.0.2.7"), network("2001:db8::1:2:3:4"), network("::ffff:192.0.2.7")
    ('192.0.2.7', '2001:db8::/64', '192.0.2.7')
    """
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(found, ipaddress.IPv6Address):
        mapped = found.ipv4_mapped
        return str(mapped or ipaddress.ip_network((found.packed[:8] + bytes(8), 64)))
    return str(found)


def remove_old(connection: sql.Connection, clock: Clock) -> None:
    """Forget the attempts of days that have passed."""
    connection.execute(attempts.delete().where(attempts.c.since <= later(clock.now(), -_DAY)))


def _words(seconds: float) -> str:
    count = max(1, round(seconds))
    if count < 90:
        return f"{count} second{'s' * (count > 1)}"
    return f"{round(seconds / 60)} minutes"
