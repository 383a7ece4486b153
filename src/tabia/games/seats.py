"""The seats of a game: their names, who has them, and a result in words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tabia.games.game import Game

HUMAN = "human"
"""The spec of a seat where a person plays."""
_PLACES = ("first", "second", "third", "fourth", "fifth", "sixth")


@dataclass(frozen=True)
class Seats:
    """Who has each seat: `human`, or the spec of a player.

    >>> seats = Seats(("human", "perfect"))
    >>> seats.people, seats.only_person, seats.swapped().players
    ((0,), 0, ('perfect', 'human'))
    """

    players: tuple[str, ...]

    @property
    def people(self) -> tuple[int, ...]:
        """The seats of people."""
        return tuple(seat for seat, player in enumerate(self.players) if player == HUMAN)

    @property
    def only_person(self) -> int | None:
        """The seat of the only person; None if there are several or none."""
        return self.people[0] if len(self.people) == 1 else None

    def swapped(self) -> Seats:
        """Everyone moves on by one seat; two players change places."""
        return Seats((self.players[-1], *self.players[:-1]))


def name(game: Game, seat: int) -> str:
    """A seat and its piece, such as `Seat 1 (X)`; people count from 1."""
    piece = game.piece(seat)
    return f"Seat {seat + 1} ({piece})" if piece else f"Seat {seat + 1}"


def outcome(names: Sequence[str], scores: Sequence[float], reason: str = "") -> str:
    """The result for everyone, with the names of the seats.

    >>> outcome(["X", "O"], [1.0, -1.0], "X has a line of 4"), outcome(["X", "O"], [0.0, 0.0])
    ('X won: X has a line of 4', 'Draw')
    """
    best = [name for name, score in zip(names, scores, strict=True) if score == max(scores)]
    won = f"{' and '.join(best)} {'won' if len(best) == 1 else 'share first place'}"
    result = "Draw" if len(best) == len(scores) else won
    return f"{result}: {reason}" if reason else result


def own_outcome(scores: Sequence[float], seat: int, reason: str = "") -> str:
    """The result as one seat sees it.

    >>> own_outcome([3.0, 1.0, 0.0], 1), own_outcome([1.0, -1.0], 1), own_outcome([2.0, -1.0, -1.0], 1)
    ('You came second', 'You lost', 'You lost')
    """
    result = _place(scores, seat)
    return f"{result}: {reason}" if reason else result


def _place(scores: Sequence[float], seat: int) -> str:
    own = scores[seat]
    above, level = sum(score > own for score in scores), sum(score == own for score in scores) - 1
    if level + 1 == len(scores):
        return "Draw"
    if above == 0:
        return "You share first place" if level else "You won"
    below = len(scores) - 1 - above - level
    if len(scores) == 2 or (level and not below):
        return "You lost"
    return f"You {'share' if level else 'came'} {_PLACES[above]}{' place' if level else ''}"
