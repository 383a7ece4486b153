"""Self-play games in readable notation: a few per checkpoint, in games/<iteration>.txt.

They come from the replay buffer, where the games of a lane follow each other. A game is complete there if the row of
its first move has not been overwritten:

    row   ply  ended            the game that ended in row 6 at ply 3 started in row 6 - 3
     2     5    yes
     3     0
     4     1
     5     2
     6     3    yes

Axis letters: W rows, B lanes.
"""

from __future__ import annotations

import re
import textwrap
from typing import Any, NamedTuple

import jax
import numpy as np
from jax import Array

from tabia.core import files
from tabia.core.text import markdown_block
from tabia.evaluation import records
from tabia.evaluation.records import Record, RecordFile
from tabia.games.game import Game
from tabia.games.session import Session
from tabia.training.iteration import IterationResult
from tabia.training.observers import BaseObserver
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory
from tabia.training.selfplay.replay import ReplayBuffer
from tabia.training.training import Training

_ITERATION = re.compile("[0-9]{1,12}")


class StoredGames(BaseObserver):
    """Writes games at each checkpoint, except for games of chance: the replay buffer does not keep their dice."""

    def on_start(self, training: Training) -> None:
        """Write the games of the newest checkpoint, if the run was killed before they were written."""
        files.remove_unfinished(training.run.games)
        iteration = training.counters.iteration
        if training.saved == iteration and not (training.run.games / f"{iteration}.txt").exists():
            self.on_save(training)

    def on_iteration(self, training: Training, result: IterationResult) -> dict[str, Any]:
        """Write all games that ended in the iteration, if the run keeps all."""
        iteration, plan = training.counters.iteration, Plan(training.config)
        if not training.config.checkpoints.all_games or plan.game.chance:
            return {}
        turn = (iteration - 1) % len(plan.boards)
        board, buffer = plan.boards[turn], training.state.boards[turn].buffer
        found = games(board.game, buffer, None, player=f"self-play@{iteration}", new=board.config.selfplay.plies)
        store(training.run, iteration, found)
        return {}

    def on_save(self, training: Training) -> None:
        plan, count = Plan(training.config), training.config.checkpoints.games
        if not count or plan.game.chance or training.config.checkpoints.all_games:
            return
        iteration = training.counters.iteration
        found = games(
            plan.game, training.state.boards[0].buffer, count, player=f"self-play@{iteration}", rows=2 * plan.reach
        )
        store(training.run, iteration, found)


class _Moves(NamedTuple):
    """The fields of a replay buffer from which games are read, oldest row first."""

    action: np.ndarray  # int[W, B]
    ply: np.ndarray  # int[W, B]
    opening: np.ndarray  # int[W, B]
    ended: np.ndarray  # bool[W, B]
    resigned: np.ndarray  # bool[W, B]
    scores: np.ndarray  # float[W, B, P] in [-1, 1]


def games(
    game: Game, buffer: ReplayBuffer, count: int | None, *, player: str, rows: int | None = None, new: int | None = None
) -> list[Record]:
    """The newest games, at most `count`, played from the initial position to the end within the newest `rows`.

    With `new`, only those that ended within that many of the newest rows.
    """
    moves = _moves(buffer, rows)
    row, lane = np.nonzero(moves.ended & (moves.opening == 0))
    complete = (moves.ply[row, lane] <= row) & (row >= len(moves.ended) - (new or len(moves.ended)))
    places = list(zip(row[complete], lane[complete], strict=True))[-(count or len(row)) :]
    return [_record(game, moves, int(row), int(lane), player) for row, lane in places]


def store(run: RunDirectory, iteration: int, found: list[Record]) -> None:
    """Write the games of a checkpoint, if there are any."""
    if found:
        folder = run.make_folder(run.games)
        records.save(folder / f"{iteration}.txt", RecordFile({"iteration": str(iteration)}, found), within=run.path)


def stored(run: RunDirectory) -> dict[int, list[Record]]:
    """All stored games by iteration, in order."""
    paths = {int(path.stem): path for path in run.games.glob("*.txt") if _ITERATION.fullmatch(path.stem)}
    return {iteration: records.load(paths[iteration], within=run.path).records for iteration in sorted(paths)}


def _moves(buffer: ReplayBuffer, rows: int | None) -> _Moves:
    capacity, written = buffer.ready.shape[0], int(buffer.rows)
    held = min(written, capacity, rows or capacity)
    order = np.arange(written - held, written) % capacity
    wanted = {name: getattr(buffer.plies, name) for name in _Moves._fields}
    return _Moves(**jax.device_get(_rows(wanted, order)))


@jax.jit
def _rows(arrays: dict[str, Array], order: Array) -> dict[str, Array]:
    """These rows of all arrays, in one program."""
    return {name: array[order] for name, array in arrays.items()}


def _record(game: Game, held: _Moves, row: int, lane: int, player: str) -> Record:
    """The game that ended in this row of this lane; the move of a resignation was not played."""
    resigned = bool(held.resigned[row, lane])
    first = row - int(held.ply[row, lane])
    session = Session.replay(game, held.action[first : row + (not resigned), lane].tolist())
    scores = _unscaled(game, held.scores[row, lane]) if resigned else session.scores
    return Record(
        game=game.id,
        version=game.version,
        players=(player,) * game.num_players,
        moves=session.moves,
        scores=tuple(map(float, scores)),
        end="resigned" if resigned else "over",
    )


def _unscaled(game: Game, scores: np.ndarray) -> np.ndarray:
    """The inverse of `Game.scale`."""
    low, high = game.score_range
    return (scores + 1.0) * ((high - low) / 2.0) + low


# Games for a report.


def readable(game: Game, record: Record) -> str:
    """A game as Markdown: its result, its moves and the final board."""
    text = "\n".join(textwrap.wrap(notation(game, record), 100))
    block = markdown_block(f"{text}\n\n{_final(game, record)}")
    return f"**{result(record)}**, {len(record.moves)} moves\n\n{block}"


def notation(game: Game, record: Record) -> str:
    """The moves, numbered whenever it is the first seat's turn again."""
    session, number, before = records.replay(game, record), 0, -1
    words: list[str] = []
    for ply, name in enumerate(record.moves):
        mover = session.at(ply).mover
        if not words or (mover == 0 and before != 0):
            number += 1
            words.append(f"{number}.")
        words.append(name)
        before = mover
    return " ".join(words)


def result(record: Record) -> str:
    """The result in words.

    >>> result(Record("toy", 1, ("a", "b"), (), (1.0, -1.0)))
    'Seat 1 wins'
    >>> result(Record("toy", 1, ("a", "b", "c"), (), (1.0, 3.0, 0.0)))
    'Seat 2 wins (1, 3, 0)'
    """
    best = [seat for seat, score in enumerate(record.scores, start=1) if score == max(record.scores)]
    points = f" ({', '.join(f'{score:g}' for score in record.scores)})" if len(record.scores) > 2 else ""
    how = " by resignation" if record.end == "resigned" else ""
    return (f"Seat {best[0]} wins{how}" if len(best) == 1 else "Draw") + points


def _final(game: Game, record: Record) -> str:
    return records.replay(game, record).draw().rstrip("\n")
