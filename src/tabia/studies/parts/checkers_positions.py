"""What the network of the last version thinks of positions: illegal moves, the start, and positions of its games.

Evaluations 9.5 to 9.7 of Schulte 2021.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import islice
from typing import Any

import numpy as np

from tabia.evaluation import Record
from tabia.evaluation.illegal import illegal_share
from tabia.evaluation.records import load
from tabia.games import make
from tabia.games.chinese_checkers import ChineseCheckers
from tabia.games.session import Session
from tabia.studies.estimates import Estimate, average, exact
from tabia.studies.matches import RECORDS, trained
from tabia.studies.part import Measurement, Outcome, Place, Series
from tabia.studies.parts.checkers import SEATS, CheckersScale, game_id
from tabia.studies.parts.pictures import board_pictures, evaluate
from tabia.studies.trainings import steps

ILLEGAL = "illegal share by version"
FIRST_CHOICE, NEVER_TRIED = "opening: probability of the first choice", "opening: moves below 0.00001%"
_MOST_GAMES = 100  # searched for examples
_NEVER = 1e-7  # the pre-evaluation of the direct moves in the thesis


def illegal_key(last: bool) -> str:
    return f"illegal share, {'last' if last else 'first'} version"


def illegal(scale: CheckersScale, seed: int, repeat: int) -> Measurement:
    """How much probability the first and the last trained version give to illegal moves (9.5)."""
    run, keys = f"train-published-{repeat}", (illegal_key(False), illegal_key(True))

    def measure(place: Place) -> Outcome:
        game = make(game_id(scale))
        known = steps(place, run)
        players = [trained(run, player="network", step=str(step))(game, place) for step in (known[1], known[-1])]
        return Outcome(tuple(_share(key, player, scale) for key, player in zip(keys, players, strict=True)))

    return Measurement(name=f"illegal-{repeat}", keys=keys, measure=measure, seed=repeat, needs=(run,), cost=2.0)


def illegal_by_version(scale: CheckersScale, repeat: int) -> Measurement:
    """The same share for every trained version, as in figure 9.5.70.

    A part of its own, because results of `illegal` exist without the versions in between.
    """
    run = f"train-published-{repeat}"

    def measure(place: Place) -> Outcome:
        game, numbered = make(game_id(scale)), [step for step in steps(place, run) if step]
        players = [trained(run, player="network", step=str(step))(game, place) for step in numbered]
        shares = [_share(ILLEGAL, player, scale) for player in players]
        values, low, high = zip(*((one.value, one.low, one.high) for one in shares), strict=True)
        return Outcome(series={ILLEGAL: Series(tuple(map(float, range(1, len(shares) + 1))), values, low, high)})

    return Measurement(name=f"illegal-by-version-{repeat}", keys=(), measure=measure, seed=repeat, needs=(run,), cost=5)


def _share(key: str, player: Any, scale: CheckersScale) -> Estimate:
    """The probability that a network gives to illegal moves, in four groups of games."""
    return average(key, [_illegal_percent(player, scale.network_games // 4, number) for number in range(4)], "%")


def _illegal_percent(player: Any, games: int, seed: int) -> float:
    return 100 * illegal_share(player, games=games, seed=seed).share


def value_key(seat: int) -> str:
    return f"value of the start, seat {seat + 1}"


def opening(scale: CheckersScale, repeat: int) -> Measurement:
    """The value of the start by seat (9.6), the policy of the opening, and two positions of games (9.7)."""
    run, seats = f"train-published-{repeat}", 2 if scale.tiny else SEATS
    source = f"network-{scale.versions[-1]}-against-greedy-{repeat}" if scale.tiny else f"seats-network-{repeat}"

    def measure(place: Place) -> Outcome:
        game = make(game_id(scale))
        player = trained(run, player="network")(game, place)
        start = Session.start(game)
        policies, values = evaluate(player, {"start": start})
        games = (_played(start, record) for record in load(place.folder_of(source) / RECORDS).records)
        jumps = game.is_jump if isinstance(game, ChineseCheckers) else lambda action: False
        boards = {"The opening": start} | examples(games, jumps)
        pictures = {
            caption: picture
            for caption, board in boards.items()
            for picture in board_pictures(player, {caption: board}).values()
        }
        return Outcome((*_values(values[0]), *_policy(policies[0][np.asarray(start.legal)])), pictures=pictures)

    keys = (*map(value_key, range(seats)), FIRST_CHOICE, NEVER_TRIED)
    return Measurement(name=f"opening-{repeat}", keys=keys, measure=measure, seed=repeat, needs=(run, source))


def _values(values: np.ndarray) -> Iterable[Estimate]:
    return [exact(value_key(seat), float(value), "-1 to 1") for seat, value in enumerate(values)]


def _policy(legal: np.ndarray) -> Iterable[Estimate]:
    yield exact(FIRST_CHOICE, 100 * float(legal.max()), "%")
    yield exact(NEVER_TRIED, 100 * float((legal < _NEVER).mean()), "% of legal moves")


def _played(start: Session, record: Record) -> Session:
    return Session.replay(start.game, record.moves, seed=record.seed)


def examples(games: Iterable[Session], is_jump: Callable[[int], bool]) -> dict[str, Session]:
    """The middle of the first game, and the position where the last seat can jump and the others could least.

    The others' jumps are those they had when they moved in the same round; the first and last third do not count.
    """
    held = list(islice(games, _MOST_GAMES))
    middle = held[0].ply // 2
    found = {f"Example 1: after {middle} moves": held[0].at(middle)}
    rounds = [
        (others_jumps(session, ply, is_jump), number, ply)
        for number, session in enumerate(held)
        for ply in range(session.ply // 3, 2 * session.ply // 3)
    ]
    known = [(count, number, ply) for count, number, ply in rounds if count is not None]
    if known:
        count, number, ply = min(known)
        others = "no other seat" if count == 0 else f"the others have {count} jumps"
        found[f"Example 2: the last seat can jump, {others}"] = held[number].at(ply)
    return found


def others_jumps(session: Session, ply: int, is_jump: Callable[[int], bool]) -> int | None:
    """How many jumps the other seats had in the round before `ply`; None unless the last seat moves and can jump."""
    seats = session.game.num_players
    if ply < seats - 1 or int(session.positions[ply].mover) != seats - 1:
        return None
    *others, own = (
        sum(is_jump(int(action)) for action in np.flatnonzero(session.positions[one].legal))
        for one in range(ply - seats + 1, ply + 1)
    )
    return sum(others) if own else None
