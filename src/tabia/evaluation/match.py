"""Matches: two or more players, varied openings, every opening played in every seating.

    match = Match(game, (one, other), games=200, seed=0)
    played = play(match)
    print(match_result(game, played.records).players)

The games of one opening are a round. Rounds are the independent trials that intervals and the sequential test count.
Rounds are played in batches of fixed size, so on a CPU the same seed gives the same games, whether a match was
interrupted and resumed or not.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import jax
from jax import Array

from tabia.evaluation.batch import SMALLEST, GameBatch, GameInProgress, Incident, query_size
from tabia.evaluation.records import Record, replay
from tabia.evaluation.results import round_score
from tabia.evaluation.rounds import MatchError, Opening, draw_openings, seatings
from tabia.evaluation.significance import SequentialTest
from tabia.games import identity
from tabia.games.game import Game
from tabia.players.player import Player, Sized
from tabia.players.spec import PlayerError
from tabia.search import memory
from tabia.search.memory import Need

Watch = Callable[[Sequence[Record]], None]
"""Receives all records so far after every step, unfinished games included."""

GameKey = tuple[int, tuple[str, ...]]
"""Which game of a match a record is: its round and the players in their seats."""

Enough = Callable[[Sequence[Record]], bool]
"""Whether these records, all finished, are enough; called between batches."""


@dataclass(frozen=True)
class Match:
    """The settings of a match.

    `games` is rounded up to whole rounds. `openings` is the number of distinct openings (default: one per round); with
    fewer than rounds they repeat in order. `opening_moves` is their length (default: as short as possible, at least 4).
    """

    game: Game
    players: tuple[Player, ...]
    games: int = 200
    openings: int | None = None
    opening_moves: int | None = None
    seed: int = 0
    batch: int = 256  # the most games played side by side
    test: tuple[float, float, float, float] | None = None  # low, high, alpha, beta of a SequentialTest
    smallest: int = SMALLEST  # the fewest positions per call of a player; a power of two
    unique: bool = True  # whether the sequential test counts equal games once

    def __post_init__(self) -> None:
        if self.games < 1 or self.batch < 1 or (self.openings is not None and self.openings < 1):
            raise MatchError("A match needs at least 1 game, 1 opening and 1 game at a time.")
        if not 0 <= (self.opening_moves or 0) < self.game.max_moves:
            raise MatchError(
                f"opening_moves={self.opening_moves}: games of {self.game.id} have at most {self.game.max_moves} moves."
            )
        if self.test is not None and (len(self.specs) != 2 or len(self.seatings) < 2):
            raise MatchError("A sequential test compares two different players.")
        check_records(self.total)
        for player in self.players:
            check_batch(player, self.rounds_per_batch * len(self.seatings))

    @property
    def specs(self) -> list[str]:
        """The specs of the players."""
        return [player.spec for player in self.players]

    @cached_property
    def seatings(self) -> list[tuple[int, ...]]:
        """The seatings of every round, each with the index of the player in every seat."""
        return seatings(self.game, self.specs)

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        return -(-self.games // len(self.seatings))

    @property
    def rounds_per_batch(self) -> int:
        """The number of rounds played side by side."""
        return min(self.rounds, max(1, self.batch // len(self.seatings)))

    @property
    def batches(self) -> list[range]:
        """The rounds of each batch, counted from 0; batches do not depend on each other."""
        size = self.rounds_per_batch
        return [range(first, min(first + size, self.rounds)) for first in range(0, self.rounds, size)]

    @property
    def total(self) -> int:
        """The number of games in all rounds."""
        return self.rounds * len(self.seatings)

    @cached_property
    def drawn(self) -> list[Opening]:
        """The openings, at least one."""
        wanted = min(self.openings or self.rounds, self.rounds)
        drawn = draw_openings(self.game, wanted, moves=self.opening_moves, seed=self.seed)
        if not drawn:
            raise MatchError(f"No game of {self.game.id} lasts longer than {self.opening_moves} random moves.")
        return drawn

    @property
    def settings(self) -> str:
        """Everything the games depend on, as one line of JSON; a match resumes only with equal settings."""
        return json.dumps(
            {
                **identity.fields(self.game, prefix=""),
                "players": self.specs,
                "games": self.games,
                "openings": self.openings,
                "opening_moves": self.opening_moves,
                "seed": self.seed,
                "batch": self.batch,
                "test": self.test,
                **({} if self.unique else {"unique": False}),
            }
        )

    def new_games(self, round_: int) -> list[GameInProgress]:
        """The games of a round (counted from 0), before the first move of a player."""
        opening = self.drawn[round_ % len(self.drawn)]
        games = []
        for seating in self.seatings:
            record = Record(
                game=self.game.id,
                version=self.game.version,
                players=tuple(self.specs[player] for player in seating),
                moves=(),
                scores=(0.0,) * self.game.num_players,
                opening=len(opening.actions),
                seed=opening.seed,
                round=round_ + 1,
                end="unfinished",
            )
            games.append(GameInProgress(seating, record, list(opening.actions)))
        return games


_RECORD_BYTES = 1_000  # the least that one game takes


def check_records(games: int) -> None:
    """Raise MatchError if the records of this many games would not fit into memory."""
    needed = [Need("games", games, games * _RECORD_BYTES, "for their records")]
    sentence = memory.shortage(needed, memory.machine_limit())
    if sentence is not None:
        raise MatchError(sentence)


def check_batch(player: Player, games: int) -> None:
    """Raise MatchError if the player needs too much memory for this many games side by side."""
    if isinstance(player, Sized):
        try:
            player.check_batch(query_size(games))
        except PlayerError as error:
            raise MatchError(f"{error} --batch sets how many games are played side by side.") from None


@dataclass
class PlayedMatch:
    """The games of a match and the verdict of its sequential test."""

    records: list[Record] = field(default_factory=list)  # of rounds 1 to `rounds`, all finished, duplicates included
    rounds: int = 0
    verdict: bool | None = None
    incidents: list[Incident] = field(default_factory=list)  # of players that follow games


def play(
    match: Match, *, done: Sequence[Record] = (), watch: Watch | None = None, enough: Enough = lambda records: False
) -> PlayedMatch:
    """Play a match, or the rest of it after the games `done`; start no further batch once the records are `enough`."""
    progress = RoundCounter(match)
    pending = by_game(done)
    records: list[Record] = []
    incidents: list[Incident] = []
    for rounds in match.batches:
        batch = _make_batch(match, rounds, pending)
        while progress.verdict is None:
            now = [*records, *(game.record for game in batch.games)]
            progress.update(now)
            if watch is not None:
                watch(now)
            if batch.over or progress.verdict is not None:
                break
            batch.step()
        records += [game.record for game in batch.games]
        incidents += batch.incidents
        if progress.verdict is not None or enough(records):
            break
    counted = [record for record in records if record.round <= progress.rounds]
    return PlayedMatch(counted, progress.rounds, progress.verdict, incidents)


def by_game(records: Iterable[Record]) -> dict[GameKey, Record]:
    """The records of a match by round and seating."""
    return {(record.round, record.players): record for record in records}


def unplayed_games(match: Match, rounds: range, pending: Mapping[GameKey, Record]) -> list[GameInProgress]:
    """The games of these rounds (counted from 0), resumed from their pending records."""
    games = [game for round_ in rounds for game in match.new_games(round_)]
    for game in games:
        before = pending.get((game.record.round, game.record.players))
        if before is not None:
            played = [] if before.finished else list(replay(match.game, before).actions)
            if not before.finished and played[: game.record.opening] != game.actions:
                raise MatchError(f"The game of round {before.round} cannot be resumed: it has another opening.")
            game.record, game.actions = before, played
    return games


Piece = tuple[Match, range]
"""Some rounds of a match, counted from 0. The pieces of several matches can be one batch."""


def games_of(pieces: Sequence[Piece], pending: Mapping[GameKey, Record], specs: Sequence[str]) -> list[GameInProgress]:
    """The games of these pieces, resumed from their pending records; players are numbered as in `specs`."""
    places = {spec: place for place, spec in enumerate(specs)}
    games = [game for match, rounds in pieces for game in unplayed_games(match, rounds, pending)]
    for game in games:
        game.players = tuple(places[spec] for spec in game.record.players)
    return games


def batch_key(seed: int, first: int) -> Array:
    """The random key of the batch that starts with round number `first`, counted from 0."""
    return jax.random.fold_in(jax.random.key(seed), first)


def _make_batch(match: Match, rounds: range, pending: Mapping[GameKey, Record]) -> GameBatch:
    games = unplayed_games(match, rounds, pending)
    return GameBatch(match.game, match.players, games, batch_key(match.seed, rounds.start), smallest=match.smallest)


class RoundCounter:
    """Counts finished rounds in order and passes the score of each to the sequential test."""

    def __init__(self, match: Match) -> None:
        self.rounds = 0  # finished, with all rounds before them
        self._per_round, self._first = len(match.seatings), match.specs[0]
        self._test = None if match.test is None else SequentialTest(*match.test)
        self._game, self._seen, self._unique = match.game, set[tuple[object, ...]](), match.unique

    @property
    def verdict(self) -> bool | None:
        return None if self._test is None else self._test.verdict

    def update(self, records: Sequence[Record]) -> None:
        """Count the finished rounds among all records so far, which are ordered by round."""
        size = self._per_round
        while self.verdict is None and len(records) >= (self.rounds + 1) * size:
            latest = records[self.rounds * size : (self.rounds + 1) * size]
            if not all(record.finished for record in latest):
                return
            self.rounds += 1
            if self._test is not None:
                counted = [record for record in latest if record.counts]
                fresh = [record for record in counted if not (self._unique and record.same in self._seen)]
                self._seen.update(record.same for record in counted)
                if fresh:
                    self._test.add(round_score(self._game, fresh, self._first))
