"""Sample games for a run's report: numbered moves and the final board."""

from __future__ import annotations

import textwrap

from tabia.core.text import markdown, markdown_block
from tabia.evaluation.records import Record, RecordError, replay
from tabia.games.game import Game
from tabia.training.run.directory import RunDirectory
from tabia.training.run.stored_games import stored

_GAMES = 3


def section(run: RunDirectory, game: Game) -> list[str]:
    """The newest stored games that differ, each with its final board; nothing where none are stored."""
    try:
        iteration, held = next(
            ((iteration, held) for iteration, held in reversed(stored(run).items()) if held), (0, [])
        )
        chosen = list({record.moves: record for record in held}.values())[:_GAMES]
        shown = [readable(game, record) for record in chosen]
    except RecordError as error:
        return ["## Games", f"The stored games cannot be read: {markdown(str(error))}"]
    words = f"Self-play after iteration {iteration:,}, from the start. All stored games are in `games/`."
    return ["## Games", words, *shown] if shown else []


def readable(game: Game, record: Record) -> str:
    """One game: its moves, how it ended, the final board."""
    text = "\n".join(textwrap.wrap(notation(game, record), 100))
    block = markdown_block(f"{text}\n\n{_final(game, record)}")
    return f"**{result(record)}**, {len(record.moves)} moves\n\n{block}"


def notation(game: Game, record: Record) -> str:
    """The moves, numbered each time the turn comes back to the first seat."""
    session, number, before = replay(game, record), 0, -1
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
    """Who won, in words.

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
    return replay(game, record).draw().rstrip("\n")
