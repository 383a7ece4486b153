"""One game with people and agents at its seats: an event goes in, the new game and the wanted searches come out.

Nothing here reads a clock, a file or a socket; the time comes in as `now`, in seconds. Every change raises `version`.
A search belongs to the version it was asked for, so an answer to an older version is dropped. Events name the person
who acts; None is the owner of this computer.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tabia.games.errors import GameError, RulesError
from tabia.games.session import Session
from tabia.server.errors import Forbidden, Refused, Stale
from tabia.server.play.clocks import Clocks, TimeControl
from tabia.server.play.seats import AGENT, HUMAN, OPEN, Seat

PRIVATE, LINK = "private", "link"
"""Who may watch: those seated, or everybody who knows the address."""
RULES, RESIGNATION, TIME, ABANDONMENT, AGREEMENT = "rules", "resignation", "time", "abandonment", "agreement"
CANCELED = "canceled"
"""Why games end; one is canceled before everybody is there."""


@dataclass(frozen=True)
class Search:
    """A reply: find a move for this seat's agent in this version of the game."""

    seat: int
    agent: str
    version: int


@dataclass(frozen=True, eq=False)
class LiveGame:
    """A game that waits for people, is in progress, or finished."""

    id: str
    created: str  # ISO 8601
    session: Session
    seats: tuple[Seat, ...]
    version: int = 0
    opening_plies: int = 0
    asked_at: float | None = None  # when the search under way was asked for, by the caller's clock
    rated: bool = False
    visibility: str = PRIVATE
    clocks: Clocks | None = None
    stopped_by: str | None = None  # why it ended before its rules did
    lost: int | None = None  # the seat that lost thereby
    draw_offer: int | None = None  # the seat that offers a draw

    @property
    def people(self) -> tuple[int, ...]:
        """The seats of people."""
        return self._of_kind(HUMAN)

    @property
    def open_seats(self) -> tuple[int, ...]:
        """The seats that wait for somebody."""
        return self._of_kind(OPEN)

    def _of_kind(self, kind: str) -> tuple[int, ...]:
        return tuple(seat for seat, taken in enumerate(self.seats) if taken.kind == kind)

    def seats_of(self, person: str | None) -> tuple[int, ...]:
        """The seats that a person plays."""
        return tuple(seat for seat in self.people if self.seats[seat].person == person)

    @property
    def opponents(self) -> bool:
        """Whether people play against each other."""
        return bool(self.open_seats) or len({self.seats[seat].person for seat in self.people}) > 1

    @property
    def is_casual(self) -> bool:
        """Whether moves may be taken back and hints asked for."""
        return not self.rated and not self.opponents and self.clocks is None

    @property
    def over(self) -> bool:
        """Whether the game has ended, for whatever reason."""
        return self.stopped_by is not None or self.session.over

    @property
    def ended_by(self) -> str | None:
        """Why the game has ended."""
        return self.stopped_by or (RULES if self.session.over else None)

    @property
    def scores(self) -> tuple[float, ...]:
        """The score of each seat; whoever resigned, ran out of time or left has the lowest, the others the highest."""
        low, high = self.session.game.score_range
        if self.stopped_by in (AGREEMENT, CANCELED):
            return ((low + high) / 2,) * len(self.seats)
        if self.lost is not None:
            return tuple(float(low if seat == self.lost else high) for seat in range(len(self.seats)))
        return tuple(float(score) for score in self.session.scores)

    @property
    def winner(self) -> int | None:
        """The seat with the best score; None before the end and after a shared first place."""
        best = np.flatnonzero(np.array(self.scores) == max(self.scores))
        return int(best[0]) if self.over and len(best) == 1 else None

    @property
    def status(self) -> str:
        """One of `waiting` (for somebody to take a seat), `your move` (a person's), `thinking` and `over`."""
        if self.over:
            return "over"
        if self.open_seats:
            return "waiting"
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
        if not self.is_casual:
            return None
        earlier = self.session.at(self.session.ply) if self.session.resigned is not None else None
        if earlier is not None and earlier.mover in self.people:
            return earlier  # a resignation is taken back first
        back = self.session.undo_to_turn(self.people)
        return back if back is not None and back.ply >= self.opening_plies else None

    @property
    def can_resign(self) -> bool:
        """Whether a person may give up: in games for two; others are canceled while a seat is open."""
        return self.status == "waiting" or (not self.over and len(self.seats) == 2 and bool(self.people))

    @property
    def can_draw(self) -> bool:
        """Whether two people may agree on a draw."""
        return self.status == "your move" and len(self.seats) == 2 and self.opponents


