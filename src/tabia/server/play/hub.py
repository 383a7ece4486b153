"""What visitors do with games: start, join, move, end and follow them. A visitor reaches only games that he may see."""

from __future__ import annotations

import asyncio
import secrets
from typing import Any
from weakref import WeakValueDictionary

from tabia.server.accounts.visitor import Role, Visitor
from tabia.server.analysis.worker import Worker
from tabia.server.catalog.catalog import Catalog
from tabia.server.clock import Clock
from tabia.server.database.store import Store
from tabia.server.errors import Busy, NotFound, Refused, Stale, Unauthorized
from tabia.server.play import links, live, starting, storing
from tabia.server.play.clocks import TimeControl
from tabia.server.play.games import Event, Games, person_of
from tabia.server.play.lines import line
from tabia.server.play.live import CANCELED, LINK, PRIVATE, LiveGame
from tabia.server.play.memory import NOT_FOUND
from tabia.server.play.opened import OpenGame
from tabia.server.play.rating import RatingBook
from tabia.server.play.seats import Seat
from tabia.server.play.watching import STATES, Follower

MOST_FOLLOWERS = 64  # of one game; those seated always get in


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
        self.catalog, self.store, self.shared = catalog, store, shared
        self.clock = clock or Clock()
        self.games = Games(catalog, worker, store, self.clock, shared, ratings)
        self.rated_locks: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()  # kept while they are in use

    # Starting.

    def rated_lock(self, visitor: Visitor) -> asyncio.Lock:
        """A person's lock, from the choice of a rated game until it is stored: requests at once start one game."""
        return self.rated_locks.setdefault(visitor.person or "", asyncio.Lock())

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
        self._actor(visitor)
        taken = tuple([await asyncio.to_thread(starting.seat_of, self.store.database, seat, visitor) for seat in seats])
        starting.check(self.catalog, game_id, taken, shared=self.shared, rated=rated, opening=moves)
        seed = secrets.randbelow(2**31)
        session = await self.games.memory.rules(lambda: line(self.catalog, game_id, moves, seed=seed))
        if session.over:
            raise Refused("The game is over after these moves; choose a shorter opening.")
        new = live.start(
            session,
            taken,
            id=_new_id(),
            created=self.clock.stamp(),
            now=self.clock.monotonic(),
            rated=rated,
            visibility=visibility or (LINK if rated else PRIVATE),
            clock=clock,
        )
        return self.games.state(await self.games.begin(new), visitor)

    async def invited(self, code: str) -> LiveGame:
        """The game that a secret link leads to."""
        return (await self._invited(code)).live

    async def join(self, visitor: Visitor, code: str) -> dict[str, Any]:
        """A person takes the open seat that a link leads to."""
        self._actor(visitor)
        try:
            return await self._join(visitor, await self._invited(code))
        except Refused as error:
            raise NotFound(str(error)) from None

    async def rematch(self, visitor: Visitor, id: str, *, swap: bool) -> dict[str, Any]:
        """A new game of the same seats; against a person an offer, which the other accepts in the same way."""
        person, opened = self._actor(visitor), await self._visible(visitor, id)
        async with opened.lock:
            offered = None if opened.rematch is None else await self.games.memory.open(opened.rematch)
            if offered is not None and offered.live.ended_by != CANCELED:
                return await self._join(visitor, offered)
            starting.check_agents(self.catalog, opened.live.session.game.id, opened.live.seats)
            fields = {"id": _new_id(), "created": self.clock.stamp(), "seed": secrets.randbelow(2**31)}
            now, played = self.clock.monotonic(), opened.live
            new = await self.games.memory.rules(
                lambda: live.rematch(played, swap=swap, now=now, person=person, **fields)  # type: ignore[arg-type]
            )
            offer = await self.games.begin(new)
            if new.open_seats:
                opened.rematch = new.id
                self.games.broadcast(opened)
        return self.games.state(offer, visitor)

    async def _invited(self, code: str) -> OpenGame:
        found = await asyncio.to_thread(self.store.invited, links.digest(code))
        if found is None:
            raise NotFound("This link leads nowhere; the game is over, or the link was copied incompletely.")
        return await self.games.memory.open(found.id)

    async def _join(self, visitor: Visitor, opened: OpenGame) -> dict[str, Any]:
        person, now = self._actor(visitor), self.clock.monotonic
        if person is None:
            raise Refused("Games by link need a server that was started with `tabia serve`.")
        return await self.games.apply(
            visitor, opened, lambda game: live.join(game, person=person, name=visitor.name, now=now())
        )

    # Playing.

    async def state(self, visitor: Visitor, id: str) -> dict[str, Any]:
        """A game as it is now; a search that a restart interrupted is asked for again."""
        opened = await self._visible(visitor, id)
        async with opened.lock:
            self.games.searches.ask(opened)
            return self.games.state(opened, visitor)

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
        shown = await self.games.apply(
            visitor, opened, lambda game: live.change_agent(game, seat, agent, now=now(), person=person)
        )
        self.games.searches.warm(opened.live)
        return shown

    async def hurry(self, visitor: Visitor, id: str, ply: int) -> dict[str, Any]:
        """Serve the search of a game before all others; on a shared server everybody waits in turn."""
        opened = await self._visible(visitor, id)
        if self.shared:
            raise Refused("Searches are served in turn here.")
        if ply != opened.live.session.ply:
            raise Stale("The move has been made already.", self.games.state(opened, visitor))
        self.games.searches.hurry(opened.live)
        return self.games.state(opened, visitor)

    async def live(self, visitor: Visitor, id: str) -> LiveGame:
        """A game by its id."""
        return (await self._visible(visitor, id)).live

    async def listed(
        self, visitor: Visitor, *, finished: bool | None, game: str | None, limit: int
    ) -> list[dict[str, Any]]:
        """Summaries of the newest games: a person's own, or all of this computer."""
        if self.shared and visitor.person is None:
            return []
        person = visitor.person
        found = await asyncio.to_thread(self.store.listed, finished=finished, game=game, person=person, limit=limit)
        return [storing.summary(saved, person) for saved in found]

    # Following.

    async def watch(self, visitor: Visitor, id: str) -> Follower:
        """A follower that gets the state now and after every change."""
        opened, person = await self._visible(visitor, id), person_of(visitor)
        seated = bool(opened.live.seats_of(person))
        if len(opened.followers) >= MOST_FOLLOWERS and not seated:
            raise Busy(f"{MOST_FOLLOWERS} screens show this game already; close one of them.")
        follower = self.games.connections.open(visitor, STATES)
        async with opened.lock:
            opened.followers.add(follower)
            arrived = opened.presence.arrive(person) if person else False
            self.games.searches.ask(opened)
            follower.put(self.games.state(opened, visitor))
            if arrived and seated:
                self.games.schedule(opened)
                self.games.broadcast(opened, but=follower)
        return follower

    def unwatch(self, id: str, follower: Follower) -> None:
        """Forget a follower."""
        self.games.connections.forget(follower)
        opened, person = self.games.memory.games.get(id), person_of(follower.visitor)
        if opened is None or follower not in opened.followers:
            return
        opened.followers.discard(follower)
        left = opened.presence.leave(person, self.clock.monotonic()) if person else False
        if left and opened.live.seats_of(person):
            self.games.schedule(opened)
            self.games.broadcast(opened)

    async def follow(self, visitor: Visitor) -> Follower:
        """The events of a person's games: those under way now, and everything that happens to them later."""
        person, follower = self._actor(visitor), self.games.events.open(visitor)
        try:
            found = await asyncio.to_thread(self.store.listed, finished=False, person=person, limit=100)
        except BaseException:
            self.unfollow(follower)
            raise
        self.games.events.begin(follower, found, self.games.memory.links.code)
        return follower

    def unfollow(self, follower: Follower) -> None:
        """Forget somebody who followed events."""
        self.games.events.close(follower)

    def disconnect(self, *, session: str | None = None, person: str | None = None) -> None:
        """Close the screens and streams of a session that has ended, or of a person who may not be here any more."""
        self.games.connections.disconnect(session=session, person=person)

    async def close(self) -> None:
        """Finish what is being saved."""
        await self.games.close()

    # Who.

    async def _change(self, visitor: Visitor, id: str, event: Event) -> dict[str, Any]:
        return await self.games.apply(visitor, await self._visible(visitor, id), event)

    async def _visible(self, visitor: Visitor, id: str) -> OpenGame:
        """A game that the visitor may see; the others do not exist for the visitor."""
        opened, person = await self.games.memory.open(id), person_of(visitor)
        invited = any(seat.person == person for seat in opened.live.seats)
        if not invited and visitor.role != Role.OWNER and opened.live.visibility != LINK:
            raise NotFound(NOT_FOUND)
        if person:
            opened.presence.see(person, self.clock.monotonic())
        return opened

    def _actor(self, visitor: Visitor) -> str | None:
        """The person who acts; None for the owner of this computer."""
        if visitor.role == Role.OWNER:
            return None
        if visitor.person is None:
            raise Unauthorized("Start or join a game first, or sign in.")
        return visitor.person


def _new_id() -> str:
    return secrets.token_urlsafe(12)
