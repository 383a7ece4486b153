"""Who has the seats of a live game: people, agents, and seats that somebody may take."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

HUMAN, AGENT, OPEN = "human", "agent", "open"


@dataclass(frozen=True)
class Seat:
    """A person, an agent by its id in the catalog, or an open seat.

    `person` is the id of a person, or of the only one who may take an open seat. A person's seat without one is played
    by the owner of this computer; where accounts exist it is nobody's.
    """

    kind: str
    agent: str | None = None
    person: str | None = None
    name: str | None = None  # of the person


@dataclass(frozen=True)
class Card:
    """What others read about an agent or a person."""

    name: str
    about: str = ""
    elo: float | None = None
    error: float | None = None


def names(seats: Iterable[Seat], cards: Mapping[str, Card], own: tuple[str, ...]) -> list[str]:
    """A name for every seat: the person's or the agent's; `own` are the game's names of the seats.

    Without accounts the only person is `You`, and several are called as their seats.
    """
    taken = tuple(seats)
    alone = sum(seat.kind == HUMAN for seat in taken) == 1

    def name(place: int, seat: Seat) -> str:
        if seat.agent is not None:
            return cards[seat.agent].name if seat.agent in cards else seat.agent
        if seat.name is not None:
            return seat.name
        return own[place] if seat.kind == OPEN or not alone else "You"

    found = [name(place, seat) for place, seat in enumerate(taken)]
    return [f"{text} ({own[place]})" if found.count(text) > 1 else text for place, text in enumerate(found)]
