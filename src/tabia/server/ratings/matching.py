"""Who plays whom in rated games: placement by bisection over the ladder, then the closest higher rated agent.

The first game is against the middle of the ladder, the next against the middle of the part above or below, and so on
until no agent is left between those who were beaten and those who were not: three games at least and five at most.
After that the opponent is the agent whose rating is the smallest one not below the person's, as in Wandhoven 2022
(equation 54), or the strongest agent if nobody is higher. The seat, and so who starts, is drawn at random.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

LEAST_GAMES, MOST_GAMES = 3, 5
"""Games of a placement."""


@dataclass(frozen=True)
class Opponent:
    """An agent with a fixed rating."""

    agent: str  # its id in the catalog
    name: str
    elo: float


@dataclass(frozen=True)
class PlayedGame:
    """A rated game of a person: the opponent's rating, and the share of points won."""

    elo: float
    score: float


@dataclass(frozen=True)
class Placement:
    """How far the placement of a person is."""

    games: int
    low: float  # the strongest opponent beaten so far
    high: float  # the weakest opponent not beaten
    done: bool


@dataclass(frozen=True)
class NextMatch:
    """The next rated game of a person; the other seats are the agent's."""

    opponent: Opponent
    seat: int
    why: str


def closest_higher(ladder: Sequence[Opponent], rating: float) -> Opponent:
    """The agent with the smallest rating at or above a rating; the strongest if there is none."""
    higher = [opponent for opponent in ladder if opponent.elo >= rating]
    return min(higher, key=_elo) if higher else max(ladder, key=_elo)


def placement(ladder: Sequence[Opponent], played: Sequence[PlayedGame]) -> Placement:
    """The placement after these games, oldest first; only the first five belong to it."""
    low, high = -math.inf, math.inf
    for game in played[:MOST_GAMES]:
        low = max(low, game.elo) if game.score >= 0.5 else low
        high = min(high, game.elo) if game.score <= 0.5 else high
    found = not _between(ladder, low, high)
    done = len(played) >= MOST_GAMES or (len(played) >= LEAST_GAMES and found)
    return Placement(games=min(len(played), MOST_GAMES), low=low, high=high, done=done)


def next_match(
    ladder: Sequence[Opponent],
    rating: float,
    played: Sequence[PlayedGame],
    *,
    seats: int,
    draw: Callable[[int], int],
) -> NextMatch:
    """The next rated game of a person with this rating; `draw(n)` is a random number from 0 to n - 1."""
    opponent, why = _opponent(ladder, rating, played)
    return NextMatch(opponent, draw(seats), why)


def _opponent(ladder: Sequence[Opponent], rating: float, played: Sequence[PlayedGame]) -> tuple[Opponent, str]:
    state = placement(ladder, played)
    higher = closest_higher(ladder, rating)
    if not state.done:
        inside = _between(ladder, state.low, state.high)
        number = f"Placement game {state.games + 1} of {LEAST_GAMES} to {MOST_GAMES}"
        return (inside[(len(inside) - 1) // 2] if inside else higher), f"{number}: {_because(played)}."
    if higher.elo < rating:
        return higher, f"No agent is rated above your {rating:.0f}, so you meet the strongest."
    return higher, f"The agent closest above your rating of {rating:.0f}."


def _because(played: Sequence[PlayedGame]) -> str:
    if not played:
        return "you start in the middle of the ladder"
    score = played[-1].score
    return "you won, so the next is stronger" if score > 0.5 else "the next is nearer to your strength"


def _between(ladder: Sequence[Opponent], low: float, high: float) -> list[Opponent]:
    return sorted((opponent for opponent in ladder if low < opponent.elo < high), key=_elo)


def _elo(opponent: Opponent) -> float:
    return opponent.elo
