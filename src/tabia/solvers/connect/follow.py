"""The follow-up bound: what the side not to move gets by answering every stone in the same column.

Let the other side always play on top of the mover's last stone. From an empty upper part of even height it then gets
every second field, and the mover the rest:

    other    Where the number of empty fields of a column is odd, its lowest one stays outside the scheme: such
    mover    free fields are exchanged, one for one, so there must be an even number of them.
    other    If no line fits into the mover's stones, its fields of the scheme and its share of the free fields,
    mover    the mover cannot win: its score is at most 0.

Where a field of the other side would complete its line (a threat), the mover never gets beyond it, and in the end,
when all else is filled, must open the way to it: the other side wins. A column with such a threat needs no even
height, for it is never filled; so one column may change its role to make the number of free fields even.

The bound is exact where endgames are decided by zugzwang, and it costs no search.
"""

from __future__ import annotations

from tabia.solvers.connect.bits import ONE, ZERO, Board, Word, above, alternate, count, has_line, lowest, single
from tabia.solvers.connect.compiled import inlined

NONE = 127
"""No bound: more than any score."""


@inlined
def follow_bound(board: Board, mover: Word, other: Word, threats: Word, landings: Word, aim: int) -> int:
    """An upper bound on the mover's score, or NONE; `threats` are the winning fields of the other side.

    The search for a bound ends with the first one below `aim`.
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
    """The bound of one scheme: the given fields are free, the alternation starts over them and in the other columns.

    With `wins`, lines of several fields count for the other side too; all columns must then have their own role.
    """
    movers = alternate(board, (landings & ~free) | ((free << ONE) & board.fields))
    others = (movers << ONE) & board.fields
    unreached = above(board, threats & others)
    if _mover_can_win(board, mover | (movers & ~unreached), free):
        return NONE
    first_threats = threats & others & ~unreached
    if first_threats:
        # At the latest all is filled but what lies above the threats, and for all threats but one the two fields below.
        return -(count(first_threats) + (count(unreached) >> 1))
    return -1 if wins and has_line(board, other | others) else 0


@inlined
def _mover_can_win(board: Board, reach: Word, free: Word) -> bool:
    """Whether a line fits; of two free fields the mover gets one, of more it is granted all."""
    one = lowest(free)
    if free != ZERO and single(free ^ one):
        return has_line(board, reach | one) or has_line(board, reach | (free ^ one))
    return has_line(board, reach | free)
