"""How much one visitor may ask for: requests, simulations, analyses at a time, WebSockets.

Each limit is a token bucket: it holds `burst` tokens and gains `per_minute` of them. A visitor is a person, or an
address where there is no person yet. All visitors behind one address share a larger bucket, which bounds what somebody
can gain by throwing cookies away. A refusal says when to try again.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, OrderedDict
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from typing import Protocol

from tabia.server.accounts.throttle import network
from tabia.server.errors import Busy

_MOST_KEYS = 50_000  # buckets of one kind; beyond it the one used least recently is forgotten
_LONGEST_WAIT = 2.0  # seconds that an analysis waits for the one before it, which a page has left perhaps


class Asker(Protocol):
    """What the limits know about who asks."""

    @property
    def person(self) -> str | None: ...

    @property
    def address(self) -> str: ...


@dataclass(frozen=True)
class Rate:
    """A bucket of `burst` tokens that gains `per_minute` of them."""

    per_minute: float
    burst: float


@dataclass(frozen=True)
class Rates:
    """The limits of a shared server; docs/reference/http-api.md publishes them."""

    stranger: Rate = Rate(120, 300)  # requests of one address without a cookie; a class may share an address
    person: Rate = Rate(120, 60)  # requests of a guest, a member, a bot or an operator
    address: Rate = Rate(1200, 300)  # requests of everyone behind one address
    simulations: Rate = Rate(60_000, 60_000)  # of analyses, hints and moves chosen for a client
    analyses: int = 1  # at a time
    sockets: int = 5  # WebSockets and streams at a time
    sockets_of_address: int = 400


class Buckets:
    """Buckets of one kind, by key."""

    def __init__(self, rate: Rate, clock: Callable[[], float]) -> None:
        self._rate, self._clock = rate, clock
        self._held: OrderedDict[str, tuple[float, float]] = OrderedDict()  # tokens, and when

    def take(self, key: str, tokens: float = 1.0) -> float:
        """Take tokens, or return the seconds until they are there; one that holds too few at its fullest gives all."""
        now, tokens = self._clock(), min(tokens, self._rate.burst)
        held, seen = self._held.pop(key, (self._rate.burst, now))
        held = min(held + (now - seen) * self._rate.per_minute / 60, self._rate.burst)
        missing = tokens - held
        self._held[key] = (held if missing > 0 else held - tokens, now)
        if len(self._held) > _MOST_KEYS:
            self._held.popitem(last=False)
        return max(missing, 0.0) * 60 / self._rate.per_minute


class Limits:
    """The limits of a shared server."""

    def __init__(self, rates: Rates | None = None, *, clock: Callable[[], float] = time.monotonic) -> None:
        self.rates = rates or Rates()
        self._strangers, self._people = Buckets(self.rates.stranger, clock), Buckets(self.rates.person, clock)
        self._addresses, self._simulations = (
            Buckets(rate, clock) for rate in (self.rates.address, self.rates.simulations)
        )
        self._analyses: dict[str, asyncio.Semaphore] = {}
        self._waiting: Counter[str] = Counter()  # analyses that wait or run
        self._sockets: Counter[str] = Counter()

    def from_address(self, address: str) -> float:
        """Count a request before anyone knows who asks; the seconds to wait, or 0."""
        return self._addresses.take(network(address))

    def request(self, visitor: Asker) -> None:
        """Count a request."""
        buckets = self._strangers if visitor.person is None else self._people
        _refuse(buckets.take(_key(visitor)), "Too many requests")

    def simulations(self, visitor: Asker, count: int) -> None:
        """Count the simulations of an analysis before it is asked for."""
        _refuse(self._simulations.take(_key(visitor), count), "Your simulations of this minute are used up")

    async def afford(self, visitor: Asker, count: int) -> None:
        """Wait until these simulations are allowed; for streams, which slow down instead of ending."""
        while (wait := self._simulations.take(_key(visitor), count)) > 0:
            await asyncio.sleep(wait)

    @asynccontextmanager
    async def analysis(self, visitor: Asker) -> AsyncIterator[None]:
        """One analysis at a time; the next one waits a moment for it."""
        key = _key(visitor)
        slots = self._analyses.setdefault(key, asyncio.Semaphore(self.rates.analyses))
        self._waiting[key] += 1
        try:
            try:
                await asyncio.wait_for(slots.acquire(), _LONGEST_WAIT)
            except TimeoutError:
                raise Busy("An analysis of yours is running; wait for it or close it.", 2) from None
            try:
                yield
            finally:
                slots.release()
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key], self._analyses[key]

    @contextmanager
    def socket(self, visitor: Asker) -> Iterator[None]:
        """A connection that stays open."""
        keys = {network(visitor.address): self.rates.sockets_of_address}
        if visitor.person is not None:
            keys[_key(visitor)] = self.rates.sockets
        for key, most in keys.items():
            if self._sockets[key] >= most:
                raise Busy(f"{most} connections are open already; close a tab.", 10)
        self._sockets.update(keys.keys())
        try:
            yield
        finally:
            self._sockets.subtract(keys.keys())
            for key in [key for key in keys if not self._sockets[key]]:
                del self._sockets[key]


class NoLimits(Limits):
    """The person at this computer may ask for everything."""

    def from_address(self, address: str) -> float:
        return 0.0

    def request(self, visitor: Asker) -> None:
        return

    def simulations(self, visitor: Asker, count: int) -> None:
        return

    async def afford(self, visitor: Asker, count: int) -> None:
        return

    @asynccontextmanager
    async def analysis(self, visitor: Asker) -> AsyncIterator[None]:
        yield

    @contextmanager
    def socket(self, visitor: Asker) -> Iterator[None]:
        yield


def _key(visitor: Asker) -> str:
    return network(visitor.address) if visitor.person is None else f"person {visitor.person}"


def _refuse(wait: float, why: str) -> None:
    if wait > 0:
        seconds = max(round(wait), 1)
        raise Busy(f"{why}; try again in {seconds} second{'s' if seconds != 1 else ''}.", wait)
