"""Sections 9.4 and 9.6 of Schulte 2021: search against the network alone, and points and places by seat."""

from __future__ import annotations

from collections.abc import Sequence

from tabia.evaluation import Record, match_result
from tabia.games.game import Game
from tabia.studies.estimates import average, percentage
from tabia.studies.matches import MakePlayer, MatchPart, Measure, score
from tabia.studies.part import Outcome
from tabia.studies.parts.checkers import GREEDY, SEATS, CheckersScale, match_part, opponent, player_of, points

PLACES = ("1st", "2nd", "3rd")
SEARCH_SCORE, SEARCH_ALONE = "agent against network: score", "agent against network, alone: points"
SEARCH_DOUBLE = "agent against network, 2 against 1: points"
NETWORK_ALONE = "network against agent, 1 against 2: points"
NETWORK_DOUBLE = "network against agent, 2 against 1: points"
AGAINST_NETWORK = "agent-against-network"


def seat_key(kind: str, seat: int) -> str:
    return f"{kind}, seat {seat + 1}: points"


def place_key(kind: str, seat: int, place: int) -> str:
    return f"{kind}, seat {seat + 1}: {PLACES[place]} place"


def search_against_network(scale: CheckersScale, seed: int, repeat: int) -> MatchPart:
    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        alone = points(records, names[0], True)
        return Outcome((score(SEARCH_SCORE, game, records, names[0]), average(SEARCH_ALONE, alone, "points")))

    run = f"train-published-{repeat}"
    return match_part(
        scale,
        seed,
        repeat,
        name=AGAINST_NETWORK,
        keys=(SEARCH_SCORE, SEARCH_ALONE),
        measure=measure,
        players=(player_of(scale, run, "agent"), player_of(scale, run, "network")),
        games=scale.games,
    )


def search_by_seats(scale: CheckersScale, seed: int, repeat: int) -> MatchPart:
    """Both players of `search_against_network` alone and as two of three, in the same games.

    A part of its own, because results of that part exist without these values.
    """
    keys = (SEARCH_DOUBLE, NETWORK_ALONE, NETWORK_DOUBLE)

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        held = ((names[0], False), (names[1], True), (names[1], False))
        found = [points(records, *one) or [0.0, 0.0] for one in held]
        return Outcome(tuple(average(key, one, "points") for key, one in zip(keys, found, strict=True)))

    run = f"train-published-{repeat}"
    return match_part(
        scale,
        seed,
        repeat,
        name="agent-and-network-by-seats",
        games_of=AGAINST_NETWORK,
        keys=keys,
        measure=measure,
        players=(player_of(scale, run, "agent"), player_of(scale, run, "network")),
        games=scale.games,
    )


def seats(scale: CheckersScale, seed: int, repeat: int, kind: str) -> MatchPart:
    """Points by seat in games of one player against itself."""
    keys = tuple(seat_key(kind, seat) for seat in range(SEATS))

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        return Outcome(
            tuple(average(key, [record.scores[seat] for record in records], "points") for seat, key in enumerate(keys))
        )

    return match_part(
        scale,
        seed,
        repeat,
        name=f"seats-{kind}",
        keys=keys,
        measure=measure,
        players=_against_itself(scale, repeat, kind),
        games=scale.network_games,
    )


def _against_itself(scale: CheckersScale, repeat: int, kind: str) -> tuple[MakePlayer, ...]:
    player = opponent(scale) if kind == GREEDY else player_of(scale, f"train-published-{repeat}", kind)
    return (player,) * scale.seats


def places(scale: CheckersScale, seed: int, repeat: int, kind: str) -> MatchPart:
    """Places by seat in the games of `seats`; those of Greedy need no network.

    A part of its own, because results of that part exist without these values.
    """
    return match_part(
        scale,
        seed,
        repeat,
        name=f"places-{kind}",
        games_of=f"seats-{kind}",
        keys=place_keys(kind, scale.seats),
        measure=places_by_seat(kind),
        players=_against_itself(scale, repeat, kind),
        games=scale.network_games,
        run=kind != GREEDY,
    )


def place_keys(kind: str, count: int) -> tuple[str, ...]:
    """The keys of all places of all seats."""
    return tuple(place_key(kind, seat, place) for seat in range(count) for place in range(count))


def places_by_seat(kind: str) -> Measure:
    """How often each seat came in each place, all games counted; seats with equal scores share the better place."""

    def measure(game: Game, records: Sequence[Record], names: Sequence[str]) -> Outcome:
        found = [
            percentage(place_key(kind, seat, place), count, one.games)
            for seat, one in enumerate(match_result(game, records, unique=False).seats)
            for place, count in enumerate(one.places)
        ]
        return Outcome(tuple(found))

    return measure
