"""Measuring a ladder: rated players of one game, 100 to 300 Elo from one rung to the next.

    plan = LadderPlan(game, tuple(ladder_candidates.pool(game)), games=256)
    records = measure(plan)
    print(select_rungs(rate_players(records, plan.specs[-1])))

First, neighbors in the order given play each other. Then every round rates all players with random at 0, selects the
chain of players whose steps are closest to 200 Elo, adds new candidates in its gaps, and pairs players that are one or
two places apart and have not met. Players outside the chain play no more. The next pairings follow from the games so
far, so a measurement resumes from its records on any machine.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import jax

from tabia.core.batching import padded_size
from tabia.evaluation import ladder_candidates, ratings
from tabia.evaluation.match import Match, Watch
from tabia.evaluation.rating_models import RatingError
from tabia.evaluation.records import Record
from tabia.evaluation.rounds import game_seed
from tabia.evaluation.tournament import by_pairing, play_in_series
from tabia.games.game import Game
from tabia.players import make
from tabia.players.ladder import ANCHOR, Rung
from tabia.players.player import Player
from tabia.players.spec import parse

STEP, NARROW, WIDE = 200.0, 100.0, 300.0  # Elo from rung to rung: target and bounds
_MARGIN = 25.0  # Elo inside the bounds, because later games change the ratings
_LINKS = (1, 2)  # the distances of players that meet during the rounds
_LONG_LINKS = (3,)  # and after them

OnRound = Callable[[int, Sequence[tuple[str, str]], Sequence[Rung]], None]
"""Receives the number of a round, its pairings and the ladder so far, before the round is played."""


@dataclass(frozen=True)
class LadderPlan:
    """The settings of a measurement."""

    game: Game
    specs: tuple[str, ...]  # roughly from weak to strong; the last is the top of the ladder
    games: int = 256  # per pairing
    rounds: int = 10  # the most rounds
    opening_moves: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if ANCHOR not in self.specs[:-1] or len(set(self.specs)) < max(2, len(self.specs)):
            raise RatingError(
                f"A ladder needs {ANCHOR} and stronger players, each once, not {', '.join(self.specs) or 'none'}."
            )

    @property
    def settings(self) -> str:
        """Everything the games depend on, as one line of JSON."""
        return json.dumps(
            {
                "game": self.game.id,
                "version": self.game.version,
                "players": self.specs,
                "games": self.games,
                "opening_moves": self.opening_moves,
                "seed": self.seed,
            }
        )

    def match(self, players: tuple[Player, Player]) -> Match:
        """The match of one pairing; all its games are played side by side, so that few programs are compiled."""
        index = zlib.crc32(" ".join(player.spec for player in players).encode())
        # On an accelerator a small batch costs as much as a full one; on a CPU it is cheaper.
        smallest = padded_size(self.games // (8 if jax.default_backend() == "cpu" else 2))
        return Match(
            game=self.game,
            players=players,
            games=self.games,
            opening_moves=self.opening_moves,
            seed=game_seed(self.seed, index),
            batch=self.games + 8,
            smallest=max(8, smallest),
        )


def measure(
    plan: LadderPlan, *, done: Sequence[Record] = (), watch: Watch | None = None, on_round: OnRound | None = None
) -> list[Record]:
    """Play the games that a ladder needs, or the rest of them after the games `done`."""
    pairings = _Pairings(plan, done, watch)
    ladder: list[Rung] = []
    fresh = pairings.missing(plan.specs, (1,))
    for number in range(1, plan.rounds + 1):
        if not fresh:
            break
        if on_round is not None:
            on_round(number, fresh, ladder)
        pairings.play(fresh)
        players = rate_players(pairings.records, plan.specs[-1])
        ladder = select_rungs(players)
        order = _fill_gaps(ladder, players)
        fresh = pairings.missing(order, _LINKS) or pairings.missing(order, _LONG_LINKS)
    return pairings.records


def rate_players(records: Sequence[Record], top: str) -> list[Rung]:
    """The players from random, at 0 Elo, to `top`, weakest first."""
    found = ratings.rate(records, anchor=ANCHOR)
    counts = dict.fromkeys(found.names, 0)
    for record in ratings.rated_games(records):
        for name in set(record.players):
            counts[name] += 1
    rungs = [
        Rung(
            name=describe(name),
            spec=name,
            elo=round(elo),
            low=round(elo - error),
            high=round(elo + error),
            games=counts[name],
        )
        for name, elo, error in zip(found.names, found.elo.tolist(), found.error.tolist(), strict=True)
    ]
    best = next(rung.elo for rung in rungs if rung.spec == top)
    inside = [rung for rung in rungs if rung.spec in {ANCHOR, top} or 0 < rung.elo < best]
    return sorted(inside, key=lambda rung: (rung.spec != ANCHOR, rung.elo, rung.spec == top))


def select_rungs(players: Sequence[Rung]) -> list[Rung]:
    """The rungs of a ladder among rated players, weakest first."""
    return [players[place] for place in chain([rung.elo for rung in players])]


def chain(elo: Sequence[float]) -> list[int]:
    """The indices of the ascending ratings with the best steps: close to 200, within 100 to 300; both ends included.

    >>> chain([0, 90, 210, 230, 400, 1000])
    [0, 2, 4, 5]
    """
    best: list[tuple[float, list[int]]] = [(0.0, [0])]
    for place in range(1, len(elo)):
        ways = [(cost + _cost(elo[place] - elo[before]), path) for before, (cost, path) in enumerate(best)]
        cost, path = min(ways, key=lambda way: way[0])
        best.append((cost, [*path, place]))
    return best[-1][1]


def _cost(step: float) -> float:
    outside = max(NARROW + _MARGIN - step, step - (WIDE - _MARGIN), 0.0)
    return ((step - STEP) / NARROW) ** 2 + (10.0 + outside / 10.0 if outside else 0.0)


def _fill_gaps(ladder: Sequence[Rung], players: Sequence[Rung]) -> list[str]:
    """The rungs with new players in the gaps."""
    known = {rung.spec: rung.elo for rung in players}
    order = [ladder[0].spec]
    for weak, strong in pairwise(ladder):
        if strong.elo - weak.elo > WIDE - _MARGIN:
            new = ladder_candidates.between(weak.elo, strong.elo, strong.spec, known)
            order += [] if new is None or new in order else [new]
        order.append(strong.spec)
    return order


def links(order: Sequence[str], distances: Iterable[int]) -> list[tuple[str, str]]:
    """The pairs of players at these distances in the order.

    >>> links("abc", (1, 2))
    [('a', 'b'), ('b', 'c'), ('a', 'c')]
    """
    return [pair for distance in distances for pair in zip(order, order[distance:], strict=False)]


def describe(spec: str) -> str:
    """A player in a few words.

    >>> describe("az:connect4,simulations=64"), describe("mcts:simulations=50")
    ('AlphaZero connect4, 64 simulations', 'MCTS, 50 simulations')
    """
    parsed = parse(spec)
    title = {"az": "AlphaZero", "mcts": "MCTS"}.get(parsed.name, parsed.name.capitalize())
    agent = "" if parsed.what is None else f" {parsed.what}" + (f"@{parsed.version}" if parsed.version else "")
    words = [f"{value} {key}" if key == "simulations" else f"{key} {value}" for key, value in parsed.options.items()]
    return ", ".join([title + agent, *words])


class _Pairings:
    """Plays each pairing once and keeps all records."""

    def __init__(self, plan: LadderPlan, done: Sequence[Record], watch: Watch | None) -> None:
        self._plan, self._watch = plan, watch
        self._players: dict[str, Player] = {}
        self._matches: dict[frozenset[str], list[Record]] = {}
        self._done = by_pairing(done)

    @property
    def records(self) -> list[Record]:
        return [record for match in self._matches.values() for record in match]

    def missing(self, order: Sequence[str], distances: Iterable[int]) -> list[tuple[str, str]]:
        """The pairs at these distances that have not met."""
        return [pair for pair in links(order, distances) if frozenset(pair) not in self._matches]

    def play(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Play these pairings."""
        for pair in pairs:
            self._matches[frozenset(pair)] = self._play(pair)

    def _play(self, pair: tuple[str, str]) -> list[Record]:
        one, other = sorted(pair)  # the match does not depend on who is stronger
        match = self._plan.match((self._player(one), self._player(other)))
        known = self._done.get(frozenset(pair), [])
        return play_in_series(match, known=known, earlier=self.records, watch=self._watch)

    def _player(self, spec: str) -> Player:
        if spec not in self._players:
            self._players[spec] = make(spec, self._plan.game)
        return self._players[spec]
