"""The search itself: negamax with a null window, threats first, and proofs instead of leaves.

A question is always "is the score at least `aim`?"; the answer is a bound, at least `aim` if so and below it if not.
The score of a position follows from a few such questions. It counts from the end: a win with the mover's last
possible stone is 1, one stone earlier 2, and so on; losses are negative, a draw is 0.

The positions on the way to a leaf stand in a stack, one row for each number of stones, because recursion would hand
on the table with every call. A position to be searched is always one whose mover cannot win at once.
"""

from __future__ import annotations

import numpy as np

from tabia.search.connect.bits import (
    ONE,
    ZERO,
    Board,
    Word,
    cells,
    count,
    has_line,
    landing,
    lowest,
    middle_column,
    single,
    winning_fields,
)
from tabia.search.connect.compiled import compiled, inlined
from tabia.search.connect.follow import follow_bound
from tabia.search.connect.table import find, keep, locate, lower, upper

# A row of the stack: the position and the question, what the table knows, and how far the moves are tried.
MOVER, TAKEN, LEGAL, AIM, PLACE, TAG, KNOWN, SEARCHED, BEST, TRIED, MOVES, FIRST = range(12)
_THREATS = 44  # TODO
_COUNTER = 64  # the row whose first entry counts the positions searched
_RANKS = 32  # more than columns
import os
_LATE = int(os.environ.get('LATE','12'))
_NEAR=13
_EARLY = int(os.environ.get('EARLY','12'))  # with so many empty fields left, the children are looked up before one is searched


def empty_stack() -> np.ndarray:
    """Room for the positions on the way to a leaf."""
    return np.zeros((_COUNTER + 1, FIRST + 2 * _RANKS), np.int64)


@compiled
def solve_all(board: Board, table: np.ndarray, near: np.ndarray, stack: np.ndarray, positions: np.ndarray, scores: np.ndarray) -> None:
    """The score of each position, uint64[B, 2] the mover's stones and all, written to int8[B]."""
    for i in range(positions.shape[0]):
        scores[i] = solve(board, table, near, stack, positions[i, 0], positions[i, 1])


