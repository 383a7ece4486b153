"""The transposition tables: one word per position, two bounds of its score each.

    bits 0-6 upper bound + 64, 7-13 lower bound + 64, 14-19 work (log2 of the positions searched), 20-63 tag

The key of a position is scrambled by invertible steps; its high bits choose a bucket of four words, its low bits are
the tag. An equal tag therefore proves an equal position, and no bound is ever taken from another one.

There are two tables. The large one is shared by all threads: a word is read and written atomically, so it needs no
locks. Late positions are many and cheap, and memory latency would dominate; each thread keeps them in a small table
that stays in its core's cache.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from tabia.solvers.connect.bits import ONE, ZERO, Board, Word, board, cells, mirrored, signed
from tabia.solvers.connect.compiled import inlined

_BUCKET = 4
_UNKNOWN = Word(127)  # at least -64, at most 63
_LOWER, _WORK, _TAG = Word(7), Word(14), Word(20)
_TAG_BITS = 43  # bits of a tag, which is stored plus one
_LATE_FIELDS = 18  # with fewer empty fields, a position is late
_LATE_BITS = 16  # 512 KiB
_MULTIPLIER = Word(0x9E3779B97F4A7C15)


class Tables(NamedTuple):
    """The two tables of a thread."""

    early: np.ndarray  # uint64[...] four words per bucket
    late: np.ndarray


class Entry(NamedTuple):
    """A position's place in its table, and its bounds."""

    place: Word  # of the bucket's first word
    tag: Word  # never 0, which marks an empty word
    known: Word


def board_with_tables(rows: int, columns: int, line: int, bits: int) -> tuple[Board, Tables]:
    """A board and its tables; the large one has about 2 ** bits words, or fewer if the board needs fewer."""
    key_bits = (rows + 1) * columns
    tags = tuple(min(max(key_bits + 2 - size, 0), _TAG_BITS) for size in (bits, min(bits, _LATE_BITS)))
    known = board(rows, columns, line, (tags[0], tags[1]))
    early, late = (np.zeros(_BUCKET << key_bits - tag, Word) for tag in tags)
    return known, Tables(early, late)


@inlined
def is_late(board: Board, stones: int) -> bool:
    """Whether a position belongs in the small table."""
    return stones > cells(board) - _LATE_FIELDS


@inlined
def recall(board: Board, tables: Tables, mover: Word, taken: Word, stones: int) -> Entry:
    """The entry of a position; an early position shares it with its mirror image."""
    if is_late(board, stones):
        place, tag = _locate(board, mover + taken, board.tags[1])
        return Entry(place, tag, _find(tables.late, place, tag))
    key = mover + taken
    if 3 * stones <= cells(board):  # later, mirror images hardly ever occur
        key = min(key, mirrored(board, mover) + mirrored(board, taken))
    place, tag = _locate(board, key, board.tags[0])
    return Entry(place, tag, _find(tables.early, place, tag))


@inlined
def _locate(board: Board, key: Word, tag_bits: Word) -> tuple[Word, Word]:
    bits = Word((len(board.rows) + 1) * board.columns)
    for _ in range(2):
        key = (key * _MULTIPLIER) & ((ONE << bits) - ONE)
        key ^= key >> (bits >> ONE)
    return (key >> tag_bits) * Word(_BUCKET), (key & ((ONE << tag_bits) - ONE)) + ONE


@inlined
def _find(table: np.ndarray, place: Word, tag: Word) -> Word:
    for i in range(_BUCKET):
        word = table[place + Word(i)]
        if word >> _TAG == tag:
            return word
    return _UNKNOWN


@inlined
def lower(known: Word) -> int:
    """The lower bound of the score."""
    return signed((known >> _LOWER) & Word(127)) - 64


@inlined
def upper(known: Word) -> int:
    """The upper bound of the score."""
    return signed(known & Word(127)) - 64


@inlined
def keep(table: np.ndarray, entry: Entry, least: int, most: int, searched: int) -> None:
    """Store a position's bounds in its own word, or replace the position of its bucket that took the least work."""
    work = ZERO
    while searched > 0:
        work += ONE
        searched >>= 1
    chosen, easiest = entry.place, Word(64)
    for i in range(_BUCKET):
        word = table[entry.place + Word(i)]
        if word >> _TAG == entry.tag:
            chosen = entry.place + Word(i)
            break
        if (word >> _WORK) & Word(63) < easiest:
            chosen, easiest = entry.place + Word(i), (word >> _WORK) & Word(63)
    bounds = (Word(least + 64) << _LOWER) | Word(most + 64)
    table[chosen] = (entry.tag << _TAG) | (work << _WORK) | bounds
