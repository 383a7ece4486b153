"""What a match's games add up to: shares of the points with 95% intervals, by player and by seat.

With two seats a win is 1 point and a draw half a point each. With more seats the game's own scores are the points
(Schulte 2021: 3, 1, 0), counted from the lowest a seat can get. The games of one round share an opening and are not independent;
rounds are. So the spread of the rounds' shares tells how many independent games the match is worth, and the
interval is Wilson's for that many: honest with few games and near 0 and 1.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tabia.evaluation.records import Record, duplicates
from tabia.games.game import Game

_Z = 1.959964  # two-sided 95%

Whose = Callable[[Record, int], bool]
"""Whether a seat of a game is counted."""


@dataclass(frozen=True)
class Side:
    """What one player, or one seat, made of its games; a game counts once for each of its seats."""

    name: str
    games: int
    wins: int  # alone in first place
    draws: int  # first place shared
    losses: int
    points: float  # a game, on the game's own scale
    share: float  # of all points
    low: float  # its 95% interval
    high: float

    @property
    def elo(self) -> tuple[float, float, float]:
        """The rating difference that the share stands for, and its interval; infinite at 0 and 1."""
        return elo_of(self.share), elo_of(self.low), elo_of(self.high)


@dataclass(frozen=True)
class Tally:
    """A match in numbers; duplicates are in none but their own."""

    games: int
    duplicates: int
    rounds: int
    mean_length: float  # moves a game, those of the opening included
    players: tuple[Side, ...]
    seats: tuple[Side, ...]
    by_seat: tuple[tuple[Side, ...], ...]  # by player, then by seat


def tally(game: Game, records: Sequence[Record]) -> Tally:
    """Count finished games, each once, however often it was played."""
    finished = [record for record in records if record.finished]
    repeated = duplicates(finished)
    fresh = [record for record, again in zip(finished, repeated, strict=True) if not again]
    names = list(dict.fromkeys(player for record in fresh for player in record.players))
    seats = range(game.num_players)
    return Tally(
        games=len(fresh),
        duplicates=sum(repeated),
        rounds=len(_by_round(fresh)),
        mean_length=float(np.mean([len(record.moves) for record in fresh])) if fresh else 0.0,
        players=tuple(_side(game, fresh, name, _sits(name)) for name in names),
        seats=tuple(_side(game, fresh, f"seat {seat + 1}", _is_seat(seat)) for seat in seats),
        by_seat=tuple(
            tuple(_side(game, fresh, f"{name} in seat {seat + 1}", _sits(name, seat)) for seat in seats)
            for name in names
        ),
    )


def round_share(game: Game, records: Sequence[Record], name: str) -> float:
    """The share of one round's points that a player got; half of none."""
    own, total = _points(game, records, _sits(name))
    return own / total if total else 0.5


def interval(own: Sequence[float], total: Sequence[float]) -> tuple[float, float, float]:
    """A share of points and its 95% interval, from what each independent round gave to one side and to all.

    Without any points it is 0 to 1. The spread counts as if one more round had gone either way, so that rounds that
    all came out alike do not look certain.
    """
    count, everything = len(own), float(sum(total))
    if not count or not everything:
        return 0.5, 0.0, 1.0
    share = float(sum(own)) / everything
    residuals = (np.asarray(own) - share * np.asarray(total)) / (everything / count)
    variance = (float(np.sum(residuals**2)) + 0.25) / max(count - 1, 1)
    worst = share * (1.0 - share)
    trials = count * max(1.0, worst / variance)  # rounds that vary less than a coin are worth more than one toss
    return share, *wilson(share, trials)


def wilson(share: float, trials: float) -> tuple[float, float]:
    """Wilson's 95% interval of a share seen in so many trials.

    >>> [round(end, 3) for end in wilson(0.5, 100)]
    [0.404, 0.596]
    """
    shrunk = 1.0 + _Z**2 / trials
    center = (share + _Z**2 / (2.0 * trials)) / shrunk
    half = _Z * math.sqrt(share * (1.0 - share) / trials + _Z**2 / (4.0 * trials**2)) / shrunk
    return max(0.0, center - half), min(1.0, center + half)


def _side(game: Game, records: Sequence[Record], name: str, whose: Whose) -> Side:
    places = [_place(record, seat) for record in records for seat in range(len(record.players)) if whose(record, seat)]
    scores = [record.scores[seat] for record in records for seat in range(len(record.players)) if whose(record, seat)]
    concerned = [record for record in records if any(whose(record, seat) for seat in range(len(record.players)))]
    rounds = [_points(game, together, whose) for together in _by_round(concerned)]
    share, low, high = interval([own for own, _ in rounds], [total for _, total in rounds])
    return Side(
        name,
        len(scores),
        places.count(1),
        places.count(0),
        places.count(-1),
        float(np.mean(scores)) if scores else 0.0,
        share,
        low,
        high,
    )


def _points(game: Game, records: Sequence[Record], whose: Whose) -> tuple[float, float]:
    """What the chosen seats and what all seats got in these games."""
    own = total = 0.0
    for record in records:
        for seat in range(len(record.players)):
            point = (
                (_place(record, seat) + 1) / 2 if game.num_players == 2 else record.scores[seat] - game.score_range[0]
            )
            total += point
            own += point if whose(record, seat) else 0.0
    return own, total


def _place(record: Record, seat: int) -> int:
    """1 for first place, 0 if shared, -1 otherwise."""
    others = max(score for other, score in enumerate(record.scores) if other != seat)
    return int(np.sign(record.scores[seat] - others))


def _by_round(records: Sequence[Record]) -> list[list[Record]]:
    """Games grouped by round and by who plays; a game of round 0 is a group of its own."""
    groups: dict[object, list[Record]] = {}
    for number, record in enumerate(records):
        key = (record.round, frozenset(record.players)) if record.round else -number - 1
        groups.setdefault(key, []).append(record)
    return list(groups.values())


def _sits(name: str, seat: int | None = None) -> Whose:
    return lambda record, other: record.players[other] == name and seat in (None, other)


def _is_seat(seat: int) -> Whose:
    return lambda record, other: other == seat


def elo_of(share: float) -> float:
    if share <= 0.0 or share >= 1.0:
        return math.copysign(math.inf, share - 0.5)
    return 400.0 * math.log10(share / (1.0 - share))
