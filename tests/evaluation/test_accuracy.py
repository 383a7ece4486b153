"""Agreement with perfect play, compared with a plain minimax for tic-tac-toe."""

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
def value(board: str) -> int:
    """The value of a board for its mover: 1, 0 or -1. `x` moves first."""
    mover, other = "xo" if board.count("x") == board.count("o") else "ox"
    if any(all(board[cell] == other for cell in line) for line in LINES):
        return -1
    return max((-value(child(board, cell, mover)) for cell in range(9) if board[cell] == "."), default=0)


def child(board: str, cell: int, mark: str) -> str:
    return board[:cell] + mark + board[cell + 1 :]


@dataclass(frozen=True)
class First:
    """Plays the first empty cell and reports a fixed value."""

    game: Game
    spec: str = "first"
    reported: float | None = None

    def choose(self, states: State, key: Array, ply: Array | None = None) -> Choice:
        legal = jax.vmap(self.game.legal)(states)
        values = None if self.reported is None else jnp.full((legal.shape[0], 2), self.reported)
        return Choice(jnp.argmax(legal, axis=-1).astype(jnp.int32), values=values)


@pytest.fixture(scope="module")
def drawn() -> positions.PositionSet:
    return positions.draw(GAME, 300, seed=1)


def _boards(drawn: positions.PositionSet) -> list[str]:
    planes = np.asarray(jax.vmap(GAME.observe)(drawn.states)).reshape(len(drawn), 9, 2)
    marks = ["xo" if ply % 2 == 0 else "ox" for ply in drawn.plies]
    return [
        "".join(m[0] if a else m[1] if b else "." for a, b in board) for m, board in zip(marks, planes, strict=True)
    ]


def test_drawn_positions_are_distinct_unfinished_and_spread_over_plies(drawn: positions.PositionSet) -> None:
    boards = _boards(drawn)
    assert len(drawn) == len(set(boards)) == 300
    assert not np.asarray(jax.vmap(GAME.over)(drawn.states)).any()
    stones = np.array([9 - board.count(".") for board in boards])
    assert (stones == drawn.plies).all()
    counts = np.bincount(drawn.plies)
    assert counts[:2].tolist() == [1, 9] and counts[2:].min() >= counts[2:].max() - 1
    again = positions.draw(GAME, 300, seed=1)
    assert _boards(again) == boards != _boards(positions.draw(GAME, 300, seed=2))


def test_all_positions_of_a_small_game() -> None:
    """Tic-tac-toe has 5,478 positions, of which 958 are final."""
    every = positions.every(GAME)
    boards = _boards(every)
    assert len(every) == len(set(boards)) == 5478 - 958
    assert all(9 - board.count(".") == ply for board, ply in zip(boards, every.plies, strict=True))
    with pytest.raises(TabiaError, match="too large to enumerate"):
        positions.every(make("connect4"), limit=1000)


@pytest.mark.parametrize(("count", "fraction"), [(100, 0.8), (100, 1.0), (60, 0.0), (10_000, 0.5)])
def test_positions_with_a_fraction_of_losable_ones(drawn: positions.PositionSet, count: int, fraction: float) -> None:
    oracle = perfect.PerfectPlayer(GAME).oracle
    losable = is_losable(GAME, drawn, oracle)
    expected = [
        len({value(child(board, cell, "xo"[ply % 2])) for cell in range(9) if board[cell] == "."}) > 1
        for board, ply in zip(_boards(drawn), drawn.plies, strict=True)
    ]
    assert losable.tolist() == expected
    chosen = positions.with_losable(drawn, losable, count, fraction)
    boards = _boards(chosen)
    assert len(set(boards)) == len(boards) and set(boards) <= set(_boards(drawn))
    assert len(chosen) == (count if count <= 100 else 2 * min(losable.sum(), (~losable).sum()))
    assert is_losable(GAME, chosen, oracle).sum() == round(len(chosen) * fraction)


def test_agreement_equals_a_plain_minimax(drawn: positions.PositionSet) -> None:
    found = agreement(First(GAME), drawn)
    kept, lost, losable, seats = [], [], [], []
    for board in _boards(drawn):
        mark = "x" if board.count("x") == board.count("o") else "o"
        after = {cell: -value(child(board, cell, mark)) for cell in range(9) if board[cell] == "."}
        best = max(after.values())
        chosen = after[min(after)]
        kept.append(chosen == best)
        lost.append(best - chosen)
        losable.append(min(after.values()) < best)
        seats.append("xo".index(mark))
    assert found.all.agreement == pytest.approx(np.mean(kept)) and found.all.loss == pytest.approx(np.mean(lost))
    assert found.all.losable == sum(losable)
    assert found.all.agreement_where_losable == pytest.approx(np.mean(np.array(kept)[losable]))
    for group, seat in zip(found.by_seat, (0, 1), strict=True):
        assert group.agreement == pytest.approx(np.mean(np.array(kept)[np.array(seats) == seat]))
    assert sum(group.positions for group in found.by_ply) == 300 and found.values is None


def test_perfect_play_agrees_with_itself(drawn: positions.PositionSet) -> None:
    found = agreement(perfect.PerfectPlayer(GAME), drawn)
    assert (found.all.agreement, found.all.fastest, found.all.loss) == (1.0, 1.0, 0.0)
    assert found.values is not None and (found.values.sign, found.values.error) == (1.0, 0.0)
    assert all(part.predicted == part.true for part in found.values.calibration)


def test_reported_values_are_compared(drawn: positions.PositionSet) -> None:
    true = np.array([value(board) for board in _boards(drawn)])
    found = agreement(First(GAME, reported=0.5), drawn).values
    assert found is not None and found.decided == np.count_nonzero(true)
    assert found.sign == pytest.approx(np.mean(true[true != 0] == 1))
    assert found.error == pytest.approx(np.abs(true - 0.5).mean())
    [only] = found.calibration
    assert (only.positions, only.predicted) == (300, 0.5) and only.true == pytest.approx(true.mean())


def test_positions_are_loaded_from_a_file_and_bad_lines_reported(tmp_path: Path) -> None:
    file = tmp_path / "positions.txt"
    file.write_text("\na1 b2\nb2\n")
    loaded = positions.load(GAME, file)
    assert loaded.plies.tolist() == [0, 2, 1]
    assert agreement(First(GAME), loaded).all.positions == 3
    partly = positions.from_lines(GAME, ["", "b2 b2", "a1 b1 a2 b2 a3", "c3"])
    assert partly.plies.tolist() == [0, 1]
    assert "line 2, 'b2 b2'" in partly.rejected[0] and "Legal moves: a3" in partly.rejected[0]
    assert "line 3" in partly.rejected[1] and "the game is over there" in partly.rejected[1]
    with pytest.raises(TabiaError, match="has no unfinished position"):
        positions.from_lines(GAME, ["z9"])
    with pytest.raises(TabiaError, match="cannot be read"):
        positions.load(GAME, tmp_path / "none.txt")
    with pytest.raises(TabiaError, match="positions after 0 to 8 moves"):
        positions.draw(GAME, 5, plies=(3, 9))
