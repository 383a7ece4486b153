"""An opening book: the scores of all positions up to a number of stones, mirror images counted once.

A file holds only the scores of the last ply, in the order of their keys: a JSON line that describes the board, then
int8 scores, compressed by zlib. Reading enumerates the positions again and backs up the scores of earlier plies. It
runs no code from the file, and checks its digest.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from tabia.core import files
from tabia.core.parsing import parse_json
from tabia.games.errors import GameError
from tabia.solvers.connect.bits import Board
from tabia.solvers.connect.positions import children, has_line, keys

SHIPPED = Path(__file__).parent.parent / "books"
"""The folder of the shipped books."""
_FORMAT = "tabia connect book 1"
_LARGEST = files.GIGABYTE


@dataclass(frozen=True, eq=False)
class Book:
    """Known scores by key."""

    keys: np.ndarray  # uint64[N] ascending
    scores: np.ndarray  # int8[N]

    def find(self, wanted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """bool[B], whether each key is known, and its score int8[B]."""
        rows = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        return self.keys[rows] == wanted, self.scores[rows]


def openings(board: Board, stones: int) -> list[np.ndarray]:
    """All positions of 0 to `stones` stones that are not over, uint64[N, 2] per ply in the order of their keys."""
    levels = [np.zeros((1, 2), np.uint64)]
    for _ in range(stones):
        after, legal = children(board, levels[-1])
        going = after[legal & ~has_line(board, after[..., 0] ^ after[..., 1])]
        levels.append(going[np.unique(keys(board, going), return_index=True)[1]])
    return levels


def complete(board: Board, levels: list[np.ndarray], scores: np.ndarray) -> Book:
    """The book of all plies, from the scores of the last."""
    known = Book(keys(board, levels[-1]), scores)
    for level in reversed(levels[:-1]):
        after, legal = children(board, level)
        fields, stones = len(board.rows) * board.columns, int(np.bitwise_count(level[0, 1]))
        won = has_line(board, after[..., 0] ^ after[..., 1])
        moves = np.where(won, (fields + 1 - stones) // 2, -known.find(keys(board, after))[1].astype(int))
        best = np.where(legal, moves, -128).max(axis=1).astype(np.int8)
        known = Book(np.append(known.keys, keys(board, level)), np.append(known.scores, best))
        order = np.argsort(known.keys)
        known = Book(known.keys[order], known.scores[order])
    return known


def file_name(rows: int, columns: int, line: int) -> str:
    """The name of a board's book."""
    return f"connect{line}_{rows}x{columns}.book"


def write(path: Path, rows: int, columns: int, line: int, stones: int, scores: np.ndarray) -> None:
    """Write a book file atomically."""
    raw = scores.astype(np.int8).tobytes()
    title = {"format": _FORMAT, "rows": rows, "columns": columns, "line": line, "stones": stones}
    title |= {"positions": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    files.write_atomic(path, json.dumps(title).encode() + b"\n" + zlib.compress(raw, 9))


def read(path: Path, board: Board) -> Book:
    """Read the book of a board; raises GameError if the file is damaged or belongs to another board."""
    try:
        first, _, packed = files.read_bytes(path, _LARGEST).partition(b"\n")
        title = parse_json(first)
        size = (title["rows"], title["columns"], title["line"])
        raw = zlib.decompressobj().decompress(packed, title["positions"] + 1)
        sound = title["format"] == _FORMAT and hashlib.sha256(raw).hexdigest() == title["sha256"]
    except (OSError, ValueError, KeyError, TypeError, zlib.error):
        raise GameError(f"{path} is not an opening book, or it is damaged.") from None
    if not sound:
        raise GameError(f"{path} is not an opening book, or it is damaged.")
    if size != (len(board.rows), board.columns, len(board.line)):
        raise GameError(f"{path} is a book for rows, columns, line = {size}, not for this board.")
    levels = openings(board, title["stones"])
    scores = np.frombuffer(raw, np.int8)
    if len(scores) != len(levels[-1]):
        raise GameError(f"{path} holds {len(scores)} scores, but there are {len(levels[-1])} positions.")
    return complete(board, levels, scores)
