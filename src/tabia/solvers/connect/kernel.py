"""The search: negamax with a null window, threats first, and proofs in place of leaves.

Each search answers "is the score at least `aim`?" with a bound: at least `aim` if so, below it if not. A few such
searches give the score of a position. Scores count from the end: a win with the mover's last possible stone is 1, one
stone earlier 2, and so on; losses are negative, a draw is 0.

The positions on the path are kept in a stack, one row per number of stones. A position is searched only if its mover
cannot win at once.
"""

from __future__ import annotations

import numpy as np

from tabia.solvers.connect.bits import (
    ONE,
    ZERO,
    Board,
    Word,
    cells,
    count,
    has_line,
    landing,
    middle_column,
    signed,
    single,
    winning_fields,
)
from tabia.solvers.connect.compiled import compiled, inlined
from tabia.solvers.connect.follow_up import follow_bound
from tabia.solvers.connect.table import Entry, Tables, is_late, keep, lower, recall, upper

_RANKS = 32  # more than columns
# A row of the stack: the position, its moves and `aim`; its table entry; how many moves have been tried; the ranked
# moves, and the winning fields after the move in each column.
_MOVER, _TAKEN, _LEGAL, _AIM, _PLACE, _TAG, _KNOWN, _SEARCHED, _BEST, _TRIED, _MOVES, _RANKED = range(12)
_THREATS = _RANKED + _RANKS
_COUNTER = 64  # the row whose first entry counts searched positions
_OPEN = 100  # no bound yet: a search is needed
_GLANCE_FIELDS = 14  # with at least this many empty fields, children are looked up before any is searched


def empty_stack() -> np.ndarray:
    """An empty stack for the positions on a path."""
    return np.zeros((_COUNTER + 1, _THREATS + _RANKS), np.int64)


@compiled
def solve_all(board: Board, tables: Tables, stack: np.ndarray, positions: np.ndarray, scores: np.ndarray) -> None:
    """Write the score of each position, uint64[B, 2] (the mover's stones and all stones), to int8[B]."""
    for i in range(positions.shape[0]):
        scores[i] = _solve(board, tables, stack, positions[i, 0], positions[i, 1])