@inlined
def solve(board: Board, table: np.ndarray, near: np.ndarray, stack: np.ndarray, mover: Word, taken: Word) -> int:
    """The exact score of any position, also of one that is over."""
    stones = count(taken)
    if has_line(board, mover ^ taken):
        return -((cells(board) + 2 - stones) // 2)
    if winning_fields(board, mover, taken) & landing(board, taken):
        return (cells(board) + 1 - stones) // 2
    least, most = -((cells(board) - stones) // 2), (cells(board) - 1 - stones) // 2
    aim = 1
    while least < most:
        aim = min(max(aim, least + 1), most)
        bound = search(board, table, near, stack, mover, taken, aim)
        if bound >= aim:
            least, aim = bound, bound + 1
        else:
            most, aim = bound, bound
    return least


@compiled
def search(board: Board, table: np.ndarray, near: np.ndarray, stack: np.ndarray, mover: Word, taken: Word, aim: int) -> int:
    """A bound that tells whether the score is at least `aim`."""
    root = stones = count(taken)
    while True:
        answered, bound = look(board, table, near, stack, mover, taken, stones, aim)
        if answered:
            stones, bound = climb(board, table, near, stack, root, stones, bound)
            if stones < root:
                return bound
        row = stack[stones]
        move = planned(board, row, row[TRIED])
        row[TRIED] += 1
        mover, taken, aim = Word(row[MOVER]) ^ Word(row[TAKEN]), Word(row[TAKEN]) | move, 1 - row[AIM]
        stones += 1


@inlined
def climb(board: Board, table: np.ndarray, near: np.ndarray, stack: np.ndarray, root: int, stones: int, bound: int) -> tuple[int, int]:
    """Hand a bound up to the next position with a question left; its stones, or fewer than the root's at the end."""
    while stones > root:
        stones -= 1
        row = stack[stones]
        row[BEST] = max(row[BEST], -bound)
        if row[BEST] < row[AIM] and row[TRIED] < row[MOVES]:
            return stones, bound
        bound = row[BEST]
        if row[TAG]:
            known, searched = Word(row[KNOWN]), stack[_COUNTER, 0] - row[SEARCHED]
            least, most = (bound, upper(known)) if bound >= row[AIM] else (lower(known), bound)
            keep(near if stones > cells(board) - _LATE else table, Word(row[PLACE]), Word(row[TAG]), least, most, searched)
    return root - 1, bound


@inlined
def look(
    board: Board, table: np.ndarray, near: np.ndarray, stack: np.ndarray, mover: Word, taken: Word, stones: int, aim: int
) -> tuple[bool, int]:
    """Whether the question is answered without search, and the answer; if not, the stack holds the moves to try."""
    stack[_COUNTER, 0] += 1
    other = mover ^ taken
    moves = unlosing(landing(board, taken), winning_fields(board, other, taken))
    if moves == ZERO:
        return True, -((cells(board) - stones) // 2)
    least, most = -((cells(board) - 2 - stones) // 2), (cells(board) - 1 - stones) // 2
    if aim <= least:
        return True, least
    if aim > most:
        return True, most
    row = stack[stones]
    row[MOVER], row[TAKEN], row[LEGAL] = np.int64(mover), np.int64(taken), np.int64(moves)
    row[AIM], row[BEST], row[TRIED] = aim, -64, 0
    if single(moves):
        row[TAG], row[MOVES] = 0, 1
        return False, 0
    place, tag, known = recall(board, table, near, mover, taken, stones)
    if lower(known) >= aim:
        return True, lower(known)
    if upper(known) < aim:
        return True, upper(known)
    if rank(board, row, mover, taken, moves) or aim == most:
        return True, most if row[MOVES] == 0 else most - 1
    bound = glance(board, table, near, row, mover, taken, stones, aim)
    row[PLACE], row[TAG], row[KNOWN], row[SEARCHED] = np.int64(place), np.int64(tag), np.int64(known), stack[_COUNTER, 0]
    return bound >= aim, bound


@inlined
def recall(board, table, near, mover, taken, stones):
    if stones > cells(board) - _LATE:
        place, tag = locate(board, mover, taken, False, board.near_tag_bits)
        return place, tag, find(near, place, tag)
    place, tag = locate(board, mover, taken, mirrors_meet(board, stones), board.tag_bits)
    return place, tag, find(table, place, tag)


@inlined
def unlosing(landings: Word, threats: Word) -> Word:
    """The moves after which the other side cannot win at once: block its one threat, and play under none."""
    forced = landings & threats
    if forced:
        landings = forced if single(forced) else ZERO
    return landings & ~(threats >> ONE)


@inlined
def mirrors_meet(board: Board, stones: int) -> bool:
    """Whether a position is so early that its mirror image is worth looking for."""
    return 3 * stones <= cells(board)


@inlined
def rank(board: Board, row: np.ndarray, mover: Word, taken: Word, moves: Word) -> bool:
    """Write the moves to the row, most winning fields first, then middle first; true if one wins with the next stone."""
    row[MOVES] = 0
    for column in range(board.columns):
        move = moves & middle_column(board, column)
        if move:
            threats = winning_fields(board, mover | move, taken | move)
            if unlosing(landing(board, taken | move), threats) == ZERO:
                row[MOVES] = 0
                return True
            row[_THREATS + column] = np.int64(threats)
            worth = count(threats) * _RANKS + _RANKS - 1 - column
            place = FIRST + row[MOVES]
            while place > FIRST and row[place - 1] < worth:
                row[place] = row[place - 1]
                place -= 1
            row[place] = worth
            row[MOVES] += 1
    return False


@inlined
def planned(board: Board, row: np.ndarray, i: int) -> Word:
    """The i-th move of a row."""
    if row[MOVES] == 1:
        return Word(row[LEGAL])
    return Word(row[LEGAL]) & middle_column(board, _RANKS - 1 - (row[FIRST + i] & (_RANKS - 1)))


@inlined
def glance(
    board: Board, table: np.ndarray, near: np.ndarray, row: np.ndarray, mover: Word, taken: Word, stones: int, aim: int
) -> int:
    """A lower bound from a child whose score needs no search: by following up, or known from elsewhere."""
    other = mover ^ taken
    if stones + _EARLY <= cells(board):
        for i in range(row[MOVES]):
            move = planned(board, row, i)
            place, tag, known = recall(board, table, near, other, taken | move, stones + 1)
            bound = -upper(known)
            if bound >= aim:
                return bound
    for i in range(row[MOVES]):
        move = planned(board, row, i)
        mine, all_stones = mover | move, taken | move
        threats = Word(row[_THREATS + _RANKS - 1 - (row[FIRST + i] & (_RANKS - 1))])
        bound = -follow_bound(board, other, mine, threats, landing(board, all_stones), 1 - aim)
        if bound >= aim:
            return bound
    return -64
