"""The games in progress: live games, the store and the worker joined, and every change sent to those who follow.

Everything runs in the event loop, one change per game at a time. Rules are called in threads, and changes are saved by
the writer before anyone hears of them. A visitor reaches only the games that the visitor may see.
"""

from __future__ import annotations

import asyncio
import logging
import secrets
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

import sqlalchemy as sql

from tabia.core.text import printable
from tabia.games.session import Session
from tabia.server.accounts.visitor import Role, Visitor
from tabia.server.analysis import asking
from tabia.server.analysis.exact import PERFECT
from tabia.server.analysis.worker import LOOK, Priority, Worker
from tabia.server.catalog.catalog import Catalog
from tabia.server.clock import Clock
from tabia.server.database.store import Saved, Store
from tabia.server.database.writer import Writer
from tabia.server.errors import Busy, NotFound, Refused, Stale, StoreError, Unauthorized
from tabia.server.play import links, live, starting, state, storing
from tabia.server.play.clocks import GRACE_SECONDS, TimeControl
from tabia.server.play.events import Events
from tabia.server.play.lines import line, player_name
from tabia.server.play.live import LINK, LiveGame, Search
from tabia.server.play.opened import OpenGame
from tabia.server.play.rating import RatingBook, change_dicts
from tabia.server.play.seats import Card, Seat
from tabia.server.play.watching import STATES, Connections, Follower

KEPT = 256
"""Games kept in memory; others are read again from the store, unless somebody follows them or a clock runs."""
MOST_FOLLOWERS = 64  # of one game; those seated always get in
_RULES_THREADS = 4
_RETRY_SECONDS = 1.0
_NOT_FOUND = "There is no such game; it may be private, or on another computer."
_log = logging.getLogger("tabia.server")
_T = TypeVar("_T")
Event = Callable[[LiveGame], LiveGame]


