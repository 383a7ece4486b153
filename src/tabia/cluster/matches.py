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
from tabia.evaluation.match import GameKey, Match, PlayedMatch, RoundCounter, Watch, batch_key, by_game, unplayed_games
from tabia.evaluation.records import Record
from tabia.evaluation.tournament import by_pairing


class BatchSpec(NamedTuple):
    """A batch of games to play, some of them perhaps partly played."""

    players: tuple[int, ...]  # places in the lineup
    games: tuple[GameInProgress, ...]
    seed: int  # of the match
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
        players = [self._players[place] for place in spec.players]
        key = batch_key(spec.seed, spec.first)
        batch = GameBatch(self._game, players, spec.games, key, smallest=spec.smallest)
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
    done: Sequence[Record] = (),
    watch: Watch = lambda records: None,
    progress: Callable[[float], None] = lambda games: None,
) -> list[PlayedMatch]:
    """Play matches of one game, or the rest of them after the games `done`.

    `watch` receives all records so far after each batch, in order; `progress` the number of games played, fractions
    of batches included. A sequential test ends the match as soon as it is decided.
    """
    plans, places = _plans(matches, done), {spec: place for place, spec in enumerate(_specs(matches))}
    left = {plan.name: plan for plan in plans if not plan.over}

    def observe(running: Mapping[str, float]) -> None:
        partly = sum(fraction * left[name].count for name, fraction in running.items())
        progress(sum(plan.count for plan in plans if plan.over) + partly)

    if not _is_decided(matches, plans):
        jobs = [Job(name, partial(plan.spec, places)) for name, plan in left.items()]
        with closing(run(jobs, observe)) as results:
            for name, played in results:
                left[name].records, left[name].incidents = list(played.records), played.incidents
                watch([record for plan in plans for record in plan.records])
                if _is_decided(matches, plans):
                    break
    return [_counted(match, plans, number) for number, match in enumerate(matches)]


class _Plan:
    """One batch of a match, and what has been played of it."""

    def __init__(self, number: int, match: Match, rounds: range, pending: Mapping[GameKey, Record]) -> None:
        self.number, self._match, self._rounds, self._pending = number, match, rounds, pending
        self.name = f"match {number + 1}, round {rounds.start + 1}"
        self.count = len(rounds) * len(match.seatings)
        keys = [(round_ + 1, _names(match, seating)) for round_ in rounds for seating in match.seatings]
        self.records = [pending[key] for key in keys if key in pending]
        self.incidents: tuple[Incident, ...] = ()

    @property
    def over(self) -> bool:
        return len(self.records) == self.count and all(record.finished for record in self.records)

    def spec(self, places: Mapping[str, int]) -> BatchSpec:
        return BatchSpec(
            players=tuple(places[spec] for spec in self._match.specs),
            games=tuple(unplayed_games(self._match, self._rounds, self._pending)),
            seed=self._match.seed,
            first=self._rounds.start,
            smallest=self._match.smallest,
        )


def _names(match: Match, seating: Sequence[int]) -> tuple[str, ...]:
    return tuple(match.specs[player] for player in seating)


def _plans(matches: Sequence[Match], done: Sequence[Record]) -> list[_Plan]:
    known = by_pairing(done)
    return [
        _Plan(number, match, rounds, by_game(known.get(frozenset(match.specs), [])))
        for number, match in enumerate(matches)
        for rounds in match.batches
    ]


def _is_decided(matches: Sequence[Match], plans: Sequence[_Plan]) -> bool:
    """Whether a sequential test has ended a match."""
    tested = (number for number, match in enumerate(matches) if match.test is not None)
    return any(_counted(matches[number], plans, number).verdict is not None for number in tested)


def _counted(match: Match, plans: Sequence[_Plan], number: int) -> PlayedMatch:
    """The rounds of a match that are finished, with all rounds before them."""
    own = list(takewhile(lambda plan: plan.over, (plan for plan in plans if plan.number == number)))
    records = [record for plan in own for record in plan.records]
    counter = RoundCounter(match)
    counter.update(records)
    return PlayedMatch(
        records=[one for one in records if one.round <= counter.rounds],
        rounds=counter.rounds,
        verdict=counter.verdict,
        incidents=[incident for plan in own for incident in plan.incidents],
    )
