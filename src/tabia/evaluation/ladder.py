"""Measuring a ladder: players of one game, rated against each other, 100 to 300 Elo from one rung to the next.

    plan = Plan(game, tuple(candidates.pool(game)), games=256)
    records = measure(plan)
    print(chosen(rated(records, plan.specs[-1])))

The candidates play their neighbors in the order given. Then, round by round: rate everybody with random at 0, choose
the chain of candidates whose steps are nearest to 200 Elo, put new candidates into its gaps, and let those play who
are one or two places apart and have not met. Candidates outside the chain play no more. What is played next follows
from the games so far, so a measurement continues from its records, on any machine.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import jax

from tabia.evaluation import candidates, standings
from tabia.evaluation.match import Match, Watch, play
from tabia.evaluation.openings import game_seed
from tabia.evaluation.ratings import RatingError
from tabia.evaluation.records import Record
from tabia.games.game import Game
from tabia.players import make
from tabia.players.ladder import ANCHOR, Rung
from tabia.players.player import Player
from tabia.players.reading import power_of_two
from tabia.players.spec import parse

STEP, NARROW, WIDE = 200.0, 100.0, 300.0  # Elo from rung to rung: the aim, and the bounds
_MARGIN = 25.0  # Elo by which the chain keeps away from the bounds, since later games move the ratings
_LINKS = (1, 2)  # how many places apart players meet while the chain is sought
_LONG_LINKS = (3,)  # and once it is found

Tell = Callable[[int, Sequence[tuple[str, str]], Sequence[Rung]], None]
"""Told before each round its number, the pairings to come and the ladder so far."""


@dataclass(frozen=True)
class Plan:
    """What is measured."""

    game: Game
    specs: tuple[str, ...]  # weakest first, as far as one can guess; the last will be the top of the ladder
    games: int = 256  # per pairing
    rounds: int = 10  # at most, of looking for the chain
    opening_moves: int | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if ANCHOR not in self.specs[:-1] or len(set(self.specs)) < max(2, len(self.specs)):
            raise RatingError(
                f"A ladder needs {ANCHOR} and stronger players, each once, not {', '.join(self.specs) or 'nobody'}."
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
        """The match of one pairing: all its games side by side, so that every player needs few programs."""
        own = zlib.crc32(" ".join(player.spec for player in players).encode())
        # On an accelerator a full batch costs as little as a small one; on a CPU the late, small batches are cheaper.
        smallest = power_of_two(self.games // (8 if jax.default_backend() == "cpu" else 2))
        return Match(
            self.game,
            players,
            self.games,
            opening_moves=self.opening_moves,
            seed=game_seed(self.seed, own),
            together=self.games + 8,
            smallest=max(8, smallest),
        )


def measure(
    plan: Plan, *, done: Sequence[Record] = (), watch: Watch | None = None, tell: Tell | None = None
) -> list[Record]:
    """Play everything that a ladder needs, or what is left of it after the games `done`."""
    arena = _Arena(plan, done, watch)
    ladder: list[Rung] = []
    fresh = arena.missing(plan.specs, (1,))
    for number in range(1, plan.rounds + 1):
        if not fresh:
            break
        if tell is not None:
            tell(number, fresh, ladder)
        arena.play(fresh)
        everybody = rated(arena.records, plan.specs[-1])
        ladder = chosen(everybody)
        order = _with_new(ladder, everybody)
        fresh = arena.missing(order, _LINKS) or arena.missing(order, _LONG_LINKS)
    return arena.records


def rated(records: Sequence[Record], top: str) -> list[Rung]:
    """The players from random, who has 0 Elo, to `top`, weakest first."""
    found = standings.rate(records, anchor=ANCHOR)
    counts = dict.fromkeys(found.names, 0)
    for record in standings.counted(records):
        for name in set(record.players):
            counts[name] += 1
    rungs = [
        Rung(describe(name), name, round(elo), round(elo - error), round(elo + error), counts[name])
        for name, elo, error in zip(found.names, found.elo.tolist(), found.error.tolist(), strict=True)
    ]
    best = next(rung.elo for rung in rungs if rung.spec == top)
    inside = [rung for rung in rungs if rung.spec in {ANCHOR, top} or 0 < rung.elo < best]
    return sorted(inside, key=lambda rung: (rung.spec != ANCHOR, rung.elo, rung.spec == top))


def chosen(everybody: Sequence[Rung]) -> list[Rung]:
    """The rungs of a ladder among players in ascending order."""
    return [everybody[place] for place in chain([rung.elo for rung in everybody])]


def chain(elo: Sequence[float]) -> list[int]:
    """The places in ascending ratings, first and last included, whose steps are best: near 200, within 100 to 300.

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


def _with_new(ladder: Sequence[Rung], everybody: Sequence[Rung]) -> list[str]:
    """The rungs, and new players in their gaps."""
    known = {rung.spec: rung.elo for rung in everybody}
    order = [ladder[0].spec]
    for weak, strong in pairwise(ladder):
        if strong.elo - weak.elo > WIDE - _MARGIN:
            new = candidates.between(weak.elo, strong.elo, strong.spec, known)
            order += [] if new is None or new in order else [new]
        order.append(strong.spec)
    return order


def links(order: Sequence[str], distances: Iterable[int]) -> list[tuple[str, str]]:
    """Players so many places apart.

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


class _Arena:
    """Plays pairings, each once, and keeps all records."""

    def __init__(self, plan: Plan, done: Sequence[Record], watch: Watch | None) -> None:
        self._plan, self._watch = plan, watch
        self._players: dict[str, Player] = {}
        self._matches: dict[frozenset[str], list[Record]] = {}
        self._done: dict[frozenset[str], list[Record]] = {}
        for record in done:
            self._done.setdefault(frozenset(record.players), []).append(record)

    @property
    def records(self) -> list[Record]:
        return [record for match in self._matches.values() for record in match]

    def missing(self, order: Sequence[str], distances: Iterable[int]) -> list[tuple[str, str]]:
        """The players so many places apart who have not met."""
        return [pair for pair in links(order, distances) if frozenset(pair) not in self._matches]

    def play(self, pairs: Iterable[tuple[str, str]]) -> None:
        """Play these pairings."""
        for pair in pairs:
            self._matches[frozenset(pair)] = self._play(pair)

    def _play(self, pair: tuple[str, str]) -> list[Record]:
        one, other = sorted(pair)  # the same match, whoever is stronger
        match = self._plan.match((self._player(one), self._player(other)))
        known = self._done.get(frozenset(pair), [])
        if len(known) == match.total and all(record.finished for record in known):
            return known
        before, watch = self.records, self._watch
        see = None if watch is None else lambda now: watch([*before, *now])
        return play(match, done=known, watch=see).records

    def _player(self, spec: str) -> Player:
        if spec not in self._players:
            self._players[spec] = make(spec, self._plan.game)
        return self._players[spec]
