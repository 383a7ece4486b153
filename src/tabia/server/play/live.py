"""One game with people and agents at its seats: an event goes in, the new game and the wanted searches come out.

Nothing here reads a clock, a file or a socket. Every change raises `version`. A search belongs to the version it was
asked for, so an answer to an older version is dropped.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from tabia.games.boards import position, view
from tabia.games.errors import GameError
from tabia.games.session import Session
from tabia.server.errors import Refused, Stale

HUMAN, AGENT = "human", "agent"


@dataclass(frozen=True)
class Seat:
    """A person, or an agent by its id in the catalog."""

    kind: str
    agent: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """For the store."""
        return {"kind": self.kind, "agent": self.agent}


@dataclass(frozen=True)
class Card:
    """What people read about an agent."""

    name: str
    about: str = ""
    elo: float | None = None
    error: float | None = None


@dataclass(frozen=True)
class Search:
    """A reply: find a move for this seat's agent in this version of the game."""

    seat: int
    agent: str
    version: int


@dataclass(frozen=True, eq=False)
class LiveGame:
    """A game in progress or finished."""

    id: str
    created: str  # ISO 8601
    session: Session
    seats: tuple[Seat, ...]
    version: int = 0
    opening_plies: int = 0
    asked_at: float | None = None  # when the search under way was asked for, by the caller's clock

    @property
    def people(self) -> tuple[int, ...]:
        """The seats of people."""
        return tuple(seat for seat, taken in enumerate(self.seats) if taken.kind == HUMAN)

    @property
    def status(self) -> str:
        """One of `your move`, `thinking` and `over`."""
        if self.session.over:
            return "over"
        return "your move" if self.session.mover in self.people else "thinking"

    @property
    def wanted(self) -> Search | None:
        """The search that the position waits for."""
        seat = self.session.mover
        agent = self.seats[seat].agent
        return None if self.status != "thinking" or agent is None else Search(seat, agent, self.version)

    @property
    def undone(self) -> Session | None:
        """The game back at the last choice of a person; None if no person has chosen since the opening."""
        earlier = self.session.at(self.session.ply) if self.session.resigned is not None else None
        if earlier is not None and earlier.mover in self.people:
            return earlier  # a resignation is taken back first
        back = self.session.undo_to_turn(self.people)
        return back if back is not None and back.ply >= self.opening_plies else None


# Events. Each returns the changed game; `wanted` then says whether a search is needed.


def move(live: LiveGame, ply: int, action: int, *, now: float) -> LiveGame:
    """A person's move at a ply."""
    _check_ply(live, ply)
    if live.status != "your move":
        raise Refused("The game is over." if live.session.over else "Wait for the other seat's move.")
    try:
        return _changed(live, live.session.play(action), now)
    except GameError as error:
        raise Refused(str(error)) from None


def answer(live: LiveGame, search: Search, action: int, *, now: float) -> LiveGame:
    """The move an agent found; the game as it is where it has changed meanwhile."""
    if live.wanted != search:
        return live
    return _changed(live, live.session.play(action), now)


def undo(live: LiveGame, ply: int, *, now: float) -> LiveGame:
    """Back to the last position in which a person chose."""
    _check_ply(live, ply)
    back = live.undone
    if back is None:
        raise Refused("There is no move of yours to take back.")
    return _changed(live, back, now)


def resign(live: LiveGame, ply: int, seat: int, *, now: float) -> LiveGame:
    """A person gives up."""
    _check_ply(live, ply)
    if seat not in live.people:
        raise Refused(f"Seat {seat + 1} is not a person's, so nobody here can resign for it.")
    try:
        return _changed(live, live.session.resign(seat), now)
    except GameError as error:
        raise Refused(str(error)) from None


