"""Tournaments: every player meets every other, or only its nearest in the order given (Glimmerfors 2022)."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tabia.core.text import quote
from tabia.core.trust import check_data
from tabia.evaluation.batch import SMALLEST, GameBatch
from tabia.evaluation.match import (
    Match,
    Piece,
    Watch,
    batch_key,
    by_game,
    check_batch,
    check_records,
    games_of,
    play,
)
from tabia.evaluation.rating_models import RatingError
from tabia.evaluation.records import Record
from tabia.evaluation.rounds import MatchError, game_seed
from tabia.games import identity, make
from tabia.games.game import Game
from tabia.networks import weights
from tabia.players import make as make_player
from tabia.players import runs
from tabia.players.player import Player


@dataclass(frozen=True)
class Tournament:
    """The settings of a tournament; every pairing is a match with its own openings."""

    game: Game
    players: tuple[Player, ...]
    games: int = 40  # per pairing
    nearest: int | None = None  # players up to this many places apart meet; None: all
    opening_moves: int | None = None
    seed: int = 0
    batch: int = 256  # the most games played side by side, of one pairing or of several
    smallest: int = SMALLEST  # the fewest positions per call of a player; a power of two

    def __post_init__(self) -> None:
        if len(set(self.specs)) < max(2, len(self.specs)):
            raise MatchError(f"A tournament needs two or more different players, not {', '.join(self.specs)}.")
        if self.nearest is not None and self.nearest < 1:
            raise MatchError(f"nearest={self.nearest}: must be at least 1.")
        check_records(self.games * len(pairings(len(self.players), self.nearest)))

    @property
    def specs(self) -> list[str]:
        """The specs of the players."""
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
                "batch": self.batch,
            }
        )

    @property
    def total(self) -> int:
        """The number of games."""
        return sum(match.total for match in self.matches)

    @property
    def matches(self) -> list[Match]:
        """One match per pairing."""
        return [
            Match(
                game=self.game,
                players=(self.players[one], self.players[other]),
                games=self.games,
                opening_moves=self.opening_moves,
                seed=game_seed(self.seed, index),
                batch=self.batch,
                smallest=self.smallest,
            )
            for index, (one, other) in enumerate(pairings(len(self.players), self.nearest))
        ]

    @property
    def batches(self) -> list[list[Piece]]:
        """The pieces of each batch: small matches are played side by side, large ones in several batches."""
        batches: list[list[Piece]] = []
        for match in self.matches:
            pieces = [(match, rounds) for rounds in match.batches]
            if batches and len(pieces) == 1 and self._fits(match, [other for other, _ in batches[-1]]):
                batches[-1] += pieces
            else:
                batches += [[piece] for piece in pieces]
        return batches

    def _fits(self, match: Match, others: Sequence[Match]) -> bool:
        """Whether a match can join others: its games are as long, and no player needs too much memory for all."""
        if sum(one.total for one in others) + match.total > self.batch:
            return False
        if len(match.drawn[0].actions) != len(others[0].drawn[0].actions):
            return False
        return all(self._has_memory(player, [*others, match]) for player in match.players)

    def _has_memory(self, player: Player, matches: Sequence[Match]) -> bool:
        games = sum(match.total for match in matches if player in match.players)
        try:
            check_batch(player, games)
        except MatchError:
            return False
        return True


def pairings(count: int, nearest: int | None = None) -> list[tuple[int, int]]:
    """The pairs of players that meet, by place in the order given.

    >>> pairings(4, nearest=1)
    [(0, 1), (1, 2), (2, 3)]
    """
    apart = count if nearest is None else nearest
    return [(one, other) for one in range(count) for other in range(one + 1, min(one + apart, count - 1) + 1)]


def play_tournament(tournament: Tournament, *, done: Sequence[Record] = (), watch: Watch | None = None) -> list[Record]:
    """Play a tournament, or the rest of it after the games `done`.

    A player moves in all games of a batch at once, in whatever pairings they are.
    """
    records: list[Record] = []
    before = by_pairing(done)
    for pieces in tournament.batches:
        pending = by_game(record for match, _ in pieces for record in before.get(frozenset(match.specs), []))
        games, (match, rounds) = games_of(pieces, pending, tournament.specs), pieces[0]
        if all(game.record.finished for game in games):
            records += [game.record for game in games]
            continue
        key = batch_key(match.seed, rounds.start)
        batch = GameBatch(tournament.game, tournament.players, games, key, smallest=tournament.smallest)
        while True:
            now = [*records, *(game.record for game in batch.games)]
            if watch is not None:
                watch(now)
            if batch.over:
                break
            batch.step()
        records = now
    return records


def play_in_series(
    match: Match, *, known: Sequence[Record], earlier: Sequence[Record], watch: Watch | None = None
) -> list[Record]:
    """The records of one match of several, resumed from those `known`; `watch` also gets those of `earlier` matches."""
    if len(known) == match.total and all(record.finished for record in known):
        return list(known)
    before = tuple(earlier)
    return play(match, done=known, watch=None if watch is None else lambda now: watch([*before, *now])).records


def by_pairing(records: Iterable[Record]) -> dict[frozenset[str], list[Record]]:
    """The records of several matches by the players that met."""
    found: dict[frozenset[str], list[Record]] = {}
    for record in records:
        found.setdefault(frozenset(record.players), []).append(record)
    return found


def checkpoint_tournament(
    run: Path,
    *,
    most: int = 12,
    simulations: int = 64,
    games: int = 40,
    nearest: int = 3,
    seed: int = 0,
    game: Game | None = None,
    options: str = "",
) -> Tournament:
    """A partial round robin among at most `most` evenly spaced checkpoints of a run, to show when it got stronger.

    `game` defaults to the game that the checkpoints name; `simulations=0` plays the networks without search. `options`
    are further options of all players, such as `rule=puct,dirichlet_fraction=0.25`.
    """
    steps = list(runs.steps(run))
    if len(steps) < 2:
        raise RatingError(f"{run} has {len(steps)} checkpoints; a rating needs at least two.")
    places = np.unique(np.linspace(0, len(steps) - 1, min(most, len(steps))).round().astype(int))
    chosen = [steps[place] for place in places]
    game = _checkpoint_game(run, chosen[0]) if game is None else game
    name, given = ("az", [f"simulations={simulations}"]) if simulations else ("network", [])
    given += [options] if options else []
    players = tuple(make_player(",".join([f"{name}:{run}@{step}", *given]), game) for step in chosen)
    return Tournament(game, players, games, nearest, seed=seed)


def _checkpoint_game(run: Path, step: int) -> Game:
    path = runs.weights_file(str(run), str(step))
    name = weights.read_manifest(path, within=run).metadata.get("game")
    if not isinstance(name, str):
        raise RatingError(f"{path} does not say which game it plays; name it: tabia rate {run} --game GAME")
    check_data(name, source=str(path), fix=f"tabia rate {run} --game {quote(name)}")
    return make(name)
