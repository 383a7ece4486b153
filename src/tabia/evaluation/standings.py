"""From records of games to ratings: who has how many points, and how sure that is."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabia.core.errors import did_you_mean
from tabia.evaluation.ratings import Outcomes, RatingError, Ratings, rate_many, rate_two, sequential_elo
from tabia.evaluation.records import Record, duplicates


def counted(records: Sequence[Record]) -> list[Record]:
    """The games ratings are made of: finished ones, each once."""
    finished = [record for record in records if record.finished]
    fresh = [record for record, again in zip(finished, duplicates(finished), strict=True) if not again]
    games = sorted({record.game for record in fresh})
    if len(games) > 1:
        raise RatingError(f"Ratings are of one game; the records are of {', '.join(games)}.")
    if not fresh:
        raise RatingError("There are no finished games to rate by.")
    return fresh


def names(records: Sequence[Record]) -> list[str]:
    """The players, in the order in which they appear."""
    return list(dict.fromkeys(player for record in records for player in record.players))


def rate(
    records: Sequence[Record], *, anchor: str | None = None, anchor_elo: float = 0.0, prior: float = 1000.0
) -> Ratings:
    """Rate by Bayesian inference: with draws and an advantage of the first seat, or by places with more than two seats.

    `anchor` is the player whose rating is given, the first if not told.
    """
    fresh = counted(records)
    known = names(fresh)
    fixed = 0 if anchor is None else place(anchor, known)
    if len(fresh[0].players) == 2:
        return rate_two(known, outcomes(fresh, known), anchor=fixed, anchor_elo=anchor_elo, prior=prior)
    seated = np.array([[known.index(player) for player in record.players] for record in fresh])
    scores = np.array([record.scores for record in fresh])
    return rate_many(known, seated, scores, anchor=fixed, anchor_elo=anchor_elo, prior=prior)


def outcomes(records: Sequence[Record], known: Sequence[str]) -> Outcomes:
    """Two-seat games, counted by who sat where."""
    where = {name: index for index, name in enumerate(known)}
    tables = Outcomes(*(np.zeros((len(known), len(known))) for _ in range(3)))
    for record in records:
        first, second = record.scores
        table = tables.draws if first == second else tables.wins if first > second else tables.losses
        table[where[record.players[0]], where[record.players[1]]] += 1
    return tables


def rate_in_order(records: Sequence[Record], *, anchor_elo: float = 0.0) -> dict[str, float]:
    """Wandhoven's way: each player's rating from its games with the latest before it that it met; the first has `anchor_elo`.

    The order is that in which players appear. A player who met nobody before it cannot be rated.
    """
    fresh = counted(records)
    if len(fresh[0].players) != 2:
        raise RatingError("Wandhoven's sequential ratings are for games of two seats; leave out --method wandhoven.")
    known = names(fresh)
    tables = outcomes(fresh, known)
    points = tables.wins + tables.losses.T + 0.5 * (tables.draws + tables.draws.T)
    games = sum(table + table.T for table in tables)
    ratings = {known[0]: anchor_elo}
    for index, name in enumerate(known[1:], start=1):
        met = [earlier for earlier in range(index) if games[index, earlier]]
        if not met:
            raise RatingError(f"{name} met no player that came before it, so Wandhoven's way cannot rate it.")
        played = int(games[index, met[-1]])
        ratings[name] = sequential_elo(ratings[known[met[-1]]], float(points[index, met[-1]]), played)
    return ratings


def place(name: str, known: Sequence[str]) -> int:
    """Where a player stands in the list."""
    if name not in known:
        raise RatingError(f"There is no player {name!r} in these games. {did_you_mean(name, known)}")
    return list(known).index(name)
