"""Compute an opening book: `python -m tabia.solvers.connect.compute_book`. It resumes where it was interrupted.

Positions are solved in the order of their keys with one large table, so that neighbors share most of the work. The
scores so far are saved in a file next to the book.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from tabia.core import files
from tabia.solvers.connect.book import SHIPPED, file_name, openings, write
from tabia.solvers.connect.solver import Solver

UNKNOWN = 127  # in the file: not solved yet
_PORTION = 64
_SAVE_SECONDS = 60.0


def compute(path: Path, solver: Solver, positions: np.ndarray) -> np.ndarray:
    """int8[N]: the scores of the positions; scores already in the file are reused."""
    scores = np.full(len(positions), UNKNOWN, np.int8)
    if path.exists():
        known = np.frombuffer(path.read_bytes(), np.int8)
        scores[: len(known)] = known
    missing = np.flatnonzero(scores == UNKNOWN)
    started = saved = time.monotonic()
    for first in range(0, len(missing), _PORTION):
        rows = missing[first : first + _PORTION]
        scores[rows] = solver.solve_many(positions[rows])
        if time.monotonic() - saved > _SAVE_SECONDS or rows[-1] == missing[-1]:
            files.write_atomic(path, scores.tobytes())
            saved = time.monotonic()
            rate = (first + len(rows)) / (saved - started)
            left = len(missing) - first - len(rows)
            print(f"{left:,} of {len(positions):,} left, {rate:.1f}/s, {left / rate / 60:.0f} min", flush=True)
    return scores


def main() -> None:
    """Compute one book and write it to a file."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name, default in (("rows", 6), ("columns", 7), ("line", 4), ("stones", 8), ("table-bits", 27), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, help="the book's file (default: the shipped book)")
    asked = parser.parse_args()
    size = (asked.rows, asked.columns, asked.line)
    path: Path = asked.out or SHIPPED / file_name(*size)
    solver = Solver(*size, asked.table_bits, book=False, threads=asked.threads)
    positions = openings(solver.board, asked.stones)[-1]
    scores = compute(path.with_suffix(".part"), solver, positions)
    write(path, *size, asked.stones, scores)
    print(f"Wrote {path}: {len(scores):,} positions of {asked.stones} stones.")


if __name__ == "__main__":
    main()