# Events. Each returns the changed game, or the same one where nothing changes; `wanted` then says whether a search is
# needed.


def start(
    session: Session,
    seats: tuple[Seat, ...],
    *,
    id: str,
    created: str,
    now: float,
    rated: bool = False,
    visibility: str = PRIVATE,
    clock: TimeControl | None = None,
) -> LiveGame:
    """A new game; the moves of its session are the opening."""
    live = LiveGame(
        id=id,
        created=created,
        session=session,
        seats=seats,
        opening_plies=session.ply,
        rated=rated,
        visibility=visibility,
        clocks=None if clock is None else Clocks.new(clock, tuple(seat.kind != AGENT for seat in seats)),
    )
    return _changed(live, session, now)


def move(live: LiveGame, ply: int, action: int, *, now: float, person: str | None = None) -> LiveGame:
    """A person's move at a ply; a repeat of the person's last move changes nothing."""
    own = _own(live, person)
    if _is_repeat(live, ply, action, own):
        return live
    _check_ply(live, ply)
    _check_running(live)
    if live.session.mover not in own:
        raise Refused("Wait for the other seat's move.")
    try:
        after = live.session.play(action)
    except RulesError:
        raise
    except GameError as error:
        raise Refused(str(error)) from None
    offer = live.draw_offer if live.draw_offer == live.session.mover else None
    return _changed(replace(live, draw_offer=offer), after, now)


def answer(live: LiveGame, search: Search, action: int, *, now: float) -> LiveGame:
    """The move an agent found; the game as it is where it has changed meanwhile."""
    if live.wanted != search:
        return live
    return _changed(live, live.session.play(action), now)


def undo(live: LiveGame, ply: int, *, now: float, person: str | None = None) -> LiveGame:
    """Back to the last position in which a person chose."""
    _own(live, person)
    _check_ply(live, ply)
    if not live.is_casual:
        raise Refused("Moves cannot be taken back in rated games, on the clock, or against another person.")
    back = live.undone
    if back is None:
        raise Refused("There is no move of yours to take back.")
    return _changed(replace(live, stopped_by=None, lost=None), back, now)


def resign(live: LiveGame, ply: int, seat: int | None, *, now: float, person: str | None = None) -> LiveGame:
    """A person gives up; without a seat, the person's own. While a seat is open, the game is canceled instead."""
    own = _own(live, person)
    _check_ply(live, ply)
    chosen = next(iter(own), 0) if seat is None else seat
    if chosen not in live.people:
        raise Refused(f"Seat {chosen + 1} is not a person's, so nobody here can resign for it.")
    if chosen not in own:
        raise Refused(f"Seat {chosen + 1} is not yours, so you cannot resign for it.")
    if live.status == "waiting":
        return _stopped(replace(live, rated=False), CANCELED, None, now)
    _check_running(live)
    if not live.can_resign:
        raise Refused(f"{live.session.game.id} is not a game for two, so nobody can resign.")
    return _stopped(live, RESIGNATION, chosen, now)


def draw(live: LiveGame, ply: int, *, now: float, person: str | None = None) -> LiveGame:
    """A person offers a draw, or accepts the opponent's offer."""
    own = _own(live, person)
    _check_ply(live, ply)
    _check_running(live)
    if not live.can_draw:
        raise Refused("Only two people who play against each other can agree on a draw.")
    if live.draw_offer in own:
        return live
    if live.draw_offer is not None:
        return _stopped(live, AGREEMENT, None, now)
    return replace(live, draw_offer=own[0], version=live.version + 1)


def join(live: LiveGame, *, person: str, name: str, now: float) -> LiveGame:
    """A person takes an open seat; one who is seated already changes nothing."""
    if live.seats_of(person):
        return live
    free = [seat for seat in live.open_seats if live.seats[seat].person in (None, person)]
    if not free or live.over:
        raise Refused("Nobody else can join this game; start one of your own.")
    chosen = min(free, key=lambda seat: live.seats[seat].person is None)  # the seat that is kept for this person
    return _changed(_seated(live, chosen, Seat(HUMAN, person=person, name=name)), live.session, now)


