"""The accepted versions of a run: when each was accepted, and which ones play the matches (Schulte 2021, chapter 9).

Version 1 is the network after the games of the Initialize agent, whose learning is session 1; a version of a later
session has passed the gate. Only the names of checkpoints are needed, not their weights.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from tabia.players import runs
from tabia.studies.estimates import Estimate, exact
from tabia.studies.matches import spaced
from tabia.studies.part import Measurement, Outcome, Place, Series
from tabia.studies.parts.checkers import VERSIONS, CheckersScale
from tabia.studies.trainings import WEIGHTS, left_out

GAMES_BEFORE = "games before version"
PUBLISHED_SESSIONS = (1, 2, 3, 6, 8, 10, 11, 12, 13, 15, 17, 20, 22, 23, 27, 32, 34, 35, 37, 41)
"""Sessions that ended in an accepted version, by the author's code."""


def accepted_key(session: int) -> str:
    return f"versions after session {session}"


def number_key(index: int) -> str:
    """Which of the accepted versions a player of the matches is."""
    return f"version {index} of {VERSIONS - 1}: number in training"


def versions(scale: CheckersScale, repeat: int) -> Measurement:
    """When the versions of a run were accepted (figure 9.0.64), and which ones sections 9.1 and 9.2 measure."""
    run = f"train-published-{repeat}"
    played = [index for index in scale.versions if index]

    def measure(place: Place) -> Outcome:
        accepted = sessions(_iterations(place, run))
        # Every session learns, so the losses of a run have one point per session, over its games so far.
        games = place.outcome_of(run).series[f"{run}/loss_policy"].x
        before = {number: games[session - 1] for number, session in accepted.items() if session <= len(games)}
        curve = Series(tuple(map(float, before)), tuple(before.values()))
        counts = [
            exact(accepted_key(last), accepted_by(accepted.values(), last), "versions") for last in scale.sessions
        ]
        return Outcome((*counts, *_numbers(played, len(accepted))), {GAMES_BEFORE: curve})

    keys = (*map(accepted_key, scale.sessions), *map(number_key, played))
    return Measurement(name=f"versions-{repeat}", keys=keys, measure=measure, seed=repeat, needs=(run,), cost=0.1)


def _iterations(place: Place, run: str) -> list[int]:
    """The iterations in which a run accepted versions, also of those whose weights an archive left out."""
    folder = place.folder_of(run) / WEIGHTS
    return sorted({*runs.steps(folder), *map(int, left_out(folder))} - {0})  # 0: the untrained network


def sessions(iterations: Sequence[int]) -> dict[int, int]:
    """The session of each version by its number, from the iterations in which versions were accepted.

    >>> sessions([5, 6, 9])
    {1: 1, 2: 2, 3: 5}
    """
    return {number: iteration - iterations[0] + 1 for number, iteration in enumerate(iterations, start=1)}


def accepted_by(accepted: Collection[int], last: int) -> int:
    """How many versions were accepted up to a session."""
    return sum(session <= last for session in accepted)


def _numbers(played: Sequence[int], count: int) -> list[Estimate]:
    """The numbers of the versions that play, of `count` accepted ones and the untrained network."""
    return [exact(number_key(index), spaced(index, VERSIONS, count + 1), "version") for index in played]
