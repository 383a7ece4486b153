"""Matches and tournaments over a pool of actors: each batch of games is a job.

Batches do not depend on each other, so on the same kind of device the games are those of `tabia.evaluation.play`: in
any order of batches, on any number of actors, and if some of them die.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from itertools import takewhile
from typing import NamedTuple

from tabia.cluster.jobs import Job, Report, Runner
from tabia.cluster.lineup import Lineup, make_lineup, received
from tabia.evaluation.batch import GameBatch, GameInProgress, Incident
from tabia.evaluation.match import GameKey, Match, Piece, PlayedMatch, RoundCounter, Watch, batch_key, by_game, games_of
from tabia.evaluation.records import Record


class BatchSpec(NamedTuple):
    """A batch of games to play, some of them perhaps partly played."""

    games: tuple[GameInProgress, ...]  # with players by their places in the lineup
    seed: int  # of its first match
    first: int  # the number of its first round, counted from 0
    smallest: int  # the fewest positions per call of a player


class PlayedBatch(NamedTuple):
    """What an actor returns."""

    records: tuple[Record, ...]  # all finished
    incidents: tuple[Incident, ...]


class BatchWork:
    """Plays batches with the players of a lineup, which are made once."""

    def __init__(self, lineup: Lineup) -> None:
        self._files = ExitStack()  # removed with the process
        self._game, self._players = self._files.enter_context(received(lineup))

    def run(self, spec: BatchSpec, report: Report) -> PlayedBatch:
        """Play the games to their end."""
        key = batch_key(spec.seed, spec.first)
        batch = GameBatch(self._game, self._players, spec.games, key, smallest=spec.smallest)
        while not batch.over:
            batch.step()
            report(sum(game.record.finished for game in batch.games) / len(batch.games))
        return PlayedBatch(tuple(game.record for game in batch.games), tuple(batch.incidents))


def lineup_of(matches: Sequence[Match]) -> Lineup:
    """All players of these matches of one game, each once."""
    return make_lineup(matches[0].game, _specs(matches))


def _specs(matches: Sequence[Match]) -> list[str]:
    return list(dict.fromkeys(spec for match in matches for spec in match.specs))


def play_matches(
    matches: Sequence[Match],
    run: Runner,
    *,
    batches: Sequence[Sequence[Piece]] | None = None,
    done: Sequence[Record] = (),
    watch: Watch = lambda records: None,
    progress: Callable[[float], None] = lambda games: None,
) -> list[PlayedMatch]:
    """Play matches of one game, or the rest of them after the games `done`.

    `batches` are by default those of each match; those of a tournament may have games of several matches. `watch`
    receives all records so far after each batch, in order; `progress` the number of games played, fractions of batches
    included. A sequential test ends the match as soon as it is decided.
    """
    plans, specs = _plans(matches, batches, done), _specs(matches)
    left = {plan.name: plan for plan in plans if not plan.over}

    def observe(running: Mapping[str, float]) -> None:
        partly = sum(fraction * left[name].count for name, fraction in running.items())
        progress(sum(plan.count for plan in plans if plan.over) + partly)

    if not _is_decided(matches, plans):
        jobs = [Job(name, partial(plan.spec, specs)) for name, plan in left.items()]
        with closing(run(jobs, observe)) as results:
            for name, played in results:
                left[name].records, left[name].incidents = list(played.records), played.incidents
                watch([record for plan in plans for record in plan.records])
                if _is_decided(matches, plans):
                    break
    return [_counted(match, plans) for match in matches]


class _Plan:
    """One batch, and what has been played of it."""

    def __init__(self, number: int, pieces: Sequence[Piece], pending: Mapping[GameKey, Record]) -> None:
        self._pieces, self._pending = pieces, pending
        self.name = f"batch {number}"
        keys = [key for match, rounds in pieces for key in _keys(match, rounds)]
        self.count = len(keys)
        self.records = [pending[key] for key in keys if key in pending]
        self.incidents: tuple[Incident, ...] = ()

    @property
    def over(self) -> bool:
        return len(self.records) == self.count and all(record.finished for record in self.records)

    def has(self, match: Match) -> bool:
        return any(match.specs == own.specs for own, _ in self._pieces)

    def spec(self, specs: Sequence[str]) -> BatchSpec:
        match, rounds = self._pieces[0]
        return BatchSpec(
            games=tuple(games_of(self._pieces, self._pending, specs)),
            seed=match.seed,
            first=rounds.start,
            smallest=match.smallest,
        )


def _keys(match: Match, rounds: range) -> list[GameKey]:
    seatings = [tuple(match.specs[player] for player in seating) for seating in match.seatings]
    return [(round_ + 1, names) for round_ in rounds for names in seatings]


def _plans(matches: Sequence[Match], batches: Sequence[Sequence[Piece]] | None, done: Sequence[Record]) -> list[_Plan]:
    if batches is None:
        batches = [[(match, rounds)] for match in matches for rounds in match.batches]
    pending = by_game(done)
    return [_Plan(number, pieces, pending) for number, pieces in enumerate(batches, start=1)]


def _is_decided(matches: Sequence[Match], plans: Sequence[_Plan]) -> bool:
    """Whether a sequential test has ended a match."""
    return any(_counted(match, plans).verdict is not None for match in matches if match.test is not None)


def _counted(match: Match, plans: Sequence[_Plan]) -> PlayedMatch:
    """The rounds of a match that are finished, with all rounds before them.

    Incidents of a batch with several matches are those of its players, in whichever match.
    """
    own = list(takewhile(lambda plan: plan.over, (plan for plan in plans if plan.has(match))))
    names = set(match.specs)
    records = [record for plan in own for record in plan.records if set(record.players) <= names]
    counter = RoundCounter(match)
    counter.update(records)
    return PlayedMatch(
        records=[one for one in records if one.round <= counter.rounds],
        rounds=counter.rounds,
        verdict=counter.verdict,
        incidents=[one for plan in own for one in plan.incidents if one.player in names],
    )
