"""Stored self-play games against a slow reference that keeps whole games while it fills a buffer by hand."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from tabia.evaluation import records
from tabia.games import make
from tabia.games.session import Session, move_word
from tabia.training.run import stored_games
from tabia.training.run.stored_games import games, stored
from tabia.training.selfplay.play import Plies
from tabia.training.selfplay.replay import ReplayBuffer


class Game(NamedTuple):
    """A game as the reference keeps it."""

    first: int
    ended: int
    moves: tuple[str, ...]
    scores: tuple[float, ...]
    opening: int


def _played(game, rows: int, lanes: int, capacity: int, seed: int):
    """Random play in lanes, written to a buffer row by row; a third of the games have an opening of one move."""
    dice = np.random.default_rng(seed)
    shape = (capacity, lanes)
    held = {name: np.zeros(shape, int) for name in ("action", "ply", "opening")}
    held |= {name: np.zeros(shape, bool) for name in ("ended", "resigned")}
    scores, whole = np.zeros((*shape, game.num_players), np.float32), []
    for lane in range(lanes):
        session = None
        for row in range(rows):
            if session is None:
                session, first, names, opening = Session.start(game), row, [], int(dice.random() < 1 / 3)
                if opening:
                    session = session.play(int(dice.choice(np.flatnonzero(session.legal))))
            action = int(dice.choice(np.flatnonzero(session.legal)))
            names.append(move_word(game, action, session.state))
            ply = opening + len(names) - 1
            session = session.play(action)
            place = (row % capacity, lane)
            for name, value in (("action", action), ("ply", ply), ("opening", opening), ("ended", session.over)):
                held[name][place] = value
            scores[place] = game.scale(session.scores)
            if session.over:
                ended = Game(
                    first=first,
                    ended=row,
                    moves=tuple(names),
                    scores=tuple(map(float, session.scores)),
                    opening=opening,
                )
                whole.append((row, lane, ended))
                session = None
    plies = Plies(
        states=None,
        policy=None,
        values=None,
        valued=None,
        prior=None,
        agrees=None,
        explored=None,
        full_search=None,
        scores=scores,
        **held,
    )
    buffer = ReplayBuffer(
        plies=plies,
        outcome=scores,
        ready=np.zeros(shape, bool),
        left=np.zeros(shape, np.int16),
        rows=np.int32(rows),
    )
    return buffer, [found for _, _, found in sorted(whole, key=lambda entry: entry[:2])]


@pytest.mark.parametrize("id", ["tictactoe", "connect:rows=3,columns=3,line=3,players=3"])
@pytest.mark.parametrize("rows", [9, 40])  # before the buffer is full, and after it has wrapped around
def test_games_are_those_played_from_the_initial_position_to_the_end(id: str, rows: int) -> None:
    game = make(id)
    buffer, reference = _played(game, rows, lanes=3, capacity=24, seed=rows)
    kept = [found for found in reference if not found.opening and found.first >= rows - 24]
    found = games(game, buffer, 1000, player="self-play@7")
    assert [(record.moves, record.scores) for record in found] == [(game.moves, game.scores) for game in kept]
    assert kept
    assert games(game, buffer, 2, player="self-play@7") == found[-2:]
    assert {record.players for record in found} == {("self-play@7",) * game.num_players}
    recent = [(game.moves, game.scores) for game in kept if game.first >= rows - 9]
    assert [(record.moves, record.scores) for record in games(game, buffer, 1000, player="x", rows=9)] == recent


def test_a_resigned_game_ends_before_the_move_that_was_not_played() -> None:
    game = make("tictactoe")
    buffer, _ = _played(game, 3, lanes=1, capacity=8, seed=0)
    plies = buffer.plies
    plies.opening[:], plies.ply[:3, 0] = 0, [0, 1, 2]
    plies.action[:3, 0] = [4, 0, 8]
    plies.ended[2, 0] = plies.resigned[2, 0] = True
    plies.scores[2, 0] = [-1.0, 1.0]
    (record,) = games(game, buffer, 5, player="self-play@1")
    assert record.moves == ("b2", "a3") and record.scores == (-1.0, 1.0) and record.end == "resigned"


def test_scores_are_on_the_scale_of_the_game() -> None:
    game = make("chinese-checkers")
    assert game.score_range != (-1.0, 1.0)
    own = np.array([3.0, 1.0, 0.0], np.float32)
    assert stored_games._unscaled(game, np.asarray(game.scale(own))) == pytest.approx(own)


def test_each_checkpoint_has_games_that_read_back_and_replay(watched) -> None:
    found, game = stored(watched.run), make("tictactoe")
    assert sorted(path.name for path in watched.run.checkpoints.iterdir()) == [str(iteration) for iteration in found]
    for iteration, held in found.items():
        assert 0 < len(held) <= watched.training.config.checkpoints.games
        for record in held:
            session = records.replay(game, record)
            assert session.over and tuple(session.scores) == record.scores
            assert record.players == (f"self-play@{iteration}",) * 2 and record.opening == 0
        path = watched.run.games / f"{iteration}.txt"
        assert records.text(records.load(path)) == path.read_text(encoding="utf-8")
