"""The follow-up bound: the score that the opponent secures by answering every stone in the same column.

The opponent always plays on top of the mover's last stone. In the empty part of a column of even height it then gets
every second field, and the mover the rest:

    other    If a column has an odd number of empty fields, its lowest one is free: the sides take turns on free
    mover    fields, so there must be an even number of them.
    other    If no line fits into the mover's stones, its fields of the scheme and its share of the free fields,
    mover    the mover cannot win: its score is at most 0.

If one of the opponent's fields would complete its line (a threat), the mover cannot play beyond it, and once all else
is filled it must play below it: the opponent wins. A column with such a threat is never filled, so its height may be
odd; one such column may change its role to make the number of free fields even.

The bound is exact in endgames decided by zugzwang, and needs no search.
"""

from __future__ import annotations

from tabia.solvers.connect.bits import ONE, ZERO, Board, Word, above, alternate, count, has_line, lowest, single
from tabia.solvers.connect.compiled import inlined

NONE = 127
"""No bound: more than any score."""


@inlined
def follow_bound(board: Board, mover: Word, other: Word, threats: Word, landings: Word, aim: int) -> int:
    """An upper bound on the mover's score, or NONE; `threats` are the opponent's winning fields.

    Stops at the first bound below `aim`.
    """
    uneven = landings & board.uneven
    if count(uneven) & 1 == 0:
        return _scheme_bound(board, mover, other, threats, landings, uneven, aim < 1)
    # In a column that changes its role, the alternation starts one field later or earlier.
    starts = uneven | (((landings ^ uneven) << ONE) & board.fields)
    if threats & (alternate(board, starts) << ONE) == ZERO:
        return NONE
    best = NONE
    while starts != ZERO and best >= aim:
        start = lowest(starts)
        starts ^= start
        if threats & (alternate(board, start) << ONE):
            changed = start if start & landings else start >> ONE
            best = min(best, _scheme_bound(board, mover, other, threats, landings, uneven ^ changed, False))
    return best


@inlined
def _scheme_bound(board: Board, mover: Word, other: Word, threats: Word, landings: Word, free: Word, wins: bool) -> int:
    """The bound of one scheme: `free` fields are free, and the alternation starts above them and in other columns.

    With `wins`, lines through several of the opponent's fields count too; all columns must then keep their role.
    """
    movers = alternate(board, (landings & ~free) | ((free << ONE) & board.fields))
    others = (movers << ONE) & board.fields
    unreached = above(board, threats & others)
    if _mover_can_win(board, mover | (movers & ~unreached), free):
        return NONE
    first_threats = threats & others & ~unreached
    if first_threats:
        # At the end only fields above the threats are empty, and two fields below each threat but one.
        return -(count(first_threats) + (count(unreached) >> 1))
    return -1 if wins and has_line(board, other | others) else 0


@inlined
def _mover_can_win(board: Board, reach: Word, free: Word) -> bool:
    """Whether a line fits; the mover gets one of two free fields, and is granted all of more."""
    one = lowest(free)
    if free != ZERO and single(free ^ one):
        return has_line(board, reach | one) or has_line(board, reach | (free ^ one))
    return has_line(board, reach | free)
