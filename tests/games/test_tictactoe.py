"""Tic-tac-toe: published counts, pgx and OpenSpiel over 2,000 games, and the notation."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from tabia.games import make
from tabia.games.session import Session

from . import oracles


@pytest.fixture(scope="module")
def record() -> oracles.Record:
    return oracles.random_games(make("tictactoe"), 2000)


def test_positions_and_games_are_as_published():
    positions, ended = oracles.count_by_ply(make("tictactoe"), 9, 2048)
    assert positions == [1, 9, 72, 252, 756, 1260, 1520, 1140, 390, 78]
    assert sum(positions) == 5_478
    assert ended == [0, 0, 0, 0, 0, 1_440, 5_328, 47_952, 72_576, 127_872]
    assert sum(ended) == 255_168


def test_agrees_with_pgx_over_2000_games(record):
    oracles.assert_pgx_agrees(record, "tic_tac_toe")


def test_agrees_with_openspiel_over_2000_games(record):
    oracles.assert_openspiel_agrees(record, "tic_tac_toe")


def test_observation_shows_the_mover_first(record):
    for planes, actions, over in zip(record.observation[:50], record.action, record.over, strict=False):
        for ply in range(int(over.argmax()) + 1):
            board = np.zeros((9, 2))
            for earlier, action in enumerate(actions[:ply]):
                board[action, (ply - earlier) % 2] = 1  # the mover played two plies ago, and four
            assert over[ply] or (planes[ply] == board.reshape(3, 3, 2)).all()


def test_reads_and_draws():
    game = make("tictactoe")
    state = Session.from_moves(game, "b2 a3 c1").state
    assert game.draw(state) == "3 O . .\n2 . X .\n1 . . X\n  a b c"
    assert Session.replay(game, list(Session.from_moves(game, "b2a3c1").actions)).text == "b2 a3 c1"
    assert game.scores(game.init(jax.random.key(0))).tolist() == [0, 0]
