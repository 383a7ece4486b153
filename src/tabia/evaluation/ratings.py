"""Ratings of players from records of games."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from tabia.core.errors import did_you_mean
from tabia.evaluation.rating_models import Outcomes, RatingError, Ratings, rate_many, rate_two
from tabia.evaluation.records import Record, player_names
from tabia.evaluation.results import counted_games
from tabia.evaluation.wandhoven import sequential_elo


def rated_games(records: Sequence[Record], *, unique: bool = True) -> list[Record]:
    """The games that count for ratings, all of one game; without duplicates if `unique`."""
    fresh, _ = counted_games(records, unique=unique)
    games = sorted({record.game for record in fresh})
    if len(games) > 1:
        raise RatingError(f"Ratings are for one game; the records are of {', '.join(games)}.")
    if not fresh:
        raise RatingError("There are no finished games to rate.")
    return fresh


def rate(
    records: Sequence[Record],
    *,
    anchor: str | None = None,
    anchor_elo: float = 0.0,
    prior: float = 1000.0,
    unique: bool = True,
) -> Ratings:
    """Rate players by Bayesian inference: with draws and first-seat advantage, or by places with more than two seats.

    `anchor` is the player with the fixed rating `anchor_elo`; by default the first player. Equal games count once if
    `unique`.
    """
    fresh = rated_games(records, unique=unique)
    names = player_names(fresh)
    fixed = 0 if anchor is None else _index(anchor, names)
    if len(fresh[0].players) == 2:
        return rate_two(names, count_outcomes(fresh, names), anchor=fixed, anchor_elo=anchor_elo, prior=prior)
    seats = np.array([[names.index(player) for player in record.players] for record in fresh])
    scores = np.array([record.scores for record in fresh])
    return rate_many(names, seats, scores, anchor=fixed, anchor_elo=anchor_elo, prior=prior)


def count_outcomes(records: Sequence[Record], names: Sequence[str]) -> Outcomes:
    """Count wins, draws and losses of two-seat games by pairs of players."""
    index = {name: number for number, name in enumerate(names)}
    tables = Outcomes(*(np.zeros((len(names), len(names))) for _ in range(3)))
    for record in records:
        first, second = record.scores
        table = tables.draws if first == second else tables.wins if first > second else tables.losses
        table[index[record.players[0]], index[record.players[1]]] += 1
    return tables


def rate_in_order(records: Sequence[Record], *, anchor_elo: float = 0.0, unique: bool = True) -> dict[str, float]:
    """Wandhoven's sequential ratings: each player from its games with the latest earlier player that it met.

    The order is that of appearance; the first player has `anchor_elo`. A player without games against an earlier one
    cannot be rated. Equal games count once if `unique`.
    """
    fresh = rated_games(records, unique=unique)
    if len(fresh[0].players) != 2:
        raise RatingError("Wandhoven's sequential ratings need games with two seats; leave out --method wandhoven.")
    names = player_names(fresh)
    tables = count_outcomes(fresh, names)
    points = tables.wins + tables.losses.T + 0.5 * (tables.draws + tables.draws.T)
    games = sum(table + table.T for table in tables)
    ratings = {names[0]: anchor_elo}
    for index, name in enumerate(names[1:], start=1):
        met = [earlier for earlier in range(index) if games[index, earlier]]
        if not met:
            raise RatingError(f"{name} met no earlier player, so Wandhoven's method cannot rate it.")
        played = int(games[index, met[-1]])
        ratings[name] = sequential_elo(ratings[names[met[-1]]], float(points[index, met[-1]]), played)
    return ratings


class Standings(NamedTuple):
    """Ratings of all players by one method, by name."""

    elo: dict[str, float]
    error: dict[str, float | None]  # half the width of the 95% interval; None if the method gives none
    advantage: tuple[float, ...] = ()  # Elo of each seat over the last
    draw: float | None = None  # the draw margin in Elo


def bayes(records: Sequence[Record], anchor: str | None, anchor_elo: float, unique: bool = True) -> Standings:
    """Bayesian ratings with intervals (see `rate`)."""
    found = rate(records, anchor=anchor, anchor_elo=anchor_elo, unique=unique)
    return Standings(
        elo=dict(zip(found.names, map(float, found.elo), strict=True)),
        error=dict(zip(found.names, map(float, found.error), strict=True)),
        advantage=tuple(map(float, found.advantage)),
        draw=found.draw,
    )


def wandhoven(records: Sequence[Record], anchor: str | None, anchor_elo: float, unique: bool = True) -> Standings:
    """Wandhoven's sequential ratings (see `rate_in_order`)."""
    if anchor is not None:
        raise RatingError("--method wandhoven always starts from the first player; leave out --anchor.")
    elo = rate_in_order(records, anchor_elo=anchor_elo, unique=unique)
    return Standings(elo=elo, error=dict.fromkeys(elo))


METHODS: dict[str, Callable[[Sequence[Record], str | None, float, bool], Standings]] = {
    "bayes": bayes,
    "wandhoven": wandhoven,
}
"""Rating methods by the names of `tabia rate --method`."""


def _index(name: str, names: Sequence[str]) -> int:
    if name not in names:
        raise RatingError(f"There is no player {name!r} in these games. {did_you_mean(name, names)}")
    return list(names).index(name)
