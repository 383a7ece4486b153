"""Elo ratings of the checkpoints of a run, from a small tournament among them that is stored in games/ratings.txt.

The games are reused as long as the tournament is the same, so a second report costs nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from tabia.evaluation import ratings, records
from tabia.evaluation.rating_plot import plot_ratings, spec_iterations
from tabia.evaluation.recorder import Recorder
from tabia.evaluation.records import RecordError
from tabia.evaluation.tournament import Tournament, checkpoint_tournament, play_tournament
from tabia.games.game import Game
from tabia.training.run.directory import RunDirectory

FILE = "ratings.txt"

OnProgress = Callable[[int, int], None]  # receives the number of finished games and the total


class Ratings(NamedTuple):
    """Checkpoints in the order of their iterations; the first is rated 0."""

    iterations: tuple[int, ...]
    elo: tuple[float, ...]
    error: tuple[float, ...]  # half the width of the 95% interval
    games: int
    simulations: int  # per move; 0: the network alone
    draw: Callable[[Path], None]  # draws the figure


def rate_checkpoints(
    run: RunDirectory,
    game: Game,
    *,
    most: int = 8,
    games: int = 20,
    nearest: int = 2,
    simulations: int = 64,
    on_progress: OnProgress = lambda done, total: None,
) -> Ratings:
    """Rate at most `most` checkpoints by games against their `nearest` neighbors; RatingError if there is only one."""
    tournament = checkpoint_tournament(
        run.path, most=most, simulations=simulations, games=games, nearest=nearest, game=game
    )
    played = ratings.rated_games(_play(run, tournament, on_progress))
    found = ratings.rate(played, anchor=tournament.specs[0])
    iterations = [step or 0 for step in spec_iterations(found.names)]
    order = sorted(range(len(iterations)), key=iterations.__getitem__)
    elo, error = ([float(values[row]) for row in order] for values in (found.elo, found.error))

    def draw(path: Path) -> None:
        plot_ratings(path, [found.names[row] for row in order], elo, error, within=run.path)

    return Ratings(
        iterations=tuple(iterations[row] for row in order),
        elo=tuple(elo),
        error=tuple(error),
        games=len(played),
        simulations=simulations,
        draw=draw,
    )


def _play(run: RunDirectory, tournament: Tournament, on_progress: OnProgress) -> list[records.Record]:
    path, kind = run.make_folder(run.games) / FILE, "tournament"
    if not _same(run, path, kind, tournament.settings):
        with contextlib.suppress(OSError):  # a file that cannot be removed cannot be replaced, and that is reported
            path.unlink(missing_ok=True)
    with Recorder(path, kind, tournament.settings, within=run.path) as recorder:

        def watch(games: Sequence[records.Record]) -> None:
            recorder.update(games)
            on_progress(sum(game.finished for game in games), tournament.total)

        found = play_tournament(tournament, done=recorder.records, watch=watch)
        recorder.update(found, save=True)
    return found


def _same(run: RunDirectory, path: Path, kind: str, settings: str) -> bool:
    try:
        return records.load(path, within=run.path).header.get(kind) == settings
    except RecordError:
        return False
