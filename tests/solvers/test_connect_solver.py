"""The Connect solver against retrograde analysis on plain arrays, exact solutions, and published results."""

from __future__ import annotations

import subprocess
import sys
import time
from functools import cache
from pathlib import Path

import jax
import numpy as np
import pytest

from tabia.games.connect import Connect
from tabia.games.errors import GameError
from tabia.games.registry import make
from tabia.solvers import exact
from tabia.solvers.connect import book
from tabia.solvers.connect.bits import landing, winning_fields
from tabia.solvers.connect.follow_up import NONE, follow_bound
from tabia.solvers.connect.positions import children, has_line
from tabia.solvers.connect.solver import ILLEGAL, Solver, from_states

from . import connect_reference as reference

EMPTY = np.zeros((1, 2), np.uint64)
COLUMN_SCORES = [-2, -1, 0, 1, 0, -1, -2]  # Connect 4 by its first move, as published for Pons's solver


@cache
def solver(rows: int, columns: int, line: int, *, use_book: bool = False) -> Solver:
    return Solver(rows, columns, line, book=use_book)


def random_positions(count: int, least: int, most: int, seed: int) -> np.ndarray:
    """Connect 4 positions of `least` to `most` stones after random moves, not over."""
    rng = np.random.default_rng(seed)
    stones = rng.integers(least, most + 1, count)
    numbers, counts = np.unique(stones, return_counts=True)
    return np.concatenate(
        [
            reference.words(reference.random_boards(rng, k, 6, 7, 4, n))
            for n, k in zip(numbers.tolist(), counts.tolist(), strict=True)
        ]
    )


@pytest.mark.parametrize(
    ("rows", "columns", "line", "stones", "roots"),
    [(3, 4, 3, 0, 1), (6, 4, 4, 10, 40), (6, 5, 4, 15, 12)],
    ids=["connect3, every position", "6 x 4", "6 x 5"],
)
def test_agrees_with_retrograde_analysis(rows: int, columns: int, line: int, stones: int, roots: int) -> None:
    boards = reference.random_boards(np.random.default_rng(1), roots, rows, columns, line, stones)
    positions, scores = reference.values(boards, line)
    assert len(positions) > (100_000 if rows == 6 else 4_000)
    np.testing.assert_array_equal(solver(rows, columns, line).solve_many(reference.words(positions)), scores)


@pytest.mark.long
def test_agrees_with_retrograde_analysis_on_all_of_6x4() -> None:
    positions, scores = reference.values(np.zeros((1, 4, 6), np.int8), 4)
    np.testing.assert_array_equal(solver(6, 4, 4).solve_many(reference.words(positions)), scores)


