"""Who sits where: the seatings in which every opening of a match is played, so that no seat favors anyone."""

from __future__ import annotations

from collections.abc import Sequence

from tabia.core.errors import TabiaError
from tabia.games.game import Game


class MatchError(TabiaError):
    """A match that cannot be played as asked."""


def seatings(game: Game, players: Sequence[str]) -> list[tuple[int, ...]]:
    """Every seating of one round, each naming the player (by number) of every seat.

    As many players as seats rotate through the seats. Two players in more than two seats play Schulte's sets: one against
    all others and all others against one, from every seat; six games in three seats. A player who meets only itself
    has one seating.

    >>> from tabia.games import make
    >>> seatings(make("connect4"), ["a", "b"])
    [(0, 1), (1, 0)]
    >>> seatings(make("chinese-checkers"), ["a", "b"])
    [(0, 1, 1), (1, 0, 1), (1, 1, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    """
    seats, count = game.num_players, len(players)
    if count > 1 and len(set(players)) == 1:
        return [(0,) * seats]
    if count == seats:
        rotated = [tuple((seat - turn) % seats for seat in range(seats)) for turn in range(seats)]
        return _distinct(rotated, players)
    if count == 2 and seats > 2:
        alone = [(0, 1), (1, 0)]
        return [
            tuple(one if seat == own else rest for seat in range(seats)) for one, rest in alone for own in range(seats)
        ]
    wanted = f"{seats} players" if seats == 2 else f"{seats} players, or 2 who take turns at sitting alone"
    more = " A tournament takes any number: `tabia tournament`." if count > seats else ""
    raise MatchError(f"{game.id} has {seats} seats: a match needs {wanted}, not {count}.{more}")


def _distinct(seated: list[tuple[int, ...]], players: Sequence[str]) -> list[tuple[int, ...]]:
    """Without the seatings that look the same because some players are the same."""
    seen: dict[tuple[str, ...], tuple[int, ...]] = {}
    for seating in seated:
        seen.setdefault(tuple(players[player] for player in seating), seating)
    return list(seen.values())
