"""Passwords: Argon2id in threads of its own, at most a few at once, and what a password must be.

Hashing takes 64 MiB for a tenth of a second. `queued` bounds how many requests wait for it, so that strangers can
exhaust neither the memory nor the threads of other requests.
"""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

from tabia.server.accounts.guessable import is_guessable
from tabia.server.errors import Busy, Refused

Result = TypeVar("Result")
SHORTEST, MOST_BYTES = 8, 1024
"""Characters at least, and bytes at most; there is no rule about kinds of characters."""


@dataclass(frozen=True)
class Hashing:
    """The cost of a hash (RFC 9106, second choice), and how many are computed at once or wait."""

    memory_kib: int = 65536
    passes: int = 3
    lanes: int = 4
    at_once: int = 2
    waiting: int = 32


class Passwords:
    """Hashes and checks passwords."""

    def __init__(self, hashing: Hashing) -> None:
        from argon2 import PasswordHasher, Type

        self._hasher = PasswordHasher(
            time_cost=hashing.passes, memory_cost=hashing.memory_kib, parallelism=hashing.lanes, type=Type.ID
        )
        self._threads = ThreadPoolExecutor(hashing.at_once, thread_name_prefix="passwords")
        self._most, self._count = hashing.at_once + hashing.waiting, 0
        self._dummy = self._hasher.hash("a name that nobody has")

    @contextmanager
    def queued(self) -> Iterator[None]:
        """A place in the queue of requests that hash; `Busy` if it is full."""
        if self._count >= self._most:
            raise Busy("Many people are signing in at this moment; try again.", 2.0)
        self._count += 1
        try:
            yield
        finally:
            self._count -= 1

    async def hash(self, password: str) -> str:
        """The hash of a password, with a salt of its own."""
        return await self._run(lambda: self.hash_now(password))

    def hash_now(self, password: str) -> str:
        """The hash of a password, computed in this thread."""
        return self._hasher.hash(normalized(password))

    async def verify(self, held: str | None, password: str) -> bool:
        """Whether a password belongs to a hash; without one it takes as long and is wrong."""
        return await self._run(lambda: self._verify(held, password))

    def is_outdated(self, held: str) -> bool:
        """Whether a hash has other parameters than today's."""
        return self._hasher.check_needs_rehash(held)

    def close(self) -> None:
        """End the threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _verify(self, held: str | None, password: str) -> bool:
        from argon2.exceptions import VerificationError

        try:
            self._hasher.verify(held or self._dummy, normalized(password))
        except VerificationError:
            return False
        return held is not None

    async def _run(self, work: Callable[[], Result]) -> Result:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


def normalized(password: str) -> str:
    """The same text for the same characters, however a keyboard composes them."""
    return unicodedata.normalize("NFKC", password)


def check(password: str, name: str) -> None:
    """Refuse a password that is too short, too long, or among the first that are guessed."""
    if len(password.encode("utf-8", "surrogatepass")) > MOST_BYTES:
        raise Refused(f"A password has at most {MOST_BYTES:,} bytes.", field="password")
    if len(password) < SHORTEST:
        raise Refused(f"A password has at least {SHORTEST} characters; 15 or more are better.", field="password")
    if is_guessable(password, name):
        raise Refused(
            "This password is easy to guess; take a longer one, such as four unrelated words.", field="password"
        )
