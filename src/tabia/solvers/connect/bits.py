"""Connect on 64 bits: a column takes rows + 1 bits, the lowest field first; the bit above the top is always empty.

     6 13 20 27 34 41 48        always empty, so that no line runs from one column's top into the next
     5 12 19 26 33 40 47        Lines are ANDs of shifts: up by 1, right by rows + 1,
     4 11 18 25 32 39 46        the diagonals by rows and rows + 2.
     3 10 17 24 31 38 45
     2  9 16 23 30 37 44        A position is two words: the mover's stones, and all stones.
     1  8 15 22 29 36 43        Their sum is a key that no other position shares.
     0  7 14 21 28 35 42

All functions here are compiled. Words stay uint64: Numba would promote a mix with int64 to floats.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from tabia.games.errors import GameError
from tabia.solvers.connect.compiled import inlined

Word = np.uint64
ZERO, ONE = Word(0), Word(1)
signed: Any = np.int64
"""A word as a signed integer."""


class Board(NamedTuple):
    """The constants of a board and its tables.

    `rows` and `line` are tuples of None: their lengths are part of the type, so code is compiled for each board and
    shifts become constants.
    """

    rows: tuple[None, ...]
    line: tuple[None, ...]
    columns: int
    bottom: Word  # the lowest fields
    fields: Word  # all fields
    uneven: Word  # fields from which an odd number of fields, itself included, leads up to the top
    lifts: tuple[Word, ...]  # the fields at least 1, 2, 4, ... rows up
    tags: tuple[Word, Word]  # bits of a key stored as the tag in each table; the others are its place


def board(rows: int, columns: int, line: int, tags: tuple[int, int] = (0, 0)) -> Board:
    """A board; raises GameError if it does not fit into a word."""
    height = rows + 1
    if not (rows >= 1 and columns >= 1 and height * columns <= 63):
        raise GameError(
            f"The Connect solver holds a board in 63 bits, (rows + 1) x columns; {rows} x {columns} takes "
            f"{height * columns}. Fewer rows or columns, such as 6 x 7 or 7 x 7, can be solved."
        )
    longest = min(max(rows, columns), 63 // (height + 1) + 1)  # a shift along a whole line stays inside a word
    if not 2 <= line <= longest:
        raise GameError(f"The Connect solver takes lines of 2 to {longest} on {rows} x {columns}, not {line}.")
    bottom = sum(1 << height * column for column in range(columns))
    fields = bottom * ((1 << rows) - 1)
    return Board(
        rows=(None,) * rows,
        line=(None,) * line,
        columns=columns,
        bottom=Word(bottom),
        fields=Word(fields),
        uneven=Word(sum(bottom << row for row in range(rows) if (rows - row) % 2)),
        lifts=tuple(Word(fields & ~(bottom * ((1 << (1 << k)) - 1))) for k in range(max(1, (rows - 1).bit_length()))),
        tags=(Word(tags[0]), Word(tags[1])),
    )


@inlined
def cells(board: Board) -> int:
    """The number of fields."""
    return len(board.rows) * board.columns


@inlined
def middle_column(board: Board, i: int) -> Word:
    """The fields of the i-th column, counted from the middle to the sides."""
    column = board.columns // 2 + ((i + 1) // 2 if i % 2 == 0 else -((i + 1) // 2))
    return Word((1 << len(board.rows)) - 1) << Word((len(board.rows) + 1) * column)


@inlined
def count(word: Word) -> int:
    """The number of bits set; LLVM compiles this idiom to one instruction."""
    word = word - ((word >> ONE) & Word(0x5555555555555555))
    word = (word & Word(0x3333333333333333)) + ((word >> Word(2)) & Word(0x3333333333333333))
    word = (word + (word >> Word(4))) & Word(0x0F0F0F0F0F0F0F0F)
    return signed((word * Word(0x0101010101010101)) >> Word(56))


@inlined
def lowest(word: Word) -> Word:
    """The lowest bit set."""
    return word & (~word + ONE)


@inlined
def single(word: Word) -> bool:
    """Whether at most one bit is set."""
    return word & (word - ONE) == ZERO


@inlined
def landing(board: Board, taken: Word) -> Word:
    """The field of each column where the next stone lands."""
    return (taken + board.bottom) & board.fields


@inlined
def has_line(board: Board, stones: Word) -> bool:
    """Whether the stones hold a line."""
    found = _runs(board, stones, ONE)
    for slope in range(-1, 2):
        found |= _runs(board, stones, Word(len(board.rows) + 1 + slope))
    return found != ZERO


@inlined
def _runs(board: Board, stones: Word, shift: Word) -> Word:
    """The starts of runs of a line's length; two overlapping or adjacent runs join into a longer one."""
    length = 1
    while length < len(board.line):
        step = min(length, len(board.line) - length)
        stones &= stones >> shift * Word(step)
        length += step
    return stones


@inlined
def winning_fields(board: Board, stones: Word, taken: Word) -> Word:
    """The empty fields that would complete a line of these stones, within reach or not."""
    line = len(board.line)
    found = ~ZERO
    for distance in range(1, line):
        found &= stones << Word(distance)
    for slope in range(-1, 2):
        shift = Word(len(board.rows) + 1 + slope)
        for gap in range(line):
            before, after = ~ZERO, ~ZERO
            for distance in range(1, line):
                if distance <= gap:
                    before &= stones << shift * Word(distance)
                if distance < line - gap:
                    after &= stones >> shift * Word(distance)
            found |= before & after
    return found & board.fields & ~taken


@inlined
def above(board: Board, fields: Word) -> Word:
    """All fields above the given ones, in their columns."""
    found = (fields << ONE) & board.fields
    for k in range(len(board.lifts)):
        found |= (found << (ONE << Word(k))) & board.lifts[k]
    return found


@inlined
def alternate(board: Board, fields: Word) -> Word:
    """The given fields and every second one above them."""
    for k in range(1, len(board.lifts)):
        fields |= (fields << (ONE << Word(k))) & board.lifts[k]
    return fields


@inlined
def mirrored(board: Board, word: Word) -> Word:
    """The word with its columns in reverse order."""
    found = ZERO
    height = Word(len(board.rows) + 1)
    for _ in range(board.columns):
        found = (found << height) | (word & ((ONE << height) - ONE))
        word >>= height
    return found
