"""Agreement with perfect play, compared with a plain minimax of tic-tac-toe."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia.core.errors import TabiaError
from tabia.evaluation import positions
from tabia.evaluation.accuracy import agreement, is_losable
from tabia.games import Game, State, make
from tabia.players import perfect
from tabia.players.player import Choice

GAME = make("tictactoe")
LINES = [(0, 1, 2), (3, 4, 5), (6, 7, 8), (0, 3, 6), (1, 4, 7), (2, 5, 8), (0, 4, 8), (2, 4, 6)]


@functools.cache
def worth(board: str) -> int:
    """What a board is worth to its mover: 1, 0 or -1. `x` begins."""
    mover, other = "xo" if board.count("x") == board.count("o") else "ox"
    if any(all(board[cell] == other for cell in line) for line in LINES):
        return -1
    return max((-worth(child(board, cell, mover)) for cell in range(9) if board[cell] == "."), default=0)


def child(board: str, cell: int, mark: str) -> str:
    return board[:cell] + mark + board[cell + 1 :]


@dataclass(frozen=True)
class First:
    """The first empty cell, and a value to give."""

    game: Game
    spec: str = "first"
    value: float | None = None

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        legal = jax.vmap(self.game.legal)(states)
        values = None if self.value is None else jnp.full((legal.shape[0], 2), self.value)
        return Choice(jnp.argmax(legal, axis=-1).astype(jnp.int32), values=values)


@pytest.fixture(scope="module")
def asked() -> positions.Positions:
    return positions.draw(GAME, 300, seed=1)


def _boards(asked: positions.Positions) -> list[str]:
    planes = np.asarray(jax.vmap(GAME.observe)(asked.states)).reshape(len(asked), 9, 2)
    marks = ["xo" if ply % 2 == 0 else "ox" for ply in asked.plies]
    return [
        "".join(m[0] if a else m[1] if b else "." for a, b in board) for m, board in zip(marks, planes, strict=True)
    ]


def test_positions_are_distinct_going_on_and_spread(asked: positions.Positions) -> None:
    boards = _boards(asked)
    assert len(asked) == len(set(boards)) == 300
    assert not np.asarray(jax.vmap(GAME.over)(asked.states)).any()
    stones = np.array([9 - board.count(".") for board in boards])
    assert (stones == asked.plies).all()
    counts = np.bincount(asked.plies)
    assert counts[:2].tolist() == [1, 9] and counts[2:].min() >= counts[2:].max() - 1
    again = positions.draw(GAME, 300, seed=1)
    assert _boards(again) == boards != _boards(positions.draw(GAME, 300, seed=2))


def test_every_position_of_a_small_game() -> None:
    """Of the 5,478 positions of tic-tac-toe 958 are over."""
    every = positions.every(GAME)
    boards = _boards(every)
    assert len(every) == len(set(boards)) == 5478 - 958
    assert all(9 - board.count(".") == ply for board, ply in zip(boards, every.plies, strict=True))
    with pytest.raises(TabiaError, match="too large"):
        positions.every(make("connect4"), limit=1000)


@pytest.mark.parametrize(("count", "share"), [(100, 0.8), (100, 1.0), (60, 0.0), (10_000, 0.5)])
def test_positions_with_a_share_that_is_losable(asked: positions.Positions, count: int, share: float) -> None:
    judge = perfect.make(GAME).oracle
    losable = is_losable(GAME, asked, judge)
    expected = [
        len({worth(child(board, cell, "xo"[ply % 2])) for cell in range(9) if board[cell] == "."}) > 1
        for board, ply in zip(_boards(asked), asked.plies, strict=True)
    ]
    assert losable.tolist() == expected
    chosen = positions.with_share(asked, losable, count, share)
    boards = _boards(chosen)
    assert len(set(boards)) == len(boards) and set(boards) <= set(_boards(asked))
    assert len(chosen) == (count if count <= 100 else 2 * min(losable.sum(), (~losable).sum()))
    assert is_losable(GAME, chosen, judge).sum() == round(len(chosen) * share)


def test_shares_are_those_of_a_plain_minimax(asked: positions.Positions) -> None:
    found = agreement(First(GAME), asked)
    kept, lost, losable, seats = [], [], [], []
    for board in _boards(asked):
        mark = "x" if board.count("x") == board.count("o") else "o"
        after = {cell: -worth(child(board, cell, mark)) for cell in range(9) if board[cell] == "."}
        best = max(after.values())
        chosen = after[min(after)]
        kept.append(chosen == best)
        lost.append(best - chosen)
        losable.append(min(after.values()) < best)
        seats.append("xo".index(mark))
    assert found.all.keeps == pytest.approx(np.mean(kept)) and found.all.loss == pytest.approx(np.mean(lost))
    assert found.all.losable == sum(losable)
    assert found.all.keeps_where_losable == pytest.approx(np.mean(np.array(kept)[losable]))
    for group, seat in zip(found.by_seat, (0, 1), strict=True):
        assert group.keeps == pytest.approx(np.mean(np.array(kept)[np.array(seats) == seat]))
    assert sum(group.positions for group in found.by_ply) == 300 and found.values is None


def test_perfect_play_agrees_with_itself(asked: positions.Positions) -> None:
    found = agreement(perfect.make(GAME), asked)
    assert (found.all.keeps, found.all.fastest, found.all.loss) == (1.0, 1.0, 0.0)
    assert found.values is not None and (found.values.sign, found.values.error) == (1.0, 0.0)
    assert all(part.said == part.true for part in found.values.calibration)


def test_values_are_judged(asked: positions.Positions) -> None:
    true = np.array([worth(board) for board in _boards(asked)])
    found = agreement(First(GAME, value=0.5), asked).values
    assert found is not None and found.decided == np.count_nonzero(true)
    assert found.sign == pytest.approx(np.mean(true[true != 0] == 1))
    assert found.error == pytest.approx(np.abs(true - 0.5).mean())
    [only] = found.calibration
    assert (only.positions, only.said) == (300, 0.5) and only.true == pytest.approx(true.mean())


def test_positions_are_read_from_a_file_and_bad_lines_named(tmp_path: Path) -> None:
    file = tmp_path / "positions.txt"
    file.write_text("\na1 b2\nb2\n")
    read = positions.read(GAME, file)
    assert read.plies.tolist() == [0, 2, 1]
    assert agreement(First(GAME), read).all.positions == 3
    partly = positions.of_lines(GAME, ["", "b2 b2", "a1 b1 a2 b2 a3", "c3"])
    assert partly.plies.tolist() == [0, 1]
    assert "line 2, 'b2 b2'" in partly.refused[0] and "Legal moves: a3" in partly.refused[0]
    assert "line 3" in partly.refused[1] and "the game is over there" in partly.refused[1]
    with pytest.raises(TabiaError, match="holds no position to judge"):
        positions.of_lines(GAME, ["z9"])
    with pytest.raises(TabiaError, match="cannot be read"):
        positions.read(GAME, tmp_path / "none.txt")
    with pytest.raises(TabiaError, match="positions after 0 to 8"):
        positions.draw(GAME, 5, plies=(3, 9))
