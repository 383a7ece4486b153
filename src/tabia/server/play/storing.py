"""Live games as they are stored, and back."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tabia.games import Game
from tabia.games.session import Session
from tabia.server.database.store import Saved
from tabia.server.errors import Refused
from tabia.server.play import state
from tabia.server.play.clocks import GRACE_SECONDS, Clocks, TimeControl
from tabia.server.play.live import LiveGame
from tabia.server.play.seats import OPEN, Seat


def saved(live: LiveGame, names: list[str], *, stamp: str, invite_hash: str | None = None) -> Saved:
    """A game for the store; `stamp` is the time of the change that is stored."""
    session, clocks = live.session, live.clocks
    return Saved(
        id=live.id,
        game=session.game.id,
        rules=session.game.version,
        seed=session.seed,
        seats=[_seat_dict(seat) for seat in live.seats],
        opening=live.opening_plies,
        created=live.created,
        version=live.version,
        resigned=live.lost,
        actions=session.actions,
        result={**(state.outcome(live, names) or {}), "names": names} if live.over else None,
        visibility=live.visibility,
        rated=live.rated,
        clock=None if clocks is None else clocks.control.to_dict(),
        clocks=None if clocks is None else list(clocks.remaining),
        turn_started=None if clocks is None or clocks.running is None else stamp,
        ended_by=live.ended_by,
        finished_at=stamp if live.over else None,
        invite_hash=None if live.over else invite_hash,
    )


def restored(found: Saved, game: Game, *, now: float) -> LiveGame:
    """A stored game; a running clock is as it was at the last move, and runs again after a grace period."""
    if game.version != found.rules:
        raise Refused(f"This game was played by version {found.rules} of its rules, which are now {game.version}.")
    session = Session.replay(game, found.actions, seed=found.seed)
    if found.resigned is not None and game.num_players == 2:
        session = session.resign(found.resigned)
    live = LiveGame(
        id=found.id,
        created=found.created,
        session=session,
        seats=tuple(Seat(**seat) for seat in found.seats),
        version=found.version,
        opening_plies=found.opening,
        asked_at=now,
        rated=found.rated,
        visibility=found.visibility,
        stopped_by=None if found.ended_by == "rules" else found.ended_by,
        lost=found.resigned,
    )
    return _with_clocks(live, found, now)


def _with_clocks(live: LiveGame, found: Saved, now: float) -> LiveGame:
    """The game with its stored clocks."""
    if found.clock is None or found.clocks is None:
        return live
    clocks = Clocks(TimeControl(**found.clock), tuple(found.clocks))
    if live.status in ("your move", "thinking"):
        clocks = clocks.start(live.session.mover, now + GRACE_SECONDS)
    return replace(live, clocks=clocks)


def summary(found: Saved, person: str | None) -> dict[str, Any]:
    """A stored game as a line of a list."""
    stored = (found.result or {}).get("names")
    names = stored or [seat.get("name") or seat["agent"] or _unnamed(seat) for seat in found.seats]
    return {
        "id": found.id,
        "game": found.game,
        "created": found.created,
        "seats": [
            {"kind": seat["kind"], "agent": seat["agent"], "name": name}
            for seat, name in zip(found.seats, names, strict=True)
        ],
        "plies": len(found.actions),
        "result": None if found.result is None else {k: v for k, v in found.result.items() if k != "names"},
        "rated": found.rated,
        "ended_by": found.ended_by,
        "you": [
            place for place, seat in enumerate(found.seats) if seat["kind"] == "human" and seat.get("person") == person
        ],
    }


def _unnamed(seat: dict[str, Any]) -> str:
    return "Open seat" if seat["kind"] == OPEN else "You"


def _seat_dict(seat: Seat) -> dict[str, Any]:
    return {"kind": seat.kind, "agent": seat.agent, "person": seat.person, "name": seat.name}
