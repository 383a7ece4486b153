"""Ratings of a run's checkpoints, for its report: a small tournament among them, kept in games/ratings.txt.

The file is read again as long as the tournament is the same, so a second report costs nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tabia.evaluation import ratings, records
from tabia.evaluation.ratings import plot_ratings, spec_iterations
from tabia.evaluation.recorder import Recorder
from tabia.evaluation.records import RecordError
from tabia.evaluation.tournament import Tournament, checkpoint_tournament, play_tournament
from tabia.games.game import Game
from tabia.training.run.directory import RunDirectory

FILE = "ratings.txt"

Tell = Callable[[int, int], None]  # is told how many games are finished, and of how many


class Rated(NamedTuple):
    """The checkpoints in the order of their iterations; the first is rated 0."""

    iterations: tuple[int, ...]
    elo: tuple[float, ...]
    error: tuple[float, ...]  # half the width of the 95% interval
    games: int
    simulations: int  # a move; 0: the network alone
    draw: Callable[[Path], None]  # a figure


def rated(
    run: RunDirectory,
    game: Game,
    *,
    most: int = 8,
    games: int = 20,
    nearest: int = 2,
    simulations: int = 64,
    tell: Tell = lambda done, whole: None,
) -> Rated:
    """Rate at most `most` checkpoints by games of each against its nearest; RatingError where there is but one."""
    tournament = checkpoint_tournament(
        run.path, most=most, simulations=simulations, games=games, nearest=nearest, game=game
    )
    played = ratings.rated_games(_played(run, tournament, tell))
    found = ratings.rate(played, anchor=tournament.specs[0])
    iterations = [step or 0 for step in spec_iterations(found.names)]
    order = sorted(range(len(iterations)), key=iterations.__getitem__)
    names, elo, error = (
        found.names,
        [float(found.elo[row]) for row in order],
        [float(found.error[row]) for row in order],
    )

    def draw(path: Path) -> None:
        plot_ratings(path, [names[row] for row in order], elo, error, within=run.path)

    return Rated(tuple(iterations[row] for row in order), tuple(elo), tuple(error), len(played), simulations, draw)


def _played(run: RunDirectory, tournament: Tournament, tell: Tell) -> list[records.Record]:
    path, kind = run.make_folder(run.games) / FILE, "tournament"
    if not _same(run, path, kind, tournament.settings):
        with contextlib.suppress(OSError):  # what cannot be removed cannot be replaced either, and that is reported
            path.unlink(missing_ok=True)
    whole = tournament.total
    with Recorder(path, kind, tournament.settings, within=run.path) as recorder:

        def watch(games: Sequence[records.Record]) -> None:
            recorder.update(games)
            tell(sum(game.finished for game in games), whole)

        found = play_tournament(tournament, done=recorder.records, watch=watch)
        recorder.update(found, save=True)
    return found


def _same(run: RunDirectory, path: Path, kind: str, settings: str) -> bool:
    try:
        return records.load(path, within=run.path).header.get(kind) == settings
    except RecordError:
        return False
