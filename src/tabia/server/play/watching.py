"""Those who follow changes: screens and streams of a game, and the events of one person.

A follower that reads slowly does not hold up a game: once its queue is full, it gets the newest state only.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from tabia.server.accounts.visitor import Visitor

ENDED, SLOW = 4401, 4408
"""The codes with which a WebSocket is closed: the session has ended, or nothing was read or sent."""
Message = dict[str, Any]


@dataclass(frozen=True)
class Kind:
    """How many messages wait for a slow reader.

    Where each message replaces those before, a slow reader then gets the newest only; otherwise it is closed.
    """

    waiting: int
    replaces: bool = True


STATES, EVENTS = Kind(waiting=16), Kind(waiting=256, replaces=False)


class Follower:
    """One screen or stream: messages in, messages out, until it is closed."""

    def __init__(self, visitor: Visitor, kind: Kind) -> None:
        self.visitor, self.kind = visitor, kind
        self.closed: int | None = None  # the code it was closed with
        self._messages: asyncio.Queue[Message | None] = asyncio.Queue()

    def put(self, message: Message) -> None:
        """Send a message."""
        if self._messages.qsize() >= self.kind.waiting and self.kind.replaces:
            self.take()
        if self._messages.qsize() >= self.kind.waiting:
            self.close(SLOW)
        elif self.closed is None:
            self._messages.put_nowait(message)

    def close(self, code: int = ENDED) -> None:
        """End it, at once."""
        self.closed = code
        self.take()
        self._messages.put_nowait(None)

    async def get(self) -> Message | None:
        """The next message; None once it is closed."""
        return None if self.closed is not None else await self._messages.get()

    def take(self) -> list[Message]:
        """Remove all messages that wait, and return them."""
        waiting = [self._messages.get_nowait() for _ in range(self._messages.qsize())]
        return [message for message in waiting if message is not None]


class Connections:
    """Everything that is open; how much one person may open is limited before."""

    def __init__(self) -> None:
        self._open: set[Follower] = set()

    def open(self, visitor: Visitor, kind: Kind) -> Follower:
        """A new follower."""
        follower = Follower(visitor, kind)
        self._open.add(follower)
        return follower

    def forget(self, follower: Follower) -> None:
        """It has been closed."""
        self._open.discard(follower)

    async def recheck(self, person: str, is_current: Callable[[Visitor], Awaitable[bool]]) -> None:
        """Close what a person opened in sessions that have ended."""
        for follower in [follower for follower in self._open if follower.visitor.person == person]:
            if not await is_current(follower.visitor):
                follower.close()

    def disconnect(self, *, session: str | None = None, person: str | None = None) -> None:
        """Close what belongs to a session that has ended, or to a person who may not be here any more."""
        for follower in list(self._open):
            visitor = follower.visitor
            ended = session is not None and visitor.session == session
            if ended or (person is not None and visitor.person == person):
                follower.close()