class Hub:
    """Live games by id; `shared` says that accounts exist."""

    def __init__(
        self,
        catalog: Catalog,
        worker: Worker,
        store: Store,
        *,
        clock: Clock | None = None,
        shared: bool = False,
        ratings: RatingBook | None = None,
    ) -> None:
        self.catalog, self.worker, self.store = catalog, worker, store
        self.clock, self.shared = clock or Clock(), shared
        self.connections = Connections()
        self.events = Events(self.connections)
        self._ratings = ratings
        self._links = links.Links(store.database)
        self._writer = Writer(store)
        self._rules_threads = ThreadPoolExecutor(_RULES_THREADS, thread_name_prefix="rules")
        self._games: OrderedDict[str, OpenGame] = OrderedDict()
        self._loading: dict[str, asyncio.Task[OpenGame]] = {}
        self._tasks: set[asyncio.Task[Any]] = set()

    # Requests.

    async def create(
        self,
        visitor: Visitor,
        game_id: str,
        seats: tuple[Seat, ...],
        moves: str = "",
        *,
        rated: bool = False,
        clock: TimeControl | None = None,
        visibility: str | None = None,
    ) -> dict[str, Any]:
        """Start a game after an opening; the visitor takes the seats of people."""
        person = self._actor(visitor)
        taken = tuple(starting.seat_of(self.store.database, seat, visitor) for seat in seats)
        starting.check(self.catalog, game_id, taken, shared=self.shared, rated=rated, opening=moves)
        session = await self._rules(lambda: line(self.catalog, game_id, moves, seed=secrets.randbelow(2**31)))
        if session.over:
            raise Refused("The game is over after these moves; choose a shorter opening.")
        new = live.start(
            session,
            taken,
            id=_new_id(),
            created=self.clock.stamp(),
            now=self.clock.monotonic(),
            rated=rated,
            visibility=visibility or (LINK if rated else live.PRIVATE),
            clock=clock,
        )
        opened = await self._begin(new)
        self._see(opened, person)
        return self._state(opened, visitor)

    async def state(self, visitor: Visitor, id: str) -> dict[str, Any]:
        """A game as it is now; a search that a restart interrupted is asked for again."""
        opened = await self._visible(visitor, id)
        async with opened.lock:
            self._search(opened)
            return self._state(opened, visitor)

    async def move(self, visitor: Visitor, id: str, ply: int, action: int) -> dict[str, Any]:
        """A person's move."""
        person, now = self._actor(visitor), self.clock.monotonic
        return await self._change(visitor, id, lambda game: live.move(game, ply, action, now=now(), person=person))

    async def undo(self, visitor: Visitor, id: str, ply: int) -> dict[str, Any]:
        """Back to a person's turn."""
        person, now = self._actor(visitor), self.clock.monotonic
        return await self._change(visitor, id, lambda game: live.undo(game, ply, now=now(), person=person))

    async def resign(self, visitor: Visitor, id: str, ply: int, seat: int | None) -> dict[str, Any]:
        """A person gives up, or cancels a game that has not started."""
        person, now = self._actor(visitor), self.clock.monotonic
        return await self._change(visitor, id, lambda game: live.resign(game, ply, seat, now=now(), person=person))

    async def draw(self, visitor: Visitor, id: str, ply: int) -> dict[str, Any]:
        """A person offers or accepts a draw."""
        person, now = self._actor(visitor), self.clock.monotonic
        return await self._change(visitor, id, lambda game: live.draw(game, ply, now=now(), person=person))

    async def change_agent(self, visitor: Visitor, id: str, seat: int, agent: str) -> dict[str, Any]:
        """Another opponent, in mid game."""
        person, now = self._actor(visitor), self.clock.monotonic
        opened = await self._visible(visitor, id)
        self.catalog.agent(opened.live.session.game, agent)
        shown = await self._apply(
            visitor, opened, lambda game: live.change_agent(game, seat, agent, now=now(), person=person)
        )
        self._warm(opened.live)
        return shown

    async def invited(self, code: str) -> OpenGame:
        """The game that a secret link leads to."""
        found = await asyncio.to_thread(self.store.invited, links.digest(code))
        if found is None:
            raise NotFound("This link leads nowhere; the game is over, or the link was copied incompletely.")
        return await self._open(found.id)

    async def join(self, visitor: Visitor, code: str) -> dict[str, Any]:
        """A person takes the open seat that a link leads to."""
        self._actor(visitor)
        try:
            return await self._join(visitor, await self.invited(code))
        except Refused as error:
            raise NotFound(str(error)) from None

    async def _join(self, visitor: Visitor, opened: OpenGame) -> dict[str, Any]:
        person = self._actor(visitor)
        if person is None:
            raise Refused("Games by link need a server that was started with `tabia serve`.")
        return await self._apply(
            visitor,
            opened,
            lambda game: live.join(game, person=person, name=visitor.name, now=self.clock.monotonic()),
        )

    async def rematch(self, visitor: Visitor, id: str, *, swap: bool) -> dict[str, Any]:
        """A new game of the same seats; against a person an offer, which the other accepts in the same way."""
        person, opened = self._actor(visitor), await self._visible(visitor, id)
        async with opened.lock:
            offered = None if opened.rematch is None else await self._open(opened.rematch)
            if offered is not None and offered.live.ended_by != live.CANCELED:
                return await self._join(visitor, offered)
            starting.check_agents(self.catalog, opened.live.session.game.id, opened.live.seats)
            now = self.clock.monotonic()
            new = await self._rules(
                lambda: live.rematch(
                    opened.live,
                    swap=swap,
                    id=_new_id(),
                    created=self.clock.stamp(),
                    seed=secrets.randbelow(2**31),
                    now=now,
                    person=person,
                )
            )
            begun = await self._begin(new)
            if new.open_seats:
                opened.rematch = new.id
                self._broadcast(opened)
        return self._state(begun, visitor)

    async def hurry(self, visitor: Visitor, id: str, ply: int) -> dict[str, Any]:
        """Serve the search of a game before all others; on a shared server everybody waits in turn."""
        opened = await self._visible(visitor, id)
        if self.shared:
            raise Refused("Searches are served in turn here.")
        if ply != opened.live.session.ply:
            raise Stale("The move has been made already.", self._state(opened, visitor))
        self.worker.hurry(id)
        return self._state(opened, visitor)

    async def live(self, visitor: Visitor, id: str) -> LiveGame:
        """A game by its id."""
        return (await self._visible(visitor, id)).live

    async def listed(
        self, visitor: Visitor, *, finished: bool | None, game: str | None, limit: int
    ) -> list[dict[str, Any]]:
        """Summaries of the newest games: a person's own, or all of this computer."""
        if self.shared and visitor.person is None:
            return []
        found = await asyncio.to_thread(
            self.store.listed, finished=finished, game=game, person=visitor.person, limit=limit
        )
        return [storing.summary(saved, visitor.person) for saved in found]

    # Those who follow.

    async def watch(self, visitor: Visitor, id: str) -> Follower:
        """A follower that gets the state now and after every change."""
        opened, person = await self._visible(visitor, id), _person(visitor)
        if len(opened.followers) >= MOST_FOLLOWERS and not opened.live.seats_of(person):
            raise Busy(f"{MOST_FOLLOWERS} screens show this game already; close one of them.")
        follower = self.connections.open(visitor, STATES)
        async with opened.lock:
            arrived = person and not opened.presence.is_there(person)
            opened.followers.add(follower)
            if person:
                opened.presence.arrive(person)
            self._search(opened)
            follower.put(self._state(opened, visitor))
            if arrived and opened.live.seats_of(person):
                self._present(opened, other_than=follower)
        return follower

    def unwatch(self, id: str, follower: Follower) -> None:
        """Forget a follower."""
        self.connections.forget(follower)
        opened, person = self._games.get(id), _person(follower.visitor)
        if opened is None or follower not in opened.followers:
            return
        opened.followers.discard(follower)
        if person:
            opened.presence.leave(person, self.clock.monotonic())
            if opened.live.seats_of(person) and not opened.presence.is_there(person):
                self._present(opened)

    def disconnect(self, *, session: str | None = None, person: str | None = None) -> None:
        """Close the screens and streams of a session that has ended, or of a person who may not be here any more."""
        self.connections.disconnect(session=session, person=person)

    def _present(self, opened: OpenGame, other_than: Follower | None = None) -> None:
        """Somebody came or left: show it to the others, and see who is away."""
        self._schedule(opened)
        for follower in opened.followers - {other_than}:
            follower.put(self._state(opened, follower.visitor))

    async def follow(self, visitor: Visitor) -> Follower:
        """The events of a person's games: those under way now, and everything that happens to them later."""
        person = self._actor(visitor)
        found = await asyncio.to_thread(self.store.listed, finished=False, person=person, limit=100)
        return self.events.open(visitor, found, self._links.code)

    # Changes.

    async def tick(self) -> None:
        """End the games whose time is over or whose people have left, now."""
        for opened in list(self._games.values()):
            await self._check(opened)

    async def _check(self, opened: OpenGame) -> None:
        opened.timer = None
        try:
            async with opened.lock:
                await self._settle(opened)
        except StoreError as error:
            _log.warning("A game could not be ended: %s", error)
            self._schedule(opened, at_least=_RETRY_SECONDS)

    async def _settle(self, opened: OpenGame) -> None:
        """End a game that time has ended."""
        now = self.clock.monotonic()
        after = live.check_time(opened.live, now=now)
        gone = opened.gone(now) if self.shared and after is opened.live else None
        if gone is not None:
            after = live.abandon(opened.live, gone, now=now)
        if after is not opened.live:
            await self._keep(opened, after, await self._rules(lambda: state.common(after, opened.cards)))
        else:
            self._schedule(opened)

    async def _begin(self, game: LiveGame) -> OpenGame:
        cards = await asyncio.to_thread(self._cards, game)
        shown = await self._rules(lambda: state.common(game, cards))
        await self._save(game, cards)
        opened = self._games[game.id] = OpenGame(game, cards, shown, self.clock.monotonic())
        self._forget()
        self._warm(game)
        self._search(opened)
        self._schedule(opened)
        self.events.begun(game, cards, self._links.code)
        return opened

    async def _change(self, visitor: Visitor, id: str, event: Event) -> dict[str, Any]:
        return await self._apply(visitor, await self._visible(visitor, id), event)

    async def _apply(self, visitor: Visitor, opened: OpenGame, event: Event) -> dict[str, Any]:
        """Make a change, completely even if the one who asked for it does not wait."""
        return await asyncio.shield(self._spawn(self._applied(visitor, opened, event)))

    async def _applied(self, visitor: Visitor, opened: OpenGame, event: Event) -> dict[str, Any]:
        async with opened.lock:
            if opened.doubtful:
                await self._reload(opened)
            if opened.due() is not None:
                await self._settle(opened)
            before = opened.live

            def changed() -> tuple[LiveGame, dict[str, Any]]:
                after = event(before)
                if after.seats != before.seats:
                    opened.cards = self._cards(after)
                return after, opened.shown if after is before else state.common(after, opened.cards)

            try:
                after, shown = await self._rules(changed)
            except Stale as error:
                raise Stale(str(error), self._state(opened, visitor)) from None
            if after is not before:
                await self._keep(opened, after, shown)
            return self._state(opened, visitor)

    async def _keep(self, opened: OpenGame, after: LiveGame, shown: dict[str, Any]) -> None:
        """Save a changed game, then send it to all who follow and search if an agent is to move."""
        before = opened.live
        try:
            changes = await self._save(after, opened.cards, rate=after.rated and after.over and not before.over)
        except StoreError:
            opened.doubtful = True
            raise
        opened.live, opened.shown, opened.problem = after, shown, None
        if changes is not None:
            opened.rating_change = changes
            opened.cards = await asyncio.to_thread(self._cards, after)
            opened.shown = shown | {
                "seats": state.seat_dicts(after, opened.cards, state.seat_names(after, opened.cards))
            }
        self._broadcast(opened)
        self._search(opened)
        self._schedule(opened)
        self.events.changed(before, after, opened.cards, shown["result"])

    async def _save(
        self, game: LiveGame, cards: Mapping[str, Card], *, rate: bool = False
    ) -> list[dict[str, Any] | None] | None:
        """Store a game; a rated one that has ended together with the new ratings."""
        book, changes = self._ratings, []  # type: ignore[var-annotated]

        def also(connection: sql.Connection, saved: Saved) -> None:
            assert book is not None
            changes[:] = book.finish(connection, saved)

        saved = storing.saved(
            game,
            state.seat_names(game, cards),
            stamp=self.clock.stamp(),
            invite_hash=links.digest(self._links.code(game.id)) if game.opponents else None,
        )
        await asyncio.wrap_future(self._writer.save(saved, also if rate and book is not None else None))
        return change_dicts(changes) if changes else None

    async def _reload(self, opened: OpenGame) -> None:
        """Take over what the store has, after a save whose success is not known."""
        saved = await asyncio.to_thread(self.store.load, opened.live.id)
        if saved is not None and saved.version > opened.live.version:
            opened.live, opened.cards, opened.shown = await self._rules(lambda: self._restored(saved))
        opened.doubtful = False

    def _schedule(self, opened: OpenGame, at_least: float = 0.0) -> None:
        """Look at a game again when a clock ends or somebody has been away for too long."""
        if opened.timer is not None:
            opened.timer.cancel()
            opened.timer = None
        due = opened.due() if self.shared or opened.live.clocks is not None else None
        if due is not None:
            seconds = max(due - self.clock.monotonic(), at_least, 0.0) + 0.01
            loop = asyncio.get_running_loop()
            opened.timer = loop.call_later(seconds, lambda: self._spawn(self._check(opened)))

    def _broadcast(self, opened: OpenGame) -> None:
        """Send the state to all who follow, each its own."""
        for follower in opened.followers:
            follower.put(self._state(opened, follower.visitor))

    # Searches.

    def _search(self, opened: OpenGame) -> None:
        """Ask for the move that a game waits for, unless it is asked for already."""
        search = opened.live.wanted
        if opened.searching is not None and not opened.searching.done():
            if opened.wanted == search:
                return
            if opened.searching is not asyncio.current_task():
                opened.searching.cancel()
        opened.wanted = search
        if search is not None:
            opened.searching = self._spawn(self._answer(opened, search))

    async def _answer(self, opened: OpenGame, search: Search) -> None:
        session = opened.live.session
        priority = Priority.RATED if opened.live.rated else Priority.MOVE
        while True:
            try:
                name = self.player_name(session, search.agent)
                chosen = self.worker.choose(name, session, owner=opened.live.id, priority=priority)
                analysis = await asyncio.wrap_future(chosen)
                break
            except Busy:
                await asyncio.sleep(_RETRY_SECONDS)
            except Exception as error:  # shown on the screens, where another agent can be chosen
                _log.warning("%s did not move: %s", search.agent, error)
                self._report(opened, f"{search.agent} cannot play: {error}")
                return
        assert analysis.move is not None
        action = asking.action(session, analysis.move)
        while not await self._answered(opened, search, action):
            await asyncio.sleep(_RETRY_SECONDS)

    async def _answered(self, opened: OpenGame, search: Search, action: int) -> bool:
        """Whether an agent's move is made, or not wanted any more; not if it could not be saved."""

        def changed() -> tuple[LiveGame, dict[str, Any]]:
            after = live.answer(opened.live, search, action, now=self.clock.monotonic())
            return after, opened.shown if after is opened.live else state.common(after, opened.cards)

        async with opened.lock:
            if opened.doubtful:
                await self._reload(opened)
            after, shown = await self._rules(changed)
            if after is opened.live:
                return True
            try:
                await self._keep(opened, after, shown)
            except StoreError as error:
                self._report(opened, str(error))
                return False
            return True

    def _report(self, opened: OpenGame, problem: str) -> None:
        """Show on all screens why an agent does not move."""
        opened.problem = printable(problem)[:400]
        self._broadcast(opened)

    def _warm(self, game: LiveGame) -> None:
        """Compile the agents of a game while the person looks at the board, then those that give hints."""
        session = game.session
        for seat in game.seats:
            if seat.agent is not None:
                with suppress(NotFound):  # its run has gone; the search says so
                    self.worker.warm(self.player_name(session, seat.agent))
        entry = self.catalog.game(session.game.id)
        if game.people and game.is_casual and entry.is_exact:
            self.worker.warm(player_name(session.game.id, PERFECT))
        elif game.people and game.is_casual:
            self.worker.warm(self.player_name(session, entry.analyst), (LOOK,))

    # Games in memory.

    async def _visible(self, visitor: Visitor, id: str) -> OpenGame:
        """A game that the visitor may see; the others do not exist for the visitor."""
        opened, person = await self._open(id), _person(visitor)
        invited = any(seat.person == person for seat in opened.live.seats)
        if not invited and visitor.role != Role.OWNER and opened.live.visibility != LINK:
            raise NotFound(_NOT_FOUND)
        self._see(opened, person)
        return opened

    def _see(self, opened: OpenGame, person: str | None) -> None:
        if person:
            opened.presence.see(person, self.clock.monotonic())

    async def _open(self, id: str) -> OpenGame:
        if id not in self._games:
            if id not in self._loading:
                self._loading[id] = self._spawn(self._load(id))
                self._loading[id].add_done_callback(lambda _: self._loading.pop(id, None))
            await asyncio.shield(self._loading[id])
        self._games.move_to_end(id)
        return self._games[id]

    async def _load(self, id: str) -> OpenGame:
        saved = await asyncio.to_thread(self.store.load, id)
        if saved is None:
            raise NotFound(_NOT_FOUND)
        game, cards, shown = await self._rules(lambda: self._restored(saved))
        since = self.clock.monotonic() + GRACE_SECONDS
        opened = self._games[id] = OpenGame(game, cards, shown, since)
        if game.rated and game.over and self._ratings is not None:
            changes = await asyncio.to_thread(self._ratings.changes, id)
            opened.rating_change = change_dicts(changes) if changes else None
        self._forget()
        self._warm(game)
        self._schedule(opened)
        return opened

    def _restored(self, saved: Saved) -> tuple[LiveGame, Mapping[str, Card], dict[str, Any]]:
        game = storing.restored(saved, self.catalog.game(saved.game).game, now=self.clock.monotonic())
        cards = self._cards(game)
        return game, cards, state.common(game, cards)

    def _forget(self) -> None:
        """Drop games that nobody follows, the oldest first."""
        surplus = len(self._games) - KEPT
        if surplus > 0:
            for idle in [name for name, opened in self._games.items() if opened.is_idle][:surplus]:
                del self._games[idle]

    def _state(self, opened: OpenGame, visitor: Visitor) -> dict[str, Any]:
        game = opened.live
        slowest = 0.0
        if game.wanted is not None:
            with suppress(NotFound):
                slowest = self.worker.seconds(self.player_name(game.session, game.wanted.agent))
        limit = max(5000, round(3000 * slowest))
        shown = opened.state(now=self.clock.monotonic(), person=_person(visitor), limit_ms=limit)
        code = self._links.code(game.id) if game.status == "waiting" and shown["you"] else None
        return shown | {
            "waiting": self._waiting(game),
            "join": None if code is None else {"code": code, "path": links.path(code)},
        }

    def _waiting(self, game: LiveGame) -> str | None:
        """Why people wait."""
        if game.status == "waiting":
            asked = next((game.seats[seat].name for seat in game.open_seats if game.seats[seat].name), None)
            return f"Waiting for {asked or 'an opponent'}."
        place = self.worker.position(game.id) if game.status == "thinking" else None
        if place is None or not place.searches:
            return None
        return f"Waiting for {place.searches} {'search' if place.searches == 1 else 'searches'}."

    def _cards(self, game: LiveGame) -> dict[str, Card]:
        """What others read about the agents and people of a game."""
        rules = game.session.game
        cards = self.catalog.cards(rules, [seat.agent for seat in game.seats])
        for seat in game.seats:
            rating = None if self._ratings is None or seat.person is None else self._ratings.of(seat.person, rules.id)
            if rating is not None and seat.person is not None:
                cards[seat.person] = Card(seat.name or "", elo=round(rating[0]), error=round(rating[1]))
        return cards

    def player_name(self, session: Session, agent: str) -> str:
        """The worker's name for an agent of a game."""
        return player_name(session.game.id, self.catalog.agent(session.game, agent).spec)

    def _actor(self, visitor: Visitor) -> str | None:
        """The person who acts; None for the owner of this computer."""
        if visitor.role == Role.OWNER:
            return None
        if visitor.person is None:
            raise Unauthorized("Start or join a game first, or sign in.")
        return visitor.person

    async def _rules(self, call: Callable[[], _T]) -> _T:
        return await asyncio.get_running_loop().run_in_executor(self._rules_threads, call)

    def _spawn(self, work: Any) -> asyncio.Task[Any]:
        """A task that is kept until it is done."""
        task = asyncio.ensure_future(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    async def close(self) -> None:
        """Save what is being saved, and close everything that is open."""
        for opened in self._games.values():
            if opened.timer is not None:
                opened.timer.cancel()
            for follower in list(opened.followers):
                follower.close(1012)
        await asyncio.to_thread(self._writer.close)
        self._rules_threads.shutdown(wait=False, cancel_futures=True)


def _person(visitor: Visitor) -> str | None:
    """Whose seats a visitor plays: None for the owner of this computer, nobody's for a stranger."""
    return None if visitor.role == Role.OWNER else visitor.person or ""


def _new_id() -> str:
    return secrets.token_urlsafe(12)