def change_agent(live: LiveGame, seat: int, agent: str, *, now: float) -> LiveGame:
    """Another agent takes an agent's seat, in mid game."""
    if not 0 <= seat < len(live.seats) or live.seats[seat].kind != AGENT:
        raise Refused(f"Seat {seat + 1} is not an agent's; choose an agent's seat.")
    seats = tuple(Seat(AGENT, agent) if index == seat else taken for index, taken in enumerate(live.seats))
    return replace(_changed(live, live.session, now), seats=seats)


def rematch(live: LiveGame, *, swap: bool, id: str, created: str, seed: int, now: float) -> LiveGame:
    """A new game of the same seats from the same opening; with `swap` everyone moves on by one seat."""
    seats = (live.seats[-1], *live.seats[:-1]) if swap else live.seats
    opening = live.session.at(live.opening_plies)
    session = Session.replay(opening.game, opening.actions, seed=seed)
    return start(session, seats, id=id, created=created, now=now)


def start(session: Session, seats: tuple[Seat, ...], *, id: str, created: str, now: float) -> LiveGame:
    """A new game; the moves of its session are the opening."""
    live = LiveGame(id=id, created=created, session=session, seats=seats, opening_plies=session.ply)
    return _changed(live, session, now)


def _changed(live: LiveGame, session: Session, now: float) -> LiveGame:
    after = replace(live, session=session, version=live.version + 1)
    return replace(after, asked_at=now if after.status == "thinking" else None)


def _check_ply(live: LiveGame, ply: int) -> None:
    if ply != live.session.ply:
        raise Stale(f"The game is at move {live.session.ply}, not {ply}; look at the board again.")


# What a screen shows.


def seat_names(live: LiveGame, cards: Mapping[str, Card]) -> list[str]:
    """`You` for the only person, the seat's own name for one of several, the level for an agent."""
    own = view(live.session.game).seat_names
    people = live.people

    def name(seat: int) -> str:
        agent = live.seats[seat].agent
        if agent is not None:
            return cards[agent].name if agent in cards else agent
        return "You" if len(people) == 1 else own[seat]

    names = [name(seat) for seat in range(len(live.seats))]
    return [f"{n} ({own[seat]})" if names.count(n) > 1 else n for seat, n in enumerate(names)]


def state(live: LiveGame, cards: Mapping[str, Card], *, now: float, limit_ms: int = 5000) -> dict[str, Any]:
    """The game as a screen shows it."""
    names, session = seat_names(live, cards), live.session
    shown = position(session, names)
    thinking = live.status == "thinking"
    since = 0.0 if live.asked_at is None else now - live.asked_at
    return {
        "id": live.id,
        "game": session.game.id,
        "created": live.created,
        "seats": seat_dicts(live, cards),
        "moves": [
            {"move": word, "action": action, "seat": int(session.positions[ply].mover)}
            for ply, (word, action) in enumerate(zip(session.moves, session.actions, strict=True))
        ],
        "position": shown,
        "status": live.status,
        "version": live.version,
        "thinking": {"seat": session.mover, "since_ms": round(1000 * since), "limit_ms": limit_ms}
        if thinking
        else None,
        "can": {
            "undo": live.undone is not None,
            "hint": live.status == "your move",
            "resign": not session.over and session.game.num_players == 2 and bool(live.people),
        },
        "result": shown["result"],
        "opening_plies": live.opening_plies,
    }


def seat_dicts(live: LiveGame, cards: Mapping[str, Card]) -> list[dict[str, Any]]:
    """The seats as a screen shows them."""
    names, colors = seat_names(live, cards), view(live.session.game).colors
    found = []
    for index, (seat, name) in enumerate(zip(live.seats, names, strict=True)):
        card = cards.get(seat.agent) if seat.agent is not None else None
        found.append(
            {
                "kind": seat.kind,
                "name": name,
                "agent": seat.agent,
                "elo": None if card is None else card.elo,
                "error": None if card is None else card.error,
                "color": colors[index % len(colors)],
                "about": "" if card is None else card.about,
            }
        )
    return found
