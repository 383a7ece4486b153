"""Self-play games in readable notation: a few at each checkpoint, in games/<iteration>.txt.

They are taken from the replay, where a lane's games stand one below the other. A game is whole there if the row of
its first move has not been written over:

    row   ply  ended            the game that ended in row 6 at ply 3 began in row 6 - 3
     2     5    yes
     3     0
     4     1
     5     2
     6     3    yes

Axis letters: W rows, B lanes.
"""

from __future__ import annotations

import re
from typing import NamedTuple

import numpy as np

from tabia.core import files
from tabia.evaluation import records
from tabia.evaluation.records import Book, Record
from tabia.games.game import Game
from tabia.games.session import Session
from tabia.training.loop import BaseObserver, Training
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory
from tabia.training.selfplay.replay import ReplayBuffer

_ITERATION = re.compile("[0-9]{1,12}")


class StoredGames(BaseObserver):
    """Writes games at each checkpoint; none of games of chance, whose dice the replay does not keep."""

    def begun(self, training: Training) -> None:
        """A run killed between a checkpoint and its games goes on from there: they are written now."""
        files.remove_unfinished(training.run.games)
        iteration = training.counters.iteration
        if training.saved == iteration and not (training.run.games / f"{iteration}.txt").exists():
            self.saved(training)

    def saved(self, training: Training) -> None:
        plan, count = Plan(training.config), training.config.checkpoints.games
        if not count or plan.game.chance:
            return
        iteration = training.counters.iteration
        found = games(
            plan.game, training.state.boards[0].buffer, count, player=f"self-play@{iteration}", rows=2 * plan.reach
        )
        store(training.run, iteration, found)


class Told(NamedTuple):
    """The part of the replay that tells its games, oldest row first."""

    action: np.ndarray  # int[W, B]
    ply: np.ndarray  # int[W, B]
    opening: np.ndarray  # int[W, B]
    ended: np.ndarray  # bool[W, B]
    resigned: np.ndarray  # bool[W, B]
    scores: np.ndarray  # float[W, B, P] in [-1, 1]


def games(game: Game, buffer: ReplayBuffer, count: int, *, player: str, rows: int | None = None) -> list[Record]:
    """The newest games, `count` at most, that began at the start and ended; looked for in the newest `rows`."""
    told = _told(buffer, rows)
    row, lane = np.nonzero(told.ended & (told.opening == 0))
    whole = told.ply[row, lane] <= row
    places = list(zip(row[whole], lane[whole], strict=True))[-count:]
    return [_record(game, told, int(row), int(lane), player) for row, lane in places]


def store(run: RunDirectory, iteration: int, found: list[Record]) -> None:
    """Write a checkpoint's games, if there are any."""
    if found:
        folder = run.make_folder(run.games)
        records.save(folder / f"{iteration}.txt", Book({"iteration": str(iteration)}, found), within=run.path)


def stored(run: RunDirectory) -> dict[int, list[Record]]:
    """All stored games by iteration, in order."""
    paths = {int(path.stem): path for path in run.games.glob("*.txt") if _ITERATION.fullmatch(path.stem)}
    return {iteration: records.read(paths[iteration], within=run.path).records for iteration in sorted(paths)}


def _told(buffer: ReplayBuffer, rows: int | None) -> Told:
    capacity, written = buffer.ready.shape[0], int(buffer.rows)
    held = min(written, capacity, rows or capacity)
    order = np.arange(written - held, written) % capacity
    plies = buffer.plies
    wanted = (plies.action, plies.ply, plies.opening, plies.ended, plies.resigned, plies.scores)
    return Told(*(np.asarray(leaf[order]) for leaf in wanted))


def _record(game: Game, told: Told, row: int, lane: int, player: str) -> Record:
    """The game that ended in this row of this lane; in a row given up, the move was not played."""
    resigned = bool(told.resigned[row, lane])
    first = row - int(told.ply[row, lane])
    session = Session.replay(game, told.action[first : row + (not resigned), lane].tolist())
    scores = _unscaled(game, told.scores[row, lane]) if resigned else session.scores
    return Record(
        game.id,
        game.version,
        (player,) * game.num_players,
        session.moves,
        tuple(map(float, scores)),
        end="resigned" if resigned else "over",
    )


def _unscaled(game: Game, scores: np.ndarray) -> np.ndarray:
    """The inverse of `Game.scale`."""
    low, high = game.score_range
    return (scores + 1.0) * ((high - low) / 2.0) + low
