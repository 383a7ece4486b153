"""Matches and tournaments as parts: every game is recorded, and an interrupted one resumes where it stopped.

Theses count every game, repeated ones too, so these parts do not drop duplicates as `tabia match` does.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

import jax

from tabia.evaluation import Match, Record, Recorder, Tournament, match_result, play, play_tournament
from tabia.evaluation.batch import SMALLEST, query_size
from tabia.evaluation.rating_models import Ratings, rate_two
from tabia.evaluation.ratings import count_outcomes
from tabia.evaluation.tournament import pairings
from tabia.games import make as make_game
from tabia.games.game import Game
from tabia.players import Player
from tabia.players import make as make_player
from tabia.studies.estimates import Estimate
from tabia.studies.part import Outcome, Place
from tabia.studies.trainings import steps

RECORDS = "games.txt"

MakePlayer = Callable[[Game, Place], Player]
"""Makes a player; `place` gives the weights of earlier parts."""


def spec(text: str) -> MakePlayer:
    """A player by its spec; parts of one process share it, and so its programs."""
    return lambda game, place: _shared(text, game)


_shared = lru_cache(maxsize=12)(make_player)


def trained(part: str, options: str = "", *, player: str = "az", step: str = "latest") -> MakePlayer:
    """A player with the weights that a training part exported.

    Its name in records is that of the part, not of the directory, so that a directory can be moved.
    """
    named = ",".join(filter(None, [f"{part}@{step}", options]))

    def made(game: Game, place: Place) -> Player:
        found: Any = make_player(
            ",".join(filter(None, [f"{player}:{place.folder_of(part) / 'weights'}@{step}", options])), game
        )
        return replace(found, name=f"{player}:{named}")

    return made


Lineup = Callable[[Game, Place], Sequence[Player]]
"""Makes the players of a tournament, in order; their number may depend on earlier parts."""


def lineup(*players: MakePlayer) -> Lineup:
    """These players."""
    return lambda game, place: [make(game, place) for make in players]


def spaced(index: int, count: int, length: int) -> int:
    """The place in a sequence of this length of number `index` of `count` evenly spaced ones, counted from 0."""
    return round(index * (length - 1) / max(count - 1, 1))


def version(part: str, index: int, count: int, options: str = "", *, player: str = "az", before: int = 0) -> MakePlayer:
    """A player with the weights of checkpoint number `index` of `count` evenly spaced ones, counted from 0.

    `before` goes back by this many checkpoints of all.
    """
    name = f"{player}:{part}@version-{index}" + (f"-before-{before}" if before else "")

    def made(game: Game, place: Place) -> Player:
        known = steps(place, part)
        step = known[max(spaced(index, count, len(known)) - before, 0)]
        found: Any = trained(part, options, player=player, step=str(step))(game, place)
        return replace(found, name=",".join(filter(None, [name, options])))

    return made


def until(part: str, iterations: int, options: str = "", *, player: str = "az") -> MakePlayer:
    """A player with the last weights that a training part exported in its first iterations."""

    def made(game: Game, place: Place) -> Player:
        step = max(step for step in steps(place, part) if step <= iterations)
        return trained(part, options, player=player, step=str(step))(game, place)

    return made


class Tally:
    """Wins, draws and losses of a player, in one seat or in all."""

    def __init__(self, records: Sequence[Record], player: str, seat: int | None = None) -> None:
        ranks = [
            record.rank(own)
            for record in records
            if record.finished
            for own, name in enumerate(record.players)
            if name == player and seat in (None, own)
        ]
        self.games, self.wins = len(ranks), sum(rank > 0 for rank in ranks)
        self.draws, self.losses = sum(rank == 0 for rank in ranks), sum(rank < 0 for rank in ranks)

    @property
    def points(self) -> float:
        """A win is one point, a draw half a point."""
        return self.wins + 0.5 * self.draws


def score(key: str, game: Game, records: Sequence[Record], player: str) -> Estimate:
    """The score of a player in percent of the points, from rounds of paired openings; equal games count once."""
    one = next(result for result in match_result(game, records).players if result.name == player)
    return Estimate(key, 100 * one.score, 100 * one.low, 100 * one.high, "% of points", one.games)


Measure = Callable[[Game, Sequence[Record], Sequence[str]], Outcome]
"""From the records of a match, and the names of its players in the order given, to what it found."""


@dataclass(frozen=True, kw_only=True)
class MatchPart:
    """A match; `games` count both seatings, and the games start from the first position by default."""

    name: str
    keys: tuple[str, ...]
    game: str
    players: tuple[MakePlayer, ...]
    games: int
    measure: Measure
    match_seed: int
    opening_moves: int | None = 0
    batch: int = 256
    seed: int = 0
    needs: tuple[str, ...] = ()
    cost: float = 1.0

    def run(self, place: Place) -> Outcome:
        game = make_game(self.game)
        batch = min(self.batch, self.games)
        match = Match(
            game=game,
            players=tuple(make(game, place) for make in self.players),
            games=self.games,
            opening_moves=self.opening_moves,
            seed=self.match_seed,
            batch=batch,
            smallest=query_size(-(-batch // 2)),  # one size of batch: compiling another takes longer than it saves
        )
        with recording(place, "match", match.settings, match.total) as (recorder, watch):
            played = play(match, done=recorder.records, watch=watch)
            recorder.update(played.records, save=True)
        return self.measure(game, played.records, match.specs)


@dataclass(frozen=True, kw_only=True)
class TournamentPart:
    """A round robin, full or among the nearest players only; `measure` gets all records."""

    name: str
    keys: tuple[str, ...]
    game: str
    players: Lineup
    games: int  # per pair
    measure: Measure
    match_seed: int
    nearest: int | None = None
    opening_moves: int | None = None
    batch: int = 4096  # of all pairings together
    seed: int = 0
    needs: tuple[str, ...] = ()
    cost: float = 1.0

    def run(self, place: Place) -> Outcome:
        game = make_game(self.game)
        players = tuple(self.players(game, place))
        tournament = Tournament(
            game=game,
            players=players,
            games=self.games,
            nearest=self.nearest,
            opening_moves=self.opening_moves,
            seed=self.match_seed,
            batch=self.batch,
            smallest=self._smallest(len(players)),
        )
        with recording(place, "tournament", tournament.settings, tournament.total) as (recorder, watch):
            records = play_tournament(tournament, done=recorder.records, watch=watch)
            recorder.update(records, save=True)
        return self.measure(game, records, tournament.specs)

    def _smallest(self, players: int) -> int:
        """On GPUs one size of batch, half of a player's games: compiling another takes longer than it saves."""
        if jax.default_backend() == "cpu":
            return SMALLEST
        pairs = len(pairings(players, self.nearest))
        return query_size(min(self.games * pairs, self.batch) // players)


@contextmanager
def recording(
    place: Place, kind: str, settings: str, total: int
) -> Iterator[tuple[Recorder, Callable[[Sequence[Record]], None]]]:
    """A recorder in the part's folder, and a watcher that records and reports progress; a signal saves the games."""
    with Recorder(place.folder / RECORDS, kind, settings) as recorder:

        def watch(records: Sequence[Record]) -> None:
            recorder.update(records)
            place.control.progress(sum(record.finished for record in records), total)

        def save(number: int) -> str:
            return f"{sum(record.finished for record in recorder.flush())} games of this match are saved."

        with place.control.on_interrupt(save, 1.2):
            yield recorder, watch


def rate_all(records: Sequence[Record], names: Sequence[str], *, anchor: int = 0) -> Ratings:
    """Ratings from all games with two seats, repeated ones too."""
    finished = [record for record in records if record.finished]
    return rate_two(list(names), count_outcomes(finished, names), anchor=anchor)
