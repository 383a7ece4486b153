"""Analyses in the fields of KataGo's analysis engine, for programs that know them.

`winrate` is the expected score of the mover, from 0 to 1 with a draw as one half. A player that does not search has no
visits; `order` then follows its policy or its scores.
"""

from __future__ import annotations

from typing import Any

from tabia.games.session import Session
from tabia.players import Analysis
from tabia.search.picture import Branch

Fields = dict[str, Any]


def line(id: str, session: Session, found: Analysis, *, during_search: bool) -> Fields:
    """One line of the answer: a position."""
    return {
        "id": id,
        "turnNumber": session.ply,
        "isDuringSearch": during_search,
        "moveInfos": [] if session.over else _moves(found),
        "rootInfo": _root(session, found),
    }


def _moves(found: Analysis) -> list[Fields]:
    tops = {branch.move: branch for branch in found.tree.children} if found.tree is not None else {}
    ranked = found.ranked or ([found.move] if found.move is not None else [])
    return [_move(found, move, order, tops.get(move)) for order, move in enumerate(ranked)]


def _move(found: Analysis, move: str, order: int, branch: Branch | None) -> Fields:
    shown: Fields = {
        "move": move,
        "order": order,
        "visits": (found.visits or {}).get(move, 0),
        "winrate": _winrate((found.values or {}).get(move)),
        "prior": None if branch is None else round(branch.prior, 4),
        "policy": (found.policy or {}).get(move),
        "pv": (found.line or [move]) if move == found.move else _continuation(move, branch),
    }
    if found.scores is not None:
        shown["scoreLead"] = found.scores.get(move)
    return shown


def _root(session: Session, found: Analysis) -> Fields:
    over = session.over
    expected = found.final if over else found.expected
    return {
        "currentPlayer": None if over else session.mover,
        "visits": sum((found.visits or {}).values()),
        "winrate": None if over or expected is None else _winrate(expected[session.mover]),
        "expected": expected,  # by seat, from -1 to 1
        "over": over,
    }


def _continuation(move: str, branch: Branch | None) -> list[str]:
    """A move and the most visited replies in the shown part of the tree."""
    found = [move]
    while branch is not None and branch.children:
        branch = branch.children[0]
        found.append(branch.move)
    return found


def _winrate(value: float | None) -> float | None:
    return None if value is None else round((value + 1.0) / 2.0, 4)
