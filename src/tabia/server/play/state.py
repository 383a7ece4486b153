"""A live game as a screen shows it: what is the same for everyone, and what depends on who looks.

The part for everyone runs rules, so it is made once per version of a game.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tabia.games.boards import position, result, view
from tabia.server.play import seats
from tabia.server.play.live import ABANDONMENT, AGREEMENT, CANCELED, RESIGNATION, RULES, TIME, LiveGame
from tabia.server.play.seats import Card

_LOST = {TIME: "ran out of time", ABANDONMENT: "left the game"}
_DRAWN = {AGREEMENT: "Drawn by agreement", CANCELED: "Canceled"}


def seat_names(live: LiveGame, cards: Mapping[str, Card]) -> list[str]:
    """A name for every seat."""
    return seats.names(live.seats, cards, view(live.session.game).seat_names)


def outcome(live: LiveGame, names: list[str]) -> dict[str, Any] | None:
    """How a game ended: scores, the winner, a sentence, and the reason; None before the end."""
    by = live.ended_by
    if by in (None, RULES, RESIGNATION):
        return result(live.session, names)
    text = _DRAWN[by] if live.lost is None else f"{names[live.lost]} {_LOST[by]}"
    return {"scores": list(live.scores), "winner": live.winner, "text": text, "reason": by}


def common(live: LiveGame, cards: Mapping[str, Card]) -> dict[str, Any]:
    """The part of the state that is the same for everyone."""
    names, session = seat_names(live, cards), live.session
    shown = {**position(session, names), "result": outcome(live, names)}
    if live.over and not session.over:
        shown |= {"over": True, "legal": []}
    return {
        "id": live.id,
        "game": session.game.id,
        "created": live.created,
        "seats": seat_dicts(live, cards, names),
        "moves": [
            {"move": word, "action": action, "seat": int(session.positions[ply].mover)}
            for ply, (word, action) in enumerate(zip(session.moves, session.actions, strict=True))
        ],
        "position": shown,
        "version": live.version,
        "result": shown["result"],
        "opening_plies": live.opening_plies,
        "rated": live.rated,
        "visibility": live.visibility,
        "clock": None if live.clocks is None else live.clocks.control.to_dict(),
        "running": None if live.clocks is None else live.clocks.running,
        "ended_by": live.ended_by,
        "draw_offer": None if live.over else live.draw_offer,
    }


def seat_dicts(live: LiveGame, cards: Mapping[str, Card], names: list[str]) -> list[dict[str, Any]]:
    """The seats; the cards of people are found by their id."""
    colors, found = view(live.session.game).colors, []
    for place, (seat, name) in enumerate(zip(live.seats, names, strict=True)):
        card = cards.get(seat.agent or seat.person or "", Card(name))
        found.append(
            {
                "kind": seat.kind,
                "name": name,
                "agent": seat.agent,
                "elo": card.elo,
                "error": card.error,
                "color": colors[place % len(colors)],
                "about": card.about,
            }
        )
    return found


def personal(live: LiveGame, *, now: float, person: str | None = None, limit_ms: int = 5000) -> dict[str, Any]:
    """The part of the state that depends on the time and on who looks."""
    own, session = live.seats_of(person), live.session
    status = "their move" if live.status == "your move" and session.mover not in own else live.status
    acts, casual = person is None or bool(own), live.is_casual
    since = 0.0 if live.asked_at is None else now - live.asked_at
    thinking = {"seat": session.mover, "since_ms": round(1000 * since), "limit_ms": limit_ms}
    return {
        "you": list(own),
        "status": status,
        "thinking": thinking if status == "thinking" else None,
        "clocks": None if live.clocks is None else list(live.clocks.at(now)),
        "can": {
            "undo": acts and live.undone is not None,
            "hint": acts and casual and status == "your move",
            "resign": bool(own) and live.can_resign,
            "draw": bool(own) and live.can_draw,
            "rematch": acts and (live.over or not live.opponents),
        },
    }


def state(
    live: LiveGame, cards: Mapping[str, Card], *, now: float, person: str | None = None, limit_ms: int = 5000
) -> dict[str, Any]:
    """The game as a person's screen shows it."""
    return common(live, cards) | personal(live, now=now, person=person, limit_ms=limit_ms)