def test_agrees_with_the_exact_table_of_connect3() -> None:
    game = make("connect3")
    assert isinstance(game, Connect)
    positions, _ = reference.values(np.zeros((1, 4, 3), np.int8), 3)
    states = states_of(game, positions)
    solution = exact.solve(game)
    first = solution.values(states)[:, 0]
    moving = np.where(np.asarray(states.moves) % 2 == 0, first, -first)
    at_end = np.asarray(states.moves) + solution.distance(states)
    expected = np.sign(moving) * ((game.max_moves + 2 - at_end) // 2)
    np.testing.assert_array_equal(solver(3, 4, 3).solve_many(from_states(game, states)), expected)
    after = solver(3, 4, 3).scores(from_states(game, states)).astype(int)
    keeps = (np.sign(after) == np.sign(expected)[:, None]) & (after != ILLEGAL)
    np.testing.assert_array_equal(keeps, solution.best(states))


def states_of(game: Connect, boards: np.ndarray) -> exact.State:
    """The game's states of the reference's boards."""
    rows = np.uint32(1) << np.arange(game.rows, dtype=np.uint32)
    stones = np.stack([((boards == seat) * rows[None, None, :]).sum(axis=2) for seat in (1, -1)], axis=1)
    like = game.init(jax.random.key(0))
    moves = (boards != 0).sum(axis=(1, 2)).astype(np.int32)
    return like._replace(stones=stones.astype(np.uint32), moves=moves, winner=np.full(len(boards), -1, np.int32))


@pytest.mark.parametrize("count", [3000, pytest.param(6000, marks=pytest.mark.long)])
def test_follow_bound_is_never_below_the_truth(count: int) -> None:
    boards = reference.random_boards(np.random.default_rng(2), 60, 6, 5, 4, 18)
    positions, scores = reference.values(boards, 4)
    board, some = solver(6, 5, 4).board, np.random.default_rng(3).permutation(len(positions))[:count]
    bounds = []
    for mover, taken in reference.words(positions[some]):
        threats = winning_fields(board, mover ^ taken, taken)
        bounds.append(follow_bound(board, mover, mover ^ taken, threats, landing(board, taken), 0))
    assert np.all(np.array(bounds) >= scores[some])
    assert np.mean(np.array(bounds) == scores[some]) > 0.05  # and the bound is not vacuous
    assert NONE in bounds


def assert_negamax(one: Solver, other: Solver, positions: np.ndarray) -> None:
    """A position's score is the best of minus its children's, which a solver with another table finds."""
    scores = one.solve_many(positions)
    after, legal = children(other.board, positions)
    moves = np.full(legal.shape, -1000)
    moves[legal] = -other.solve_many(after[legal]).astype(int)
    np.testing.assert_array_equal(scores, moves.max(axis=1))
    np.testing.assert_array_equal(np.where(legal, moves, ILLEGAL), other.scores(positions))
    wins = (legal & has_line(other.board, after[..., 0] ^ after[..., 1])).any(axis=1)
    fields, stones = len(other.board.rows) * other.board.columns, np.bitwise_count(positions[:, 1]).astype(int)
    np.testing.assert_array_equal(scores[wins], ((fields + 1 - stones) // 2)[wins])


@pytest.mark.parametrize("count", [4_000, pytest.param(10_000, marks=pytest.mark.long)])
def test_negamax_identity(count: int) -> None:
    assert_negamax(Solver(book=False, threads=1), solver(6, 7, 4), random_positions(count, 24, 36, seed=4))


@pytest.mark.long
def test_negamax_identity_from_eight_stones() -> None:
    assert_negamax(Solver(book=False, threads=1), solver(6, 7, 4), random_positions(10_000, 8, 41, seed=5))


@pytest.mark.long
@pytest.mark.parametrize(
    ("rows", "columns", "line", "stones"), [(8, 7, 4, 32), (7, 7, 4, 26), (5, 9, 5, 22), (2, 21, 3, 16), (1, 31, 2, 0)]
)
def test_negamax_identity_on_boards_of_other_shapes(rows: int, columns: int, line: int, stones: int) -> None:
    boards = reference.random_boards(np.random.default_rng(10), 300, rows, columns, line, stones)
    assert_negamax(Solver(rows, columns, line, 8), Solver(rows, columns, line), reference.words(boards))


@pytest.mark.parametrize(
    ("columns", "expected"),
    [(4, [0] * 4), (5, [0] * 5), (6, [-2, -2, -1, -1, -2, -2])],
    ids=["6 x 4 is a draw", "6 x 5 is a draw", "6 x 6 is lost for the first mover"],
)
def test_empty_boards(columns: int, expected: list[int]) -> None:
    scores = solver(6, columns, 4).scores(EMPTY)[0].astype(int)
    np.testing.assert_array_equal(np.sign(scores), np.sign(expected))  # who wins is published (Tromp)
    np.testing.assert_array_equal(scores, scores[::-1])


def test_empty_connect4_by_the_book() -> None:
    np.testing.assert_array_equal(solver(6, 7, 4, use_book=True).scores(EMPTY), [COLUMN_SCORES])


@pytest.mark.long
def test_empty_connect4_by_search_alone() -> None:
    searched = Solver(table_bits=26, book=False)
    np.testing.assert_array_equal(searched.scores(EMPTY), [COLUMN_SCORES])


def test_book_agrees_with_search() -> None:
    levels = book.openings(solver(6, 7, 4).board, 8)
    assert [len(level) for level in levels[6:]] == [8231, 27109, 91295]
    some = levels[8][np.random.default_rng(6).permutation(len(levels[8]))[:20]]
    with_book = solver(6, 7, 4, use_book=True)
    assert with_book.book is not None and with_book.book.find(book.keys(with_book.board, levels[5]))[0].all()
    np.testing.assert_array_equal(with_book.solve_many(some), solver(6, 7, 4).solve_many(some))


@pytest.mark.long
def test_random_positions_take_less_than_half_a_second() -> None:
    positions = random_positions(2_000, 8, 41, seed=7)
    fresh = Solver(book=False, threads=2)
    fresh.solve_many(positions[-1:])  # compiles
    start = time.monotonic()
    fresh.solve_many(positions)
    assert (time.monotonic() - start) / len(positions) < 0.5


def test_threads_and_small_tables_change_nothing() -> None:
    positions = random_positions(400, 22, 30, seed=8)
    scores = [
        Solver(table_bits=bits, book=False, threads=n).solve_many(positions) for bits, n in ((22, 1), (22, 3), (8, 2))
    ]
    np.testing.assert_array_equal(scores[0], scores[1])
    np.testing.assert_array_equal(scores[0], scores[2])


def test_mirror_images_and_repeats_score_the_same() -> None:
    boards = reference.random_boards(np.random.default_rng(9), 50, 6, 7, 4, 24)
    scores = solver(6, 7, 4).scores(reference.words(boards))
    np.testing.assert_array_equal(solver(6, 7, 4).scores(reference.words(boards[:, ::-1]))[:, ::-1], scores)


def test_positions_that_are_over() -> None:
    column_won = np.zeros((1, 7, 6), np.int8)
    column_won[0, 0, :4], column_won[0, 1, :3] = 1, -1
    lost = reference.words(column_won)
    assert solver(6, 7, 4).solve_many(lost).tolist() == [-18]  # the winner used 4 of its 21 stones
    assert (solver(6, 7, 4).scores(lost) == ILLEGAL).all()


def test_states_become_positions() -> None:
    game = Connect()
    state = game.init(jax.random.key(0))
    for action in (3, 3, 4):
        state = game.step(state, action)
    batch = jax.tree.map(lambda leaf: leaf[None], state)
    assert from_states(game, batch).tolist() == [[1 << 22, 1 << 21 | 1 << 22 | 1 << 28]]


@pytest.mark.parametrize(
    ("positions", "message"),
    [
        ([[0, 2]], "Position 0 is not valid on this board"),  # a stone in the air
        ([[0, 0], [1, 0]], "Position 1 is not valid on this board"),  # a stone that is not there
        ([[0, 0b11]], "Position 0 is not valid on this board"),  # the first mover laid none
        ([0, 0], "integers"),
    ],
)
def test_impossible_positions_are_refused(positions: list, message: str) -> None:
    with pytest.raises(GameError, match=message):
        solver(6, 7, 4).solve_many(np.array(positions, np.uint64))


@pytest.mark.parametrize(
    ("size", "message"), [((8, 8, 4), "takes 72"), ((6, 7, 9), "lines of 2 to 7"), ((0, 4, 4), "63 bits")]
)
def test_impossible_boards_are_refused(size: tuple[int, int, int], message: str) -> None:
    with pytest.raises(GameError, match=message):
        Solver(*size)


def test_a_book_reads_back_and_a_damaged_one_is_refused(tmp_path: Path) -> None:
    board, path = solver(6, 4, 4).board, tmp_path / "some.book"
    levels = book.openings(board, 5)
    scores = solver(6, 4, 4).solve_many(levels[-1])
    book.write(path, 6, 4, 4, 5, scores)
    whole = book.read(path, board)
    for level in levels:
        known, found = whole.find(book.keys(board, level))
        assert known.all()
        np.testing.assert_array_equal(found, solver(6, 4, 4).solve_many(level))
    raw = path.read_bytes()
    for damaged in (raw[:-9], raw[:40], raw.replace(b'"rows": 6', b'"rows": 7'), b"\x80\x04" + raw, b""):
        path.write_bytes(damaged)
        with pytest.raises(GameError, match=r"some\.book"):
            book.read(path, board)


def test_missing_numba_is_reported_with_the_install_command() -> None:
    program = "import sys; sys.modules['numba'] = None; import tabia.solvers.connect.solver"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'tabia[solver]'" in done.stderr.splitlines()[-1]
