"""The searches of live games: asked for once, answered into the game, and why people wait for one."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from contextlib import suppress

from tabia.core.text import printable
from tabia.games.errors import RulesError
from tabia.games.session import Session
from tabia.server import faults
from tabia.server.analysis import asking
from tabia.server.analysis.exact import PERFECT
from tabia.server.analysis.programs import Kind
from tabia.server.analysis.worker import Priority, Worker
from tabia.server.catalog.catalog import Catalog
from tabia.server.errors import Busy, NotFound, StoreError
from tabia.server.play.lines import player_name
from tabia.server.play.live import LiveGame, Search
from tabia.server.play.opened import OpenGame

RETRY_SECONDS = 1.0
_log = logging.getLogger("tabia.server")
Answered = Callable[[OpenGame, Search, int], Awaitable[None]]


class Searches:
    """Moves of agents; `answered` plays one, `changed` shows a problem to all who follow."""

    def __init__(
        self,
        catalog: Catalog,
        worker: Worker,
        answered: Answered,
        changed: Callable[[OpenGame], None],
        *,
        shared: bool = False,
    ) -> None:
        self._catalog, self._worker, self._shared = catalog, worker, shared
        self._answered, self._changed = answered, changed

    def ask(self, opened: OpenGame) -> None:
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

    def warm(self, game: LiveGame) -> None:
        """Compile the agents of a game while the person looks at the board, then those that give hints."""
        session = game.session
        for seat in game.seats:
            if seat.agent is not None:
                with suppress(NotFound):  # its run has gone; the search says so
                    self._worker.warm(self._player(session, seat.agent))
        entry = self._catalog.game(session.game.id)
        if game.people and game.is_casual and entry.is_exact:
            self._worker.warm(player_name(session.game.id, PERFECT))
        elif game.people and game.is_casual:
            self._worker.warm(self._player(session, entry.analyst), (Kind.ANALYSIS,))

    def limit_ms(self, game: LiveGame) -> int:
        """After how long people may think that something is wrong."""
        slowest = 0.0
        if game.wanted is not None:
            with suppress(NotFound):
                slowest = self._worker.seconds(self._player(game.session, game.wanted.agent))
        return max(5000, round(3000 * slowest))

    def waiting(self, game: LiveGame) -> str | None:
        """Why people wait: for somebody to join, or for the searches of others."""
        if game.status == "waiting":
            asked = next((game.seats[seat].name for seat in game.open_seats if game.seats[seat].name), None)
            return f"Waiting for {asked or 'an opponent'}."
        place = self._worker.position(game.id) if game.status == "thinking" else None
        if place is None or not place.searches:
            return None
        return f"Waiting for {place.searches} {'search' if place.searches == 1 else 'searches'}."

    def hurry(self, game: LiveGame) -> None:
        """Serve the search of a game before all others."""
        self._worker.hurry(game.id)

    async def _answer(self, opened: OpenGame, search: Search) -> None:
        session = opened.live.session
        priority = Priority.RATED if opened.live.rated else Priority.MOVE
        while True:
            try:
                name = self._player(session, search.agent)
                chosen = self._worker.choose(name, session, owner=opened.live.id, priority=priority)
                analysis = await asyncio.wrap_future(chosen)
                break
            except Busy:
                await asyncio.sleep(RETRY_SECONDS)
            except RulesError as error:
                self._report(opened, faults.report(error, shared=self._shared))
                return
            except Exception as error:  # shown on the screens, where another agent can be chosen
                _log.warning("%s did not move: %s", search.agent, error)
                self._report(opened, f"{search.agent} cannot play: {error}")
                return
        assert analysis.move is not None
        await self._play(opened, search, await asyncio.to_thread(asking.action, session, analysis.move))

    async def _play(self, opened: OpenGame, search: Search, action: int) -> None:
        """Play a found move, again and again while the database does not answer."""
        while True:
            try:
                await self._answered(opened, search, action)
                return
            except RulesError as error:
                self._report(opened, faults.report(error, shared=self._shared))
                return
            except StoreError as error:
                self._report(opened, str(error))
                await asyncio.sleep(RETRY_SECONDS)

    def _report(self, opened: OpenGame, problem: str) -> None:
        """Show on all screens why an agent does not move."""
        opened.problem = printable(problem)[:400]
        self._changed(opened)

    def _player(self, session: Session, agent: str) -> str:
        """The worker's name for an agent of a game."""
        return player_name(session.game.id, self._catalog.agent(session.game, agent).spec)
