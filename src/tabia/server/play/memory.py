"""The games in memory and the store behind them: opened, saved, forgotten."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import sqlalchemy as sql

from tabia.server.catalog.catalog import Catalog
from tabia.server.clock import Clock
from tabia.server.database.store import Saved, Store
from tabia.server.database.writer import Writer
from tabia.server.errors import NotFound
from tabia.server.play import links, state, storing
from tabia.server.play.clocks import GRACE_SECONDS
from tabia.server.play.links import Links
from tabia.server.play.live import LiveGame
from tabia.server.play.opened import OpenGame
from tabia.server.play.rating import RatingBook, change_dicts
from tabia.server.play.seats import Card

KEPT = 256
"""Games kept in memory; others are read again from the store, unless somebody follows them or time runs in them."""
NOT_FOUND = "There is no such game; it may be private, or on another computer."
_RULES_THREADS = 4
_T = TypeVar("_T")
Changes = list[dict[str, Any] | None]


class Memory:
    """Games by id. Rules run in threads of their own, so that nothing else holds them up."""

    def __init__(
        self,
        catalog: Catalog,
        store: Store,
        clock: Clock,
        ratings: RatingBook | None,
        loaded: Callable[[OpenGame], None],
    ) -> None:
        self.catalog, self.store, self.clock = catalog, store, clock
        self.links = Links(store.database)
        self.games: OrderedDict[str, OpenGame] = OrderedDict()
        self._ratings, self._loaded = ratings, loaded
        self._writer = Writer(store)
        self._threads = ThreadPoolExecutor(_RULES_THREADS, thread_name_prefix="rules")
        self._loading: dict[str, asyncio.Task[None]] = {}

    async def open(self, id: str) -> OpenGame:
        """A game by its id."""
        if id not in self.games:
            if id not in self._loading:
                self._loading[id] = asyncio.create_task(self._load(id))
                self._loading[id].add_done_callback(lambda _: self._loading.pop(id, None))
            await asyncio.shield(self._loading[id])
        self.games.move_to_end(id)
        return self.games[id]

    async def add(self, game: LiveGame) -> OpenGame:
        """A new game, stored."""
        cards = await asyncio.to_thread(self.cards, game)
        shown = await self.rules(lambda: state.common(game, cards))
        await self.save(game, cards)
        opened = self.games[game.id] = OpenGame(game, cards, shown, self.clock.monotonic())
        self._forget()
        return opened

    async def save(self, game: LiveGame, cards: Mapping[str, Card], *, rate: bool = False) -> Changes | None:
        """Store a game; a rated one that has ended together with the new ratings, which are returned."""
        book, changes = self._ratings if rate else None, []  # type: ignore[var-annotated]

        def also(connection: sql.Connection, saved: Saved) -> None:
            assert book is not None
            changes[:] = book.finish(connection, saved)

        saved = storing.saved(
            game,
            state.seat_names(game, cards),
            stamp=self.clock.stamp(),
            invite_hash=links.digest(self.links.code(game.id)) if game.opponents else None,
        )
        await asyncio.wrap_future(self._writer.save(saved, None if book is None else also))
        return change_dicts(changes) if changes else None

    async def reload(self, opened: OpenGame) -> bool:
        """Take over what the store has, after a save whose success is not known; whether it had a newer version."""
        saved = await asyncio.to_thread(self.store.load, opened.live.id)
        is_newer = saved is not None and saved.version > opened.live.version
        if saved is not None and is_newer:
            game, cards, shown = await self.rules(lambda: self._restored(saved))
            opened.rating_change = await self._rating_change(game)
            opened.live, opened.cards, opened.shown = game, cards, shown
        opened.doubtful = False
        return is_newer

    async def rules(self, call: Callable[[], _T]) -> _T:
        """The result of a call that runs rules."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, call)

    def cards(self, game: LiveGame) -> dict[str, Card]:
        """What others read about the agents and people of a game."""
        rules = game.session.game
        cards = self.catalog.cards(rules, [seat.agent for seat in game.seats])
        for seat in game.seats:
            rating = None if self._ratings is None or seat.person is None else self._ratings.of(seat.person, rules.id)
            if rating is not None and seat.person is not None:
                cards[seat.person] = Card(seat.name or "", elo=round(rating[0]), error=round(rating[1]))
        return cards

    async def close(self) -> None:
        """Finish what is being saved."""
        await asyncio.to_thread(self._writer.close)
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _load(self, id: str) -> None:
        saved = await asyncio.to_thread(self.store.load, id)
        if saved is None:
            raise NotFound(NOT_FOUND)
        game, cards, shown = await self.rules(lambda: self._restored(saved))
        opened = OpenGame(game, cards, shown, self.clock.monotonic() + GRACE_SECONDS)
        opened.rating_change = await self._rating_change(game)
        self.games[id] = opened
        self._forget()
        self._loaded(opened)

    async def _rating_change(self, game: LiveGame) -> Changes | None:
        """What a stored game did to ratings."""
        if self._ratings is None or not (game.rated and game.over):
            return None
        changes = await asyncio.to_thread(self._ratings.changes, game.id)
        return change_dicts(changes) if changes else None

    def _restored(self, saved: Saved) -> tuple[LiveGame, Mapping[str, Card], dict[str, Any]]:
        game = storing.restored(saved, self.catalog.game(saved.game).game, now=self.clock.monotonic())
        cards = self.cards(game)
        return game, cards, state.common(game, cards)

    def _forget(self) -> None:
        """Drop games that nobody follows, the oldest first."""
        surplus = len(self.games) - KEPT
        if surplus > 0:
            newest = next(reversed(self.games))
            idle = [name for name, opened in self.games.items() if opened.is_idle and name != newest]
            for old in idle[:surplus]:
                del self.games[old]
