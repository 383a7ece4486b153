"""Matches: two or more players, varied openings, every opening played in every seating.

    match = Match(game, [one, other], games=200, seed=0)
    played = play(match)
    print(tally(game, played.records).players)

The games of one opening are a round, and rounds are the independent trials that intervals and the sequential test
count. Rounds are played in waves of fixed size, so on a CPU the same seed gives the same games, whether a match was
played in one go or was stopped and continued.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import jax

from tabia.evaluation.openings import Opening, draw
from tabia.evaluation.records import Record, replay
from tabia.evaluation.seating import MatchError, seatings
from tabia.evaluation.sequential import SequentialTest
from tabia.evaluation.tally import round_share
from tabia.evaluation.wave import Seated, Wave, padded_size
from tabia.games import identity
from tabia.games.game import Game
from tabia.players.player import Player, Sized
from tabia.players.spec import PlayerError
from tabia.search import memory
from tabia.search.memory import Need

Watch = Callable[[Sequence[Record]], None]
"""Told all records so far, unfinished games included, after every step."""

Enough = Callable[[Sequence[Record]], bool]
"""Whether these records, all finished, are enough; asked between waves."""


@dataclass(frozen=True)
class Match:
    """What is to be played.

    `games` is rounded up to whole rounds. `openings` is the number of distinct ones, as many as rounds if not given;
    with fewer they come again in turn. `opening_moves` is their length, as short as possible (but 4) if not given.
    """

    game: Game
    players: tuple[Player, ...]
    games: int = 200
    openings: int | None = None
    opening_moves: int | None = None
    seed: int = 0
    together: int = 256  # games played side by side, at most
    test: tuple[float, float, float, float] | None = None  # low, high, alpha, beta of a SequentialTest
    smallest: int = 8  # positions a player is asked about at once, at least: a power of two

    def __post_init__(self) -> None:
        if self.games < 1 or self.together < 1 or (self.openings is not None and self.openings < 1):
            raise MatchError("A match needs at least 1 game, 1 opening and 1 game at a time.")
        if not 0 <= (self.opening_moves or 0) < self.game.max_moves:
            raise MatchError(
                f"opening_moves={self.opening_moves}: games of {self.game.id} have at most {self.game.max_moves} moves."
            )
        if self.test is not None and (len(self.specs) != 2 or len(self.seatings) < 2):
            raise MatchError("A sequential test compares two different players.")
        check_records(self.total)
        for player in self.players:
            check_batch(player, self.per_wave * len(self.seatings))

    @property
    def specs(self) -> list[str]:
        return [player.spec for player in self.players]

    @cached_property
    def seatings(self) -> list[tuple[int, ...]]:
        return seatings(self.game, self.specs)

    @property
    def rounds(self) -> int:
        return -(-self.games // len(self.seatings))

    @property
    def per_wave(self) -> int:
        """Rounds played side by side."""
        return min(self.rounds, max(1, self.together // len(self.seatings)))

    @property
    def total(self) -> int:
        """Games in all rounds: every seating of every opening."""
        return self.rounds * len(self.seatings)

    @cached_property
    def drawn(self) -> list[Opening]:
        """The openings, one or more."""
        wanted = min(self.openings or self.rounds, self.rounds)
        drawn = draw(self.game, wanted, moves=self.opening_moves, seed=self.seed)
        if not drawn:
            raise MatchError(f"No game of {self.game.id} lasts longer than {self.opening_moves} random moves.")
        return drawn

    @property
    def settings(self) -> str:
        """Everything the games depend on, as one line of JSON: a match is continued only where it is the same."""
        return json.dumps(
            {
                **identity.fields(self.game, prefix=""),
                "players": self.specs,
                "games": self.games,
                "openings": self.openings,
                "opening_moves": self.opening_moves,
                "seed": self.seed,
                "together": self.together,
                "test": self.test,
            }
        )

    def seated(self, round_: int) -> list[Seated]:
        """The games of a round (counted from 0), not begun."""
        opening = self.drawn[round_ % len(self.drawn)]
        blank = (0.0,) * self.game.num_players
        games = []
        for seating in self.seatings:
            specs = tuple(self.specs[player] for player in seating)
            record = Record(
                self.game.id,
                self.game.version,
                specs,
                (),
                blank,
                len(opening.actions),
                opening.seed,
                round_ + 1,
                "unfinished",
            )
            games.append(Seated(seating, record, list(opening.actions)))
        return games


_RECORD_BYTES = 1_000  # of one game, at least


def check_records(games: int) -> None:
    """Refuse so many games that their records would not fit into memory."""
    needed = [Need("games", games, games * _RECORD_BYTES, "for their records")]
    sentence = memory.shortage(needed, memory.machine_limit())
    if sentence is not None:
        raise MatchError(sentence)


def check_batch(player: Player, games: int) -> None:
    """Refuse so many games side by side that the player's memory would not do for them."""
    if isinstance(player, Sized):
        try:
            player.check_batch(padded_size(games))
        except PlayerError as error:
            raise MatchError(f"{error} --batch sets how many games are played side by side.") from None


