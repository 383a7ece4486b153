"""Exact scores of Connect positions, on boards of up to 63 bits, (rows + 1) x columns.

Scores follow Pons: a win with the mover's last possible stone scores 1, one stone earlier 2, and so on. A loss is
negative, a draw 0. A best move keeps the score: score(position) = max over moves of -score(after the move).

    solver = Solver()                                   # Connect 4; needs the extra `solver`
    solver.solve(0, 0)                                  # 1: the first mover wins with its last stone
    solver.scores(from_states(game, states))            # int8[B, columns], ILLEGAL where no stone fits

How it works: bits.py the board, kernel.py the search, follow_up.py proofs without search, table.py the
transposition tables, book.py the openings. Axis letter: B positions.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from tabia.solvers.connect.book import SHIPPED, Book, file_name, read
from tabia.solvers.connect.kernel import empty_stack, solve_all
from tabia.solvers.connect.positions import check, children, from_states, keys
from tabia.solvers.connect.table import Tables, board_with_tables

__all__ = ["ILLEGAL", "Solver", "from_states"]

ILLEGAL = -128
"""The score of an illegal move."""


class Solver:
    """Solves positions of one board; its transposition table is kept between calls.

    The table has 2 ** table_bits words of 8 bytes. The shipped book of the board is used if there is one.
    """

    def __init__(
        self,
        rows: int = 6,
        columns: int = 7,
        line: int = 4,
        table_bits: int = 22,
        *,
        book: bool = True,
        threads: int | None = None,
    ) -> None:
        self.board, self._tables = board_with_tables(rows, columns, line, table_bits)
        self.threads = threads or os.cpu_count() or 1
        path = SHIPPED / file_name(rows, columns, line)
        self.book: Book | None = read(path, self.board) if book and path.exists() else None
        self._lock = Lock()
        self._own = [(np.zeros_like(self._tables.late), empty_stack()) for _ in range(self.threads)]

    def solve(self, mover: int, taken: int) -> int:
        """The score of one position, given by the mover's stones and all stones."""
        return int(self.solve_many(np.array([[mover, taken]], np.uint64))[0])

    def solve_many(self, positions: np.ndarray) -> np.ndarray:
        """int8[B]: the score of each position uint64[B, 2] for its mover; positions may be over."""
        positions = check(self.board, positions)
        wanted, first, where = np.unique(keys(self.board, positions), return_index=True, return_inverse=True)
        scores = np.zeros(len(wanted), np.int8)
        unknown = np.ones(len(wanted), bool)
        if self.book is not None:
            known, found = self.book.find(wanted)
            scores[known], unknown = found[known], ~known
        scores[unknown] = self._search(positions[first[unknown]])
        return scores[where]

    def scores(self, positions: np.ndarray) -> np.ndarray:
        """int8[B, columns]: the mover's score of each column, ILLEGAL if it is full."""
        after, legal = children(self.board, check(self.board, positions))
        scores = np.full(legal.shape, ILLEGAL, np.int8)
        scores[legal] = -self.solve_many(after[legal])
        return scores

    def _search(self, positions: np.ndarray) -> np.ndarray:
        """int8[B], computed by all threads in small portions; scores are exact, so the order does not matter."""
        scores = np.zeros(len(positions), np.int8)
        portion = max(1, min(256, len(positions) // (8 * self.threads)))
        starts = iter(range(0, len(positions), portion))

        def work(own: tuple[np.ndarray, np.ndarray]) -> None:
            late, stack = own
            for start in starts:  # shared by all threads; `next` holds the GIL
                part = slice(start, start + portion)
                solve_all(self.board, Tables(self._tables.early, late), stack, positions[part], scores[part])

        with self._lock:  # each thread's own memory serves one call at a time
            if self.threads == 1 or len(positions) < 2:
                work(self._own[0])
            else:
                with ThreadPoolExecutor(self.threads) as pool:
                    list(pool.map(work, self._own))
        return scores
