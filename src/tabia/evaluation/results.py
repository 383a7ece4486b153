"""The result of a match: scores with 95% intervals, by player and by seat.

A score is a fraction of the points. With two seats a win is 1 point and a draw half a point. With more seats the
game's own scores are the points (Schulte 2021: 3, 1, 0), counted from the lowest possible score. Points per game are on
the game's own scale in any case, which matters in backgammon, where a win counts up to three. The games of one round
share an opening and are not independent; rounds are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from tabia.core import elo
from tabia.evaluation.records import Record, duplicates, player_names
from tabia.evaluation.significance import score_interval
from tabia.games.game import Game

_Selects = Callable[[Record, int], bool]  # whether a seat of a game is counted


@dataclass(frozen=True)
class Result:
    """The result of one player or one seat; a game counts once for each of its seats."""

    name: str
    games: int
    wins: int  # alone in first place
    draws: int  # shared first place
    losses: int
    points: float  # per game, on the game's own scale
    points_low: float  # the 95% interval of the points
    points_high: float
    score: float  # fraction of all points
    low: float  # the 95% interval of the score
    high: float
    places: tuple[int, ...] = ()  # how often 1st, 2nd, ...; seats with equal scores share the better place

    @property
    def elo(self) -> tuple[float, float, float]:
        """The rating difference that the score stands for, and its interval; infinite at 0 and 1."""
        return elo.difference(self.score), elo.difference(self.low), elo.difference(self.high)


@dataclass(frozen=True)
class MatchResult:
    """The results of a match; duplicates count only in `duplicates`, unless every game was to be counted.

    Games that were excluded, because an engine's rules differ from the game's, count only in `excluded`.
    """

    games: int
    duplicates: int
    rounds: int
    mean_length: float  # moves per game, including the opening
    players: tuple[Result, ...]
    seats: tuple[Result, ...]
    by_seat: tuple[tuple[Result, ...], ...]  # by player, then by seat
    by_seats_held: tuple[tuple[Result, ...], ...] = ()
    """By player, then by the seats it had in a game, 1 to P - 1: one against two, two against one (Schulte 2021).

    Empty for two seats.
    """
    forfeited: int = 0  # games lost by an engine's fault, counted as lost
    excluded: int = 0


def match_result(game: Game, records: Sequence[Record], *, unique: bool = True) -> MatchResult:
    """Count the finished games; equal games count once, or all of them if not `unique`."""
    fresh, repeated = counted_games(records, unique=unique)
    names = player_names(fresh)
    seats = range(game.num_players)
    return MatchResult(
        games=len(fresh),
        duplicates=repeated,
        rounds=len(_by_round(fresh)),
        mean_length=float(np.mean([len(record.moves) for record in fresh])) if fresh else 0.0,
        players=tuple(_result(game, fresh, name, _of_player(name)) for name in names),
        seats=tuple(_result(game, fresh, f"seat {seat + 1}", _of_seat(seat)) for seat in seats),
        by_seat=tuple(
            tuple(_result(game, fresh, f"{name} in seat {seat + 1}", _of_player(name, seat)) for seat in seats)
            for name in names
        ),
        by_seats_held=_by_seats_held(game, fresh, names) if game.num_players > 2 else (),
        forfeited=sum(record.end == "forfeited" for record in fresh),
        excluded=sum(record.end == "excluded" for record in records),
    )


def counted_games(records: Sequence[Record], *, unique: bool = True) -> tuple[list[Record], int]:
    """The games that count, and how many repeat earlier ones; those count too if not `unique`."""
    results = [record for record in records if record.counts]
    repeated = duplicates(results)
    fresh = [record for record, again in zip(results, repeated, strict=True) if not (again and unique)]
    return fresh, sum(repeated)


def _by_seats_held(game: Game, records: Sequence[Record], names: Sequence[str]) -> tuple[tuple[Result, ...], ...]:
    seats = game.num_players

    def held(name: str, count: int) -> Result:
        games = [record for record in records if record.players.count(name) == count]
        return _result(game, games, f"{name} in {count} of {seats} seats", _of_player(name))

    return tuple(tuple(held(name, count) for count in range(1, seats)) for name in names)


def round_score(game: Game, records: Sequence[Record], name: str) -> float:
    """The score of one player in one round; 0.5 if the round has no points."""
    own, total = _points(game, records, _of_player(name))
    return own / total if total else 0.5


def _result(game: Game, records: Sequence[Record], name: str, selects: _Selects) -> Result:
    selected = [(record, seat) for record in records for seat in range(len(record.players)) if selects(record, seat)]
    ranks = [record.rank(seat) for record, seat in selected]
    games = [record for record in records if any(selects(record, seat) for seat in range(len(record.players)))]
    rounds = [_points(game, together, selects) for together in _by_round(games)]
    score, low, high = score_interval([own for own, _ in rounds], [total for _, total in rounds])
    points, points_low, points_high = _mean_points(game, games, selects)
    return Result(
        name=name,
        games=len(selected),
        wins=ranks.count(1),
        draws=ranks.count(0),
        losses=ranks.count(-1),
        points=points,
        points_low=points_low,
        points_high=points_high,
        score=score,
        low=low,
        high=high,
        places=tuple(_places(selected).count(place) for place in range(1, game.num_players + 1)),
    )


def _mean_points(game: Game, records: Sequence[Record], selects: _Selects) -> tuple[float, float, float]:
    """The points per game of the selected seats, and their 95% interval; without games 0 and the game's range."""
    if not records:
        return 0.0, *game.score_range
    lowest, highest = game.score_range
    rounds = [
        [
            record.scores[seat] - lowest
            for record in together
            for seat in range(len(record.players))
            if selects(record, seat)
        ]
        for together in _by_round(records)
    ]
    found = score_interval([sum(above) for above in rounds], [(highest - lowest) * len(above) for above in rounds])
    mean, low, high = (lowest + share * (highest - lowest) for share in found)
    return mean, low, high


def _places(selected: Sequence[tuple[Record, int]]) -> list[int]:
    """The place of each seat: 1 and the number of seats with a higher score."""
    return [1 + sum(score > record.scores[seat] for score in record.scores) for record, seat in selected]


def _points(game: Game, records: Sequence[Record], selects: _Selects) -> tuple[float, float]:
    """The points of the selected seats and of all seats in these games."""
    own = total = 0.0
    for record in records:
        for seat, score in enumerate(record.scores):
            points = (record.rank(seat) + 1) / 2 if game.num_players == 2 else score - game.score_range[0]
            total += points
            own += points if selects(record, seat) else 0.0
    return own, total


def _by_round(records: Sequence[Record]) -> list[list[Record]]:
    """Games grouped by round and by players; a game of round 0 is a group of its own."""
    groups: dict[object, list[Record]] = {}
    for index, record in enumerate(records):
        key = (record.round, frozenset(record.players)) if record.round else -index - 1
        groups.setdefault(key, []).append(record)
    return list(groups.values())


def _of_player(name: str, seat: int | None = None) -> _Selects:
    return lambda record, other: record.players[other] == name and seat in (None, other)


def _of_seat(seat: int) -> _Selects:
    return lambda record, other: other == seat