@dataclass
class Played:
    """The games of a match, and what its sequential test said."""

    records: list[Record] = field(default_factory=list)  # of rounds 1 to `rounds`, all finished, duplicates included
    rounds: int = 0
    verdict: bool | None = None


def play(
    match: Match, *, done: Sequence[Record] = (), watch: Watch | None = None, enough: Enough = lambda records: False
) -> Played:
    """Play a match, or what is left of it after the games `done`; no wave begins once the records are `enough`."""
    judge = _Judge(match)
    pending = {(record.round, record.players): record for record in done}
    records: list[Record] = []
    for first in range(0, match.rounds, match.per_wave):
        wave = _wave(match, range(first, min(first + match.per_wave, match.rounds)), pending)
        while judge.verdict is None:
            now = [*records, *(seated.record for seated in wave.games)]
            judge.see(now)
            if watch is not None:
                watch(now)
            if wave.over or judge.verdict is not None:
                break
            wave.step()
        records += [seated.record for seated in wave.games]
        if judge.verdict is not None or enough(records):
            break
    counted = [record for record in records if record.round <= judge.rounds]
    return Played(counted, judge.rounds, judge.verdict)


def _wave(match: Match, rounds: range, pending: dict[tuple[int, tuple[str, ...]], Record]) -> Wave:
    """The games of these rounds, as far as they had been played."""
    games = []
    for seated in (seated for round_ in rounds for seated in match.seated(round_)):
        before = pending.get((seated.record.round, seated.record.players))
        if before is not None:
            known = seated.record.opening
            played = [] if before.finished else list(replay(match.game, before).actions)
            if not before.finished and played[:known] != seated.actions:
                raise MatchError(f"The game of round {before.round} to be continued began with another opening.")
            seated.record, seated.actions = before, played
        games.append(seated)
    key = jax.random.fold_in(jax.random.key(match.seed), rounds.start)
    return Wave(match.game, match.players, games, key, smallest=match.smallest)


class _Judge:
    """Follows the rounds in their order, whichever ends first, and tells the sequential test of each."""

    def __init__(self, match: Match) -> None:
        self.rounds = 0  # finished, with all before them
        self._per_round, self._first = len(match.seatings), match.specs[0]
        self._test = None if match.test is None else SequentialTest(*match.test)
        self._game, self._seen = match.game, set[tuple[object, ...]]()

    @property
    def verdict(self) -> bool | None:
        return None if self._test is None else self._test.verdict

    def see(self, records: Sequence[Record]) -> None:
        """Take in all records so far, which come round by round."""
        size = self._per_round
        while self.verdict is None and len(records) >= (self.rounds + 1) * size:
            latest = records[self.rounds * size : (self.rounds + 1) * size]
            if not all(record.finished for record in latest):
                return
            self.rounds += 1
            if self._test is not None:
                fresh = [record for record in latest if record.same not in self._seen]
                self._seen.update(record.same for record in latest)
                if fresh:
                    self._test.add(round_share(self._game, fresh, self._first))
