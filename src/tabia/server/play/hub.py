"""The games in progress: live games, the store and the worker joined, and every change sent to the screens.

Everything runs in the event loop. Rules and the disk are called in threads, one change per game at a time. A change
is saved before anyone hears of it.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any

from tabia.core.text import printable
from tabia.games.boards import result
from tabia.games.session import Session
from tabia.server.analysis import asking
from tabia.server.analysis.exact import PERFECT
from tabia.server.analysis.worker import LOOK, Worker
from tabia.server.catalog.catalog import Catalog
from tabia.server.database.store import Saved, Store
from tabia.server.errors import Busy, NotFound, Refused, Stale, StoreError
from tabia.server.play import live, state
from tabia.server.play.lines import line, player_name
from tabia.server.play.live import LiveGame, Search
from tabia.server.play.seats import AGENT, HUMAN, Card, Seat

KEPT = 64
"""Games kept in memory; others are read again from the store."""
MOST_WATCHERS = 16  # screens of one game
_RETRY_SECONDS = 1.0
_log = logging.getLogger("tabia.server")
Watcher = asyncio.Queue[dict[str, Any]]


class _OpenGame:
    """One game in memory, its screens, and the search under way."""

    def __init__(self, game: LiveGame) -> None:
        self.live = game
        self.lock = asyncio.Lock()
        self.watchers: set[Watcher] = set()
        self.wanted: Search | None = None  # what is being searched
        self.searching: asyncio.Task[None] | None = None
        self.problem: str | None = None  # why an agent does not move


class Hub:
    """Live games by id."""

    def __init__(self, catalog: Catalog, worker: Worker, store: Store) -> None:
        self.catalog, self.worker, self.store = catalog, worker, store
        self._games: OrderedDict[str, _OpenGame] = OrderedDict()
        self._loading = asyncio.Lock()

    # Requests.

    async def create(self, game_id: str, seats: tuple[Seat, ...], moves: str = "") -> dict[str, Any]:
        """Start a game after an opening."""
        entry = self.catalog.game(game_id)
        if len(seats) != entry.game.num_players:
            raise Refused(f"{entry.game.id} has {entry.game.num_players} seats; {len(seats)} were given.")
        self._check_agents(entry.game.id, seats)
        session = await asyncio.to_thread(line, self.catalog, game_id, moves, seed=secrets.randbelow(2**31))
        if session.over:
            raise Refused("The game is over after these moves; choose a shorter opening.")
        return await self._begin(live.start(session, seats, id=_new_id(), created=_now(), now=time.monotonic()))

    async def state(self, id: str) -> dict[str, Any]:
        """A game as it is now; a search that a restart interrupted is asked for again."""
        opened = await self._open(id)
        async with opened.lock:
            self._search(opened)
            return self._state(opened)

    async def move(self, id: str, ply: int, action: int) -> dict[str, Any]:
        """A person's move."""
        return await self._change(id, lambda game: live.move(game, ply, action, now=time.monotonic()))

    async def undo(self, id: str, ply: int) -> dict[str, Any]:
        """Back to a person's turn."""
        return await self._change(id, lambda game: live.undo(game, ply, now=time.monotonic()))

    async def resign(self, id: str, ply: int, seat: int) -> dict[str, Any]:
        """A person gives up."""
        return await self._change(id, lambda game: live.resign(game, ply, seat, now=time.monotonic()))

    async def change_agent(self, id: str, seat: int, agent: str) -> dict[str, Any]:
        """Another opponent, in mid game."""
        opened = await self._open(id)
        self.catalog.agent(opened.live.session.game, agent)
        return await self._change(id, lambda game: live.change_agent(game, seat, agent, now=time.monotonic()))

    async def rematch(self, id: str, *, swap: bool) -> dict[str, Any]:
        """A new game of the same seats."""
        opened = await self._open(id)
        self._check_agents(opened.live.session.game.id, opened.live.seats)
        new = await asyncio.to_thread(
            live.rematch,
            opened.live,
            swap=swap,
            id=_new_id(),
            created=_now(),
            seed=secrets.randbelow(2**31),
            now=time.monotonic(),
        )
        return await self._begin(new)

    async def hurry(self, id: str, ply: int) -> dict[str, Any]:
        """Serve the search of a game before all others."""
        opened = await self._open(id)
        if ply != opened.live.session.ply:
            raise Stale("The move has been made already.", self._state(opened))
        self.worker.hurry(id)
        return self._state(opened)

    async def live(self, id: str) -> LiveGame:
        """A game by its id."""
        return (await self._open(id)).live

    async def listed(self, *, finished: bool | None, game: str | None, limit: int) -> list[dict[str, Any]]:
        """Summaries of the newest games."""
        found = await asyncio.to_thread(self.store.listed, finished=finished, game=game, limit=limit)
        return [_summary(saved) for saved in found]

    # Screens.

    async def watch(self, id: str) -> Watcher:
        """A queue that gets the state now and after every change."""
        opened = await self._open(id)
        if len(opened.watchers) >= MOST_WATCHERS:
            raise Busy(f"{MOST_WATCHERS} screens show this game already; close one of them.")
        watcher: Watcher = asyncio.Queue(maxsize=64)
        async with opened.lock:
            opened.watchers.add(watcher)
            self._search(opened)
            watcher.put_nowait(self._state(opened))
        return watcher

    def unwatch(self, id: str, watcher: Watcher) -> None:
        """Forget a screen."""
        if id in self._games:
            self._games[id].watchers.discard(watcher)

    # Inside.

    async def _begin(self, game: LiveGame) -> dict[str, Any]:
        await asyncio.to_thread(self.store.save, self._saved(game))
        opened = self._games[game.id] = _OpenGame(game)
        self._forget()
        self._warm(game)
        self._search(opened)
        return self._state(opened)

    def _warm(self, game: LiveGame) -> None:
        """Compile the agents of a game while the person looks at the board, then those that give hints."""
        session = game.session
        for seat in game.seats:
            if seat.agent is not None:
                with suppress(NotFound):  # its run has gone; the search says so
                    self.worker.warm(self.player_name(session, seat.agent))
        entry = self.catalog.game(session.game.id)
        if game.people and entry.is_exact:
            self.worker.warm(player_name(session.game.id, PERFECT))
        elif game.people:
            self.worker.warm(self.player_name(session, entry.analyst), (LOOK,))

    async def _change(self, id: str, event: Callable[[LiveGame], LiveGame]) -> dict[str, Any]:
        opened = await self._open(id)
        async with opened.lock:
            try:
                after = await asyncio.to_thread(event, opened.live)
            except Stale as error:
                raise Stale(str(error), self._state(opened)) from None
            shown = await self._keep(opened, after)
        self._warm(after)
        return shown

    async def _keep(self, opened: _OpenGame, after: LiveGame) -> dict[str, Any]:
        """Save a changed game, then send it to the screens and search if an agent is to move."""
        await asyncio.to_thread(self.store.save, self._saved(after))
        opened.live, opened.problem = after, None
        shown = self._broadcast(opened)
        self._search(opened)
        return shown

    def _broadcast(self, opened: _OpenGame) -> dict[str, Any]:
        """Send the state to all screens."""
        shown = self._state(opened)
        for watcher in opened.watchers:
            with suppress(asyncio.QueueFull):  # a screen that does not read asks again when it reconnects
                watcher.put_nowait(shown)
        return shown

    def _search(self, opened: _OpenGame) -> None:
        """Ask for the move that a game waits for, unless it is asked for already."""
        search = opened.live.wanted
        if opened.searching is not None and not opened.searching.done():
            if opened.wanted == search:
                return
            if opened.searching is not asyncio.current_task():
                opened.searching.cancel()
        opened.wanted = search
        if search is not None:
            opened.searching = asyncio.create_task(self._answer(opened, search))

    async def _answer(self, opened: _OpenGame, search: Search) -> None:
        session = opened.live.session
        while True:
            try:
                name = self.player_name(session, search.agent)
                analysis = await asyncio.wrap_future(self.worker.choose(name, session, owner=opened.live.id))
                break
            except Busy:
                await asyncio.sleep(_RETRY_SECONDS)
            except Exception as error:  # shown on the screens, where another agent can be chosen
                _log.warning("%s did not move: %s", search.agent, error)
                self._report(opened, f"{search.agent} cannot play: {error}")
                return
        assert analysis.move is not None
        action = asking.action(session, analysis.move)
        async with opened.lock:
            after = await asyncio.to_thread(live.answer, opened.live, search, action, now=time.monotonic())
            if after is opened.live:
                return
            try:
                await self._keep(opened, after)
            except StoreError as error:
                self._report(opened, str(error))

    def _report(self, opened: _OpenGame, problem: str) -> None:
        """Show on all screens why an agent does not move."""
        opened.problem = printable(problem)[:400]
        self._broadcast(opened)

    async def _open(self, id: str) -> _OpenGame:
        async with self._loading:
            if id not in self._games:
                saved = await asyncio.to_thread(self.store.load, id)
                if saved is None:
                    raise NotFound("There is no such game; it may have been on another computer.")
                self._games[id] = _OpenGame(await asyncio.to_thread(self._restored, saved))
                self._forget()
            self._games.move_to_end(id)
            return self._games[id]

    def _forget(self) -> None:
        """Drop games without screens, the oldest first."""
        idle = [
            name
            for name, opened in self._games.items()
            if not opened.watchers
            and not opened.lock.locked()
            and (opened.searching is None or opened.searching.done())
        ]
        for name in idle[: max(len(self._games) - KEPT, 0)]:
            del self._games[name]

    def _restored(self, saved: Saved) -> LiveGame:
        game = self.catalog.game(saved.game).game
        if game.version != saved.rules:
            raise Refused(f"This game was played by version {saved.rules} of its rules, which are now {game.version}.")
        session = Session.replay(game, saved.actions, seed=saved.seed)
        return LiveGame(
            id=saved.id,
            created=saved.created,
            session=session if saved.resigned is None else session.resign(saved.resigned),
            seats=tuple(Seat(**seat) for seat in saved.seats),
            version=saved.version,
            opening_plies=saved.opening,
            asked_at=time.monotonic(),
        )

    def _saved(self, game: LiveGame) -> Saved:
        session = game.session
        names = state.seat_names(game, self._cards(game))
        return Saved(
            id=game.id,
            game=session.game.id,
            rules=session.game.version,
            seed=session.seed,
            seats=[seat.to_dict() for seat in game.seats],
            opening=game.opening_plies,
            created=game.created,
            version=game.version,
            resigned=session.resigned,
            actions=session.actions,
            result=None if not session.over else {**(result(session, names) or {}), "names": names},
        )

    def _state(self, opened: _OpenGame) -> dict[str, Any]:
        game = opened.live
        slowest = 0.0
        if game.wanted is not None:
            with suppress(NotFound):
                slowest = self.worker.seconds(self.player_name(game.session, game.wanted.agent))
        shown = state.state(game, self._cards(game), now=time.monotonic(), limit_ms=max(5000, round(3000 * slowest)))
        return {**shown, "problem": opened.problem}

    def _cards(self, game: LiveGame) -> dict[str, Card]:
        return self.catalog.cards(game.session.game, [seat.agent for seat in game.seats])

    def player_name(self, session: Session, agent: str) -> str:
        """The worker's name for an agent of a game."""
        return player_name(session.game.id, self.catalog.agent(session.game, agent).spec)

    def _check_agents(self, game_id: str, seats: tuple[Seat, ...]) -> None:
        game = self.catalog.game(game_id).game
        for seat in seats:
            if seat.kind == AGENT:
                self.catalog.agent(game, seat.agent or "")
            elif seat.kind != HUMAN or seat.agent is not None:
                raise Refused("A seat is a person's, or an agent's with the agent's id.")


def _summary(saved: Saved) -> dict[str, Any]:
    names = (saved.result or {}).get("names") or [seat["agent"] or "You" for seat in saved.seats]
    return {
        "id": saved.id,
        "game": saved.game,
        "created": saved.created,
        "seats": [{**seat, "name": name} for seat, name in zip(saved.seats, names, strict=True)],
        "plies": len(saved.actions),
        "result": None if saved.result is None else {k: v for k, v in saved.result.items() if k != "names"},
    }


def _new_id() -> str:
    return secrets.token_urlsafe(12)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")
