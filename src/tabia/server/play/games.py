"""Changes of games: one at a time per game, saved before anyone hears of them, then sent to all who follow.

Everything runs in the event loop. Timers end games whose clocks have run out or whose people have left.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any

from tabia.server.accounts.visitor import Role, Visitor
from tabia.server.analysis.worker import Worker
from tabia.server.catalog.catalog import Catalog
from tabia.server.clock import Clock
from tabia.server.database.store import Store
from tabia.server.errors import Stale, StoreError
from tabia.server.play import links, live, state
from tabia.server.play.events import Events
from tabia.server.play.live import LiveGame, Search
from tabia.server.play.memory import Memory
from tabia.server.play.opened import OpenGame
from tabia.server.play.rating import RatingBook
from tabia.server.play.searching import RETRY_SECONDS, Searches
from tabia.server.play.watching import Connections, Follower

_log = logging.getLogger("tabia.server")
Event = Callable[[LiveGame], LiveGame]


class Games:
    """Live games; `shared` says that people have accounts, so that absence counts."""

    def __init__(
        self, catalog: Catalog, worker: Worker, store: Store, clock: Clock, shared: bool, ratings: RatingBook | None
    ) -> None:
        self.clock, self.shared = clock, shared
        self.connections = Connections()
        self.events = Events(self.connections)
        self.memory = Memory(catalog, store, clock, ratings, self._loaded)
        self.searches = Searches(catalog, worker, self._answered, self.broadcast, shared=shared)
        self._tasks: set[asyncio.Task[Any]] = set()

    async def begin(self, game: LiveGame) -> OpenGame:
        """Store a new game and let it start."""
        opened = await self.memory.add(game)
        self.searches.warm(game)
        self.searches.ask(opened)
        self.schedule(opened)
        self.events.created(game, opened.cards, self.memory.links.code)
        return opened

    async def apply(self, visitor: Visitor, opened: OpenGame, event: Event) -> dict[str, Any]:
        """Make a change, completely even if the one who asked for it does not wait; the state for that one."""
        return await asyncio.shield(self._spawn(self._apply(visitor, opened, event)))

    async def tick(self) -> None:
        """End the games whose time is over or whose people have left, now."""
        for opened in list(self.memory.games.values()):
            await self._check(opened)

    def state(self, opened: OpenGame, visitor: Visitor) -> dict[str, Any]:
        """A game as a visitor sees it."""
        game = opened.live
        shown = opened.state(
            now=self.clock.monotonic(), person=person_of(visitor), limit_ms=self.searches.limit_ms(game)
        )
        code = self.memory.links.code(game.id) if game.status == "waiting" and shown["you"] else None
        return shown | {
            "waiting": self.searches.waiting(game),
            "join": None if code is None else {"code": code, "path": links.path(code)},
        }

    def broadcast(self, opened: OpenGame, *, but: Follower | None = None) -> None:
        """Send the state to all who follow, each its own."""
        for follower in opened.followers - {but}:
            follower.put(self.state(opened, follower.visitor))

    def schedule(self, opened: OpenGame, *, at_least: float = 0.0) -> None:
        """Look at a game again when a clock ends or somebody has been away for too long."""
        if opened.timer is not None:
            opened.timer.cancel()
            opened.timer = None
        due = opened.due() if self.shared or opened.live.clocks is not None else None
        if due is not None:
            seconds = max(due - self.clock.monotonic(), at_least, 0.0) + 0.01
            opened.timer = asyncio.get_running_loop().call_later(seconds, self._spawn_check, opened)

    async def close(self) -> None:
        """Finish what is being saved, and stop all timers."""
        for opened in self.memory.games.values():
            if opened.timer is not None:
                opened.timer.cancel()
        await self.memory.close()

    def _loaded(self, opened: OpenGame) -> None:
        self.searches.warm(opened.live)
        self.schedule(opened)

    async def _apply(self, visitor: Visitor, opened: OpenGame, event: Event) -> dict[str, Any]:
        async with opened.lock:
            await self._up_to_date(opened)
            try:
                await self._change(opened, event)
            except Stale as error:
                raise Stale(str(error), self.state(opened, visitor)) from None
            return self.state(opened, visitor)

    async def _answered(self, opened: OpenGame, search: Search, action: int) -> None:
        """Play an agent's move, unless it is not wanted any more."""
        async with opened.lock:
            await self._up_to_date(opened)
            await self._change(opened, lambda game: live.answer(game, search, action, now=self.clock.monotonic()))

    async def _up_to_date(self, opened: OpenGame) -> None:
        """Take over what is stored if that is not known, and end a game that time has ended."""
        before = opened.live
        if opened.doubtful and await self.memory.reload(opened):
            self._announce(opened, before)
        await self._settle(opened)

    async def _change(self, opened: OpenGame, event: Event) -> None:
        before = opened.live

        def changed() -> tuple[LiveGame, dict[str, Any]]:
            after = event(before)
            if after.seats != before.seats:
                opened.cards = self.memory.cards(after)
            return after, opened.shown if after is before else state.common(after, opened.cards)

        after, shown = await self.memory.rules(changed)
        if after is not before:
            await self._keep(opened, after, shown)

    async def _keep(self, opened: OpenGame, after: LiveGame, shown: dict[str, Any]) -> None:
        """Save a changed game, then announce it."""
        before = opened.live
        try:
            rate = after.rated and after.over and not before.over
            changes = await self.memory.save(after, opened.cards, rate=rate)
        except StoreError:
            opened.doubtful = True
            raise
        opened.live, opened.shown = after, shown
        if changes is not None:
            opened.rating_change = changes
            opened.cards = await asyncio.to_thread(self.memory.cards, after)
            opened.shown = shown | {
                "seats": state.seat_dicts(after, opened.cards, state.seat_names(after, opened.cards))
            }
        self._announce(opened, before)

    def _announce(self, opened: OpenGame, before: LiveGame) -> None:
        """Send a changed game to all who follow, and search if an agent is to move."""
        opened.problem = None
        self.broadcast(opened)
        self.searches.ask(opened)
        self.schedule(opened)
        self.events.changed(before, opened.live, opened.cards, opened.shown["result"])

    async def _check(self, opened: OpenGame) -> None:
        opened.timer = None
        try:
            async with opened.lock:
                await self._up_to_date(opened)
                self.schedule(opened)
        except StoreError as error:
            _log.warning("A game could not be ended: %s", error)
            self.schedule(opened, at_least=RETRY_SECONDS)

    async def _settle(self, opened: OpenGame) -> None:
        """End a game that time has ended."""
        now = self.clock.monotonic()
        gone = opened.gone(now) if self.shared else None

        def ended(game: LiveGame) -> LiveGame:
            after = live.check_time(game, now=now)
            return after if after is not game or gone is None else live.abandon(game, gone, now=now)

        due = opened.due()
        if due is not None and due <= now:
            await self._change(opened, ended)

    def _spawn_check(self, opened: OpenGame) -> None:
        self._spawn(self._check(opened))

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        """A task that is kept until it is done."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task


def person_of(visitor: Visitor) -> str | None:
    """Whose seats a visitor plays: None for the owner of this computer, nobody's for a stranger."""
    return None if visitor.role == Role.OWNER else visitor.person or ""
