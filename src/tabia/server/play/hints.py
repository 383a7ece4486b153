"""A hint: a good move for the person to move, and a sentence about it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from tabia.games.boards import view
from tabia.games.boards.board import Drawing
from tabia.games.session import Session
from tabia.players import Analysis
from tabia.server.analysis import asking, exact
from tabia.server.analysis.worker import Priority
from tabia.server.catalog.agents import simulations_of
from tabia.server.catalog.catalog import Catalog
from tabia.server.errors import Refused, Stale
from tabia.server.play.lines import player_name
from tabia.server.play.live import LiveGame

if TYPE_CHECKING:
    from tabia.server.web.context import Context


async def hint(parts: Context, live: LiveGame, ply: int, person: str | None = None) -> dict[str, Any]:
    """The best move known: a solver's where it answers at once, otherwise that of the strongest agent."""
    session = live.session
    if ply != session.ply:
        raise Stale(f"The game is at move {session.ply}, not {ply}; look at the board again.")
    if not live.is_casual:
        raise Refused("There are no hints in rated games, on the clock, or against another person.")
    if live.status != "your move" or session.mover not in live.seats_of(person):
        raise Refused("Hints are for a person's turn.")
    entry = parts.catalog.game(session.game.id)
    if entry.is_exact:
        name = player_name(session.game.id, exact.PERFECT)
        found = await asyncio.wrap_future(parts.worker.evaluate(name, session, priority=Priority.HINT))
        assert found.move is not None
        text = exact.sentence(found, session, found.move)
    else:
        name = player_name(session.game.id, parts.catalog.agent(session.game, entry.analyst).spec)
        found = await asyncio.wrap_future(parts.worker.analyze(name, session, priority=Priority.HINT))
        text = f"The agent expects {percent(found, session.mover)} after {found.move}."
    return await asyncio.to_thread(_described, session, found, text)


def cost(catalog: Catalog, live: LiveGame) -> int:
    """The simulations of a hint."""
    entry = catalog.game(live.session.game.id)
    return 1 if entry.is_exact else simulations_of(catalog.agent(live.session.game, entry.analyst).spec)


def percent(found: Analysis, seat: int) -> str:
    """A seat's expected score for people, from 0% to 100%."""
    return "about half" if found.expected is None else f"{round(50 * (found.expected[seat] + 1))}%"


def _described(session: Session, found: Analysis, text: str) -> dict[str, Any]:
    assert found.move is not None
    action, board = asking.action(session, found.move), view(session.game)
    path = [] if isinstance(board, Drawing) else board.paths(session)[action]
    return {"move": found.move, "action": action, "path": path, "text": text, "line": found.line or [found.move]}
