"""Tournaments: every player meets every other, or only its nearest in the order given (Glimmerfors's partial round robin)."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from tabia.evaluation.match import Match, Watch, check_records, play
from tabia.evaluation.openings import game_seed
from tabia.evaluation.records import Record
from tabia.evaluation.seating import MatchError
from tabia.games import identity
from tabia.games.game import Game
from tabia.players.player import Player


@dataclass(frozen=True)
class Tournament:
    """Who plays whom, and how often; every pairing is a match with openings of its own."""

    game: Game
    players: tuple[Player, ...]
    games: int = 40  # a pairing
    nearest: int | None = None  # how many places apart two players may stand and still meet; None: any
    opening_moves: int | None = None
    seed: int = 0
    together: int = 256

    def __post_init__(self) -> None:
        if len(set(self.specs)) < max(2, len(self.specs)):
            raise MatchError(f"A tournament needs two or more different players, not {', '.join(self.specs)}.")
        if self.nearest is not None and self.nearest < 1:
            raise MatchError(f"nearest={self.nearest}: at least 1 is needed, or nobody meets anybody.")
        check_records(self.games * len(pairings(len(self.players), self.nearest)))

    @property
    def specs(self) -> list[str]:
        return [player.spec for player in self.players]

    @property
    def settings(self) -> str:
        """Everything the games depend on, as one line of JSON."""
        return json.dumps(
            {
                **identity.fields(self.game, prefix=""),
                "players": self.specs,
                "games": self.games,
                "nearest": self.nearest,
                "opening_moves": self.opening_moves,
                "seed": self.seed,
                "together": self.together,
            }
        )

    @property
    def total(self) -> int:
        """How many games it has."""
        return sum(match.total for match in self.matches)

    @property
    def matches(self) -> list[Match]:
        """One a pairing."""
        found = []
        for number, (one, other) in enumerate(pairings(len(self.players), self.nearest)):
            pair = (self.players[one], self.players[other])
            found.append(
                Match(
                    self.game,
                    pair,
                    self.games,
                    opening_moves=self.opening_moves,
                    seed=game_seed(self.seed, number),
                    together=self.together,
                )
            )
        return found


def pairings(count: int, nearest: int | None = None) -> list[tuple[int, int]]:
    """Who meets whom, by place in the order given.

    >>> pairings(4, nearest=1)
    [(0, 1), (1, 2), (2, 3)]
    """
    apart = count if nearest is None else nearest
    return [(one, other) for one in range(count) for other in range(one + 1, min(one + apart, count - 1) + 1)]


def play_tournament(tournament: Tournament, *, done: Sequence[Record] = (), watch: Watch | None = None) -> list[Record]:
    """Play a tournament, or what is left of it after the games `done`."""
    records: list[Record] = []
    before: dict[frozenset[str], list[Record]] = {}
    for record in done:
        before.setdefault(frozenset(record.players), []).append(record)
    for match in tournament.matches:
        known = before.get(frozenset(match.specs), [])
        whole = match.total
        if len(known) == whole and all(record.finished for record in known):
            records += known
            continue
        records += play(match, done=known, watch=_after(records, watch)).records
    return records


def _after(earlier: Sequence[Record], watch: Watch | None) -> Watch | None:
    """A watcher of one match that tells of the tournament's earlier games too."""
    before = tuple(earlier)
    return None if watch is None else lambda now: watch([*before, *now])
