"""The perfect Connect player: the exact score of any position on boards of up to 63 bits, (rows + 1) x columns.

Scores are Pons's: a win with the mover's last possible stone is 1, one own stone earlier 2, and so on; a loss is the
same with a minus, a draw 0. The best move keeps the score: score(position) = max over moves of -score(after it).

    solver = Solver()                                   # Connect 4; needs the extra `solver`
    solver.solve(0, 0)                                  # 1: the first mover wins with its last stone
    solver.scores(from_states(game, states))            # int8[B, columns], ILLEGAL where no stone fits

How it works: connect/bits.py the board, connect/kernel.py the search, connect/follow.py proofs without search,
connect/table.py its memory, connect/book.py the openings. Axis letter: B positions.
"""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from threading import Lock

import numpy as np

from tabia.solvers.connect.book import SHELF, Book, file_name, read
from tabia.solvers.connect.kernel import empty_stack, solve_all
from tabia.solvers.connect.positions import check, children, from_states, keys
from tabia.solvers.connect.table import Tables, board_with_tables

__all__ = ["ILLEGAL", "Solver", "from_states"]

ILLEGAL = -128
"""The score of a move that cannot be made."""


class Solver:
    """Solves positions of one board; what it learns stays in its table for the next question.

    The table has 2 ** table_bits words of 8 bytes. Where a book for the board is shipped, it is used.
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
        path = SHELF / file_name(rows, columns, line)
        self.book: Book | None = read(path, self.board) if book and path.exists() else None
        self._lock = Lock()
        self._own = [(np.zeros_like(self._tables.late), empty_stack()) for _ in range(self.threads)]

    def solve(self, mover: int, taken: int) -> int:
        """The score of one position, given by the mover's stones and all stones."""
        return int(self.solve_many(np.array([[mover, taken]], np.uint64))[0])

    def solve_many(self, positions: np.ndarray) -> np.ndarray:
        """int8[B]: the score of each position uint64[B, 2], for its mover; also of positions that are over."""
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
        """int8[B, columns]: the mover's score after a stone in each column, ILLEGAL where none can be laid."""
        after, legal = children(self.board, check(self.board, positions))
        scores = np.full(legal.shape, ILLEGAL, np.int8)
        scores[legal] = -self.solve_many(after[legal])
        return scores

    def _search(self, positions: np.ndarray) -> np.ndarray:
        """int8[B], the work dealt out to the threads in small portions; scores are exact, so order does not matter."""
        scores = np.zeros(len(positions), np.int8)
        portion = max(1, min(256, len(positions) // (8 * self.threads)))
        starts = iter(range(0, len(positions), portion))

        def work(own: tuple[np.ndarray, np.ndarray]) -> None:
            late, stack = own
            for start in starts:  # one iterator for all threads; taking from it holds the interpreter's lock
                part = slice(start, start + portion)
                solve_all(self.board, Tables(self._tables.early, late), stack, positions[part], scores[part])

        with self._lock:  # the threads' own memory serves one question at a time
            if self.threads == 1 or len(positions) < 2:
                work(self._own[0])
            else:
                with ThreadPoolExecutor(self.threads) as pool:
                    list(pool.map(work, self._own))
        return scores
