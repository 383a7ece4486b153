"""Computes an opening book: `python -m tabia.search.connect.computing`; stop it at any time, it goes on from there.

The positions are solved in the order of their keys with one large table, so that neighbours share most of the work.
What is solved so far stands in a file beside the book, as the book's scores will.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numpy as np

from tabia.search.connect.book import SHELF, file_name, openings, write
from tabia.search.connect_solver import Solver

_PORTION = 64
_SAVE_SECONDS = 60.0


def compute(path: Path, solver: Solver, positions: np.ndarray) -> np.ndarray:
    """int8[N]: the scores of the positions, going on after those in the file."""
    done = bytearray(path.read_bytes() if path.exists() else b"")
    started, before, saved = time.monotonic(), len(done), time.monotonic()
    while len(done) < len(positions):
        done += solver.solve_many(positions[len(done) : len(done) + _PORTION]).tobytes()
        if time.monotonic() - saved > _SAVE_SECONDS or len(done) == len(positions):
            aside = path.with_suffix(".aside")
            aside.write_bytes(done)
            aside.replace(path)
            saved = time.monotonic()
            seconds = saved - started
            rate = (len(done) - before) / seconds
            left = (len(positions) - len(done)) / rate / 60
            print(f"{len(done):,} of {len(positions):,}, {rate:.1f}/s, {left:.0f} min left", flush=True)
    return np.frombuffer(bytes(done), np.int8)


def main() -> None:
    """Compute one book and put it on the shelf."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    for name, default in (("rows", 6), ("columns", 7), ("line", 4), ("stones", 8), ("table-bits", 27), ("threads", 1)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parser.add_argument("--out", type=Path, help="the book's file; the shipped one if not given")
    asked = parser.parse_args()
    size = (asked.rows, asked.columns, asked.line)
    path: Path = asked.out or SHELF / file_name(*size)
    solver = Solver(*size, asked.table_bits, book=False, threads=asked.threads)
    positions = openings(solver.board, asked.stones)[-1]
    scores = compute(path.with_suffix(".part"), solver, positions)
    write(path, *size, asked.stones, scores)
    print(f"Wrote {path}: {len(scores):,} positions of {asked.stones} stones.")


if __name__ == "__main__":
    main()