@inlined
def _solve(board: Board, tables: Tables, stack: np.ndarray, mover: Word, taken: Word) -> int:
    """The exact score of any position, including one that is over."""
    stones = count(taken)
    if has_line(board, mover ^ taken):
        return -((cells(board) + 2 - stones) // 2)
    if winning_fields(board, mover, taken) & landing(board, taken):
        return (cells(board) + 1 - stones) // 2
    least, most = -((cells(board) - stones) // 2), (cells(board) - 1 - stones) // 2
    aim = 1
    while least < most:
        aim = min(max(aim, least + 1), most)
        bound = _search(board, tables, stack, mover, taken, aim)
        if bound >= aim:
            least, aim = bound, bound + 1
        else:
            most, aim = bound, bound
    return least


@inlined
def _search(board: Board, tables: Tables, stack: np.ndarray, mover: Word, taken: Word, aim: int) -> int:
    """A bound that decides whether the score is at least `aim`."""
    root = stones = count(taken)
    while True:
        bound = _look(board, tables, stack, mover, taken, stones, aim)
        if bound != _OPEN:
            stones, bound = _climb(board, tables, stack, root, stones, bound)
            if stones < root:
                return bound
        row = stack[stones]
        move = _move(board, row, row[_TRIED])
        row[_TRIED] += 1
        mover, taken, aim = Word(row[_MOVER]) ^ Word(row[_TAKEN]), Word(row[_TAKEN]) | move, 1 - row[_AIM]
        stones += 1


@inlined
def _climb(board: Board, tables: Tables, stack: np.ndarray, root: int, stones: int, bound: int) -> tuple[int, int]:
    """Back a bound up to the next position with an untried move; its stones, or fewer than the root's if none."""
    while stones > root:
        stones -= 1
        row = stack[stones]
        row[_BEST] = max(row[_BEST], -bound)
        if row[_BEST] < row[_AIM] and row[_TRIED] < row[_MOVES]:
            return stones, bound
        bound = row[_BEST]
        if row[_TAG]:
            entry = Entry(Word(row[_PLACE]), Word(row[_TAG]), Word(row[_KNOWN]))
            least, most = (bound, upper(entry.known)) if bound >= row[_AIM] else (lower(entry.known), bound)
            table = tables.late if is_late(board, stones) else tables.early
            keep(table, entry, least, most, stack[_COUNTER, 0] - row[_SEARCHED])
    return root - 1, bound


@inlined
def _look(board: Board, tables: Tables, stack: np.ndarray, mover: Word, taken: Word, stones: int, aim: int) -> int:
    """A bound if no search is needed; otherwise _OPEN, with the moves to try on the stack."""
    stack[_COUNTER, 0] += 1
    moves = _unlosing(landing(board, taken), winning_fields(board, mover ^ taken, taken))
    if moves == ZERO:
        return -((cells(board) - stones) // 2)
    least, most = -((cells(board) - 2 - stones) // 2), (cells(board) - 1 - stones) // 2
    if aim <= least or aim > most:
        return least if aim <= least else most
    row = stack[stones]
    row[_MOVER], row[_TAKEN], row[_LEGAL] = signed(mover), signed(taken), signed(moves)
    row[_AIM], row[_BEST], row[_TRIED], row[_SEARCHED] = aim, -64, 0, stack[_COUNTER, 0]
    if single(moves):
        row[_TAG], row[_MOVES] = 0, 1
        return _OPEN
    return _consult(board, tables, row, mover, taken, stones, aim, most)


@inlined
def _consult(
    board: Board, tables: Tables, row: np.ndarray, mover: Word, taken: Word, stones: int, aim: int, most: int
) -> int:
    """The same for a position with several moves: from its table, its threats or its children."""
    entry = recall(board, tables, mover, taken, stones)
    if lower(entry.known) >= aim or upper(entry.known) < aim:
        return lower(entry.known) if lower(entry.known) >= aim else upper(entry.known)
    if _rank(board, row, mover, taken, Word(row[_LEGAL])):
        return most
    if aim == most:
        return most - 1
    row[_PLACE], row[_TAG], row[_KNOWN] = signed(entry.place), signed(entry.tag), signed(entry.known)
    bound = _glance(board, tables, row, mover, taken, stones, aim)
    return bound if bound >= aim else _OPEN


@inlined
def _unlosing(landings: Word, threats: Word) -> Word:
    """The moves after which the opponent cannot win at once: they block its only threat and play under none."""
    forced = landings & threats
    if forced:
        landings = forced if single(forced) else ZERO
    return landings & ~(threats >> ONE)


@inlined
def _rank(board: Board, row: np.ndarray, mover: Word, taken: Word, moves: Word) -> bool:
    """Write the moves to the row, most winning fields first, then the middle; true if one wins by force."""
    ranked = 0
    for column in range(board.columns):
        move = moves & middle_column(board, column)
        if move:
            threats = winning_fields(board, mover | move, taken | move)
            if _unlosing(landing(board, taken | move), threats) == ZERO:
                return True
            row[_THREATS + column] = signed(threats)
            worth = count(threats) * _RANKS + (_RANKS - 1 - column)
            place = _RANKED + ranked
            while place > _RANKED and row[place - 1] < worth:
                row[place] = row[place - 1]
                place -= 1
            row[place] = worth
            ranked += 1
    row[_MOVES] = ranked
    return False


@inlined
def _ranked_column(row: np.ndarray, i: int) -> int:
    return _RANKS - 1 - (row[_RANKED + i] & (_RANKS - 1))


@inlined
def _move(board: Board, row: np.ndarray, i: int) -> Word:
    """The i-th move of a row; a single move is not ranked."""
    moves = Word(row[_LEGAL])
    return moves if row[_MOVES] == 1 else moves & middle_column(board, _ranked_column(row, i))


@inlined
def _glance(board: Board, tables: Tables, row: np.ndarray, mover: Word, taken: Word, stones: int, aim: int) -> int:
    """A lower bound from a child that needs no search, by table or follow-up strategy; -64 if none."""
    other = mover ^ taken
    if stones + _GLANCE_FIELDS <= cells(board):
        for i in range(row[_MOVES]):
            bound = -upper(recall(board, tables, other, taken | _move(board, row, i), stones + 1).known)
            if bound >= aim:
                return bound
    for i in range(row[_MOVES]):
        move = _move(board, row, i)
        threats = Word(row[_THREATS + _ranked_column(row, i)])
        bound = -follow_bound(board, other, mover | move, threats, landing(board, taken | move), 1 - aim)
        if bound >= aim:
            return bound
    return -64