def check_time(live: LiveGame, *, now: float) -> LiveGame:
    """The game lost on time, where the running clock has reached zero."""
    seat = None if live.over or live.clocks is None else live.clocks.flagged(now)
    return live if seat is None else _stopped(live, TIME, seat, now)


def abandon(live: LiveGame, seat: int, *, now: float) -> LiveGame:
    """A person has left a game that others play seriously."""
    counts = not live.over and not live.open_seats and (live.rated or live.opponents)
    return _stopped(live, ABANDONMENT, seat, now) if counts and seat in live.people else live


def change_agent(live: LiveGame, seat: int, agent: str, *, now: float, person: str | None = None) -> LiveGame:
    """Another agent takes an agent's seat, in mid game."""
    _own(live, person)
    if not 0 <= seat < len(live.seats) or live.seats[seat].kind != AGENT:
        raise Refused(f"Seat {seat + 1} is not an agent's; choose an agent's seat.")
    if not live.is_casual:
        raise Refused("The agent stays until the end in rated games, on the clock, or with another person.")
    return _changed(_seated(live, seat, Seat(AGENT, agent)), live.session, now)


def rematch(
    live: LiveGame, *, swap: bool, id: str, created: str, seed: int, now: float, person: str | None = None
) -> LiveGame:
    """A new game of the same seats from the same opening; with `swap` everyone moves on by one seat.

    The seats of other people are open, and kept for them. A rated game against an agent is not rated again, because
    its opponent is chosen by rating.
    """
    _own(live, person)
    if live.opponents and not live.over:
        raise Refused("Finish this game first; a rematch comes after it.")
    seats = tuple(
        seat if seat.kind == AGENT or seat.person == person else replace(seat, kind=OPEN) for seat in live.seats
    )
    opening = live.session.at(live.opening_plies)
    return start(
        Session.replay(opening.game, opening.actions, seed=seed),
        (seats[-1], *seats[:-1]) if swap else seats,
        id=id,
        created=created,
        now=now,
        rated=live.rated and all(seat.kind != AGENT for seat in seats),
        visibility=live.visibility,
        clock=None if live.clocks is None else live.clocks.control,
    )


def _seated(live: LiveGame, place: int, taken: Seat) -> LiveGame:
    seats = tuple(taken if seat == place else old for seat, old in enumerate(live.seats))
    return replace(live, seats=seats)


def _changed(live: LiveGame, session: Session, now: float) -> LiveGame:
    """The next version: the clock of the seat to move runs, and a search that is wanted was asked for now."""
    after = replace(live, session=session, version=live.version + 1)
    clocks = live.clocks
    if clocks is not None:
        runs = after.status in ("your move", "thinking")
        clocks = clocks.start(session.mover, now) if runs else clocks.stop(now)
    return replace(after, clocks=clocks, asked_at=now if after.status == "thinking" else None)


def _stopped(live: LiveGame, by: str, seat: int | None, now: float) -> LiveGame:
    """The game ended before its rules ended it; `seat` lost."""
    session = live.session if seat is None or len(live.seats) != 2 else live.session.resign(seat)
    return _changed(replace(live, stopped_by=by, lost=seat, draw_offer=None), session, now)


def _own(live: LiveGame, person: str | None) -> tuple[int, ...]:
    """The person's seats; the owner of this computer may act in every game."""
    own = live.seats_of(person)
    if not own and person is not None:
        raise Forbidden("You watch this game; only those who are seated may act in it.")
    return own


def _is_repeat(live: LiveGame, ply: int, action: int, own: tuple[int, ...]) -> bool:
    """Whether a move is the last one of these seats, sent again because its answer was lost."""
    session = live.session
    if not live.opening_plies <= ply < session.ply or session.actions[ply] != action:
        return False
    movers = [int(position.mover) for position in session.positions[ply : session.ply]]
    return movers[0] in own and not any(mover in own for mover in movers[1:])


def _check_ply(live: LiveGame, ply: int) -> None:
    if ply != live.session.ply:
        raise Stale(f"The game is at move {live.session.ply}, not {ply}; look at the board again.")


def _check_running(live: LiveGame) -> None:
    if live.over:
        raise Refused("The game is over.")
    if live.open_seats:
        raise Refused("Wait until somebody takes the open seat.")
