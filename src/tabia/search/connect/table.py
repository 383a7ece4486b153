"""The transposition table: one word per position, two bounds of its score each, shared by all threads.

    bits 0-6 upper bound + 64, 7-13 lower bound + 64, 14-19 work (log2 of the positions searched), 20-63 tag

The key of a position is stirred by steps that could be undone; its high bits choose a bucket of four words, its low
bits are the tag. So a tag that agrees proves the position, and no bound is ever taken from another one. A word is
read and written whole, so threads need no locks.
"""

from __future__ import annotations

import numpy as np

from tabia.search.connect.bits import ONE, ZERO, Board, Word, inlined, mirrored

BUCKET = 4
UNKNOWN = Word(127)
"""What an absent position reads like: at least -64, at most 63."""
_LOWER, _WORK, _TAG = Word(7), Word(14), Word(20)
_SEVEN_BITS, _SIX_BITS = Word(127), Word(63)
_STIR = Word(0x9E3779B97F4A7C15)


def empty_table(board: Board) -> np.ndarray:
    """A table with the number of buckets that the board's tags ask for."""
    return np.zeros(BUCKET << (len(board.rows) + 1) * board.columns - int(board.tag_bits), Word)


@inlined
def locate(board: Board, mover: Word, taken: Word, mirror: bool, tag_bits: Word) -> tuple[Word, Word]:
    """The first place of a position's bucket, and its tag (never 0, which is an empty place).

    With `mirror`, a position and its mirror image are one.
    """
    key = mover + taken
    if mirror:
        key = min(key, mirrored(board, mover) + mirrored(board, taken))
    bits = Word((len(board.rows) + 1) * board.columns)
    for _ in range(2):
        key = (key * _STIR) & ((ONE << bits) - ONE)
        key ^= key >> (bits >> ONE)
    return (key >> tag_bits) * Word(BUCKET), (key & ((ONE << tag_bits) - ONE)) + ONE


@inlined
def find(table: np.ndarray, place: Word, tag: Word) -> Word:
    """The word of a position, or UNKNOWN."""
    for i in range(BUCKET):
        word = table[place + Word(i)]
        if word >> _TAG == tag:
            return word
    return UNKNOWN


@inlined
def lower(word: Word) -> int:
    """The least the score can be."""
    return np.int64((word >> _LOWER) & _SEVEN_BITS) - 64


@inlined
def upper(word: Word) -> int:
    """The most the score can be."""
    return np.int64(word & _SEVEN_BITS) - 64


@inlined
def keep(table: np.ndarray, place: Word, tag: Word, least: int, most: int, searched: int) -> None:
    """Write a position's bounds where it stood before, or else over the position that took the least work."""
    work = ZERO
    while searched > 0:
        work += ONE
        searched >>= 1
    chosen, easiest = place, Word(64)
    for i in range(BUCKET):
        word = table[place + Word(i)]
        if word >> _TAG == tag:
            chosen = place + Word(i)
            break
        if (word >> _WORK) & _SIX_BITS < easiest:
            chosen, easiest = place + Word(i), (word >> _WORK) & _SIX_BITS
    bounds = (Word(least + 64) << _LOWER) | Word(most + 64)
    table[chosen] = (tag << _TAG) | (work << _WORK) | bounds
