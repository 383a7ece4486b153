"""A position as the page shows it, and the result of a game in words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tabia.games import drawing
from tabia.games.boards.board import BoardView, Drawing, on_host
from tabia.games.boards.views import view
from tabia.games.moves import legal_names
from tabia.games.session import Session


def position(session: Session, names: Sequence[str] | None = None) -> dict[str, Any]:
    """A position for JSON; `names` are those of the seats in the result, the game's own if not given.

    Paths list the cells a move touches, in order. `flipped` are the cells that the last move changed besides its path.
    """
    board = view(session.game)
    shown = _drawn(session) if isinstance(board, Drawing) else _on_cells(board, session)
    return shown | {
        "mover": session.mover,
        "ply": session.ply,
        "over": session.over,
        "result": result(session, names),
    }


def _drawn(session: Session) -> dict[str, Any]:
    moves = legal_names(session.game, session.legal, on_host(session))
    return {
        "legal": [{"action": action, "move": name, "path": [], "targets": []} for action, name in moves.items()],
        "last": None,
        "line": None,
        **_picture(session),
    }


def _picture(session: Session) -> dict[str, str]:
    """The picture; of a game that only draws text also the text, which a page can show in its own colors."""
    svg, text = session.svg(), session.draw()
    return {"svg": svg, "text": text} if svg == drawing.text_svg(text) else {"svg": svg}


def _on_cells(board: BoardView, session: Session) -> dict[str, Any]:
    names = legal_names(session.game, session.legal, on_host(session))
    pieces, paths = board.pieces(session), board.paths(session)
    last, flipped = _last(board, session, pieces)
    return {
        "pieces": pieces,
        "kings": board.kings(session),
        "legal": [
            {"action": action, "move": name, "path": paths[action], "targets": board.targets(paths[action])}
            for action, name in names.items()
        ],
        "last": last,
        "flipped": flipped,
        "line": board.line(session) if session.over and session.resigned is None else None,
    }


def _last(board: BoardView, session: Session, pieces: Sequence[int]) -> tuple[list[int] | None, list[int]]:
    """The path of the last move, and the other cells it changed; jumps of one piece in a row are one path."""
    if not session.actions:
        return None, []
    before = session.at(session.ply - 1)
    path = _path(board, before, session.actions[-1])
    changed = _changed(board.pieces(before), pieces, path)
    while path and before.ply and int(before.positions[-2].mover) == before.mover:
        earlier = before.at(before.ply - 1)
        jump = _path(board, earlier, before.actions[-1])
        if not jump or jump[-1] != path[0]:
            break
        changed = sorted({*changed, *_changed(board.pieces(earlier), board.pieces(before), jump)} - set(path))
        path, before = [*jump[:-1], *path], earlier
    return path, changed


def _path(board: BoardView, before: Session, action: int) -> list[int]:
    return board.path(action, board.pieces(before), on_host(before))


def _changed(old: Sequence[int], new: Sequence[int], path: Sequence[int]) -> list[int]:
    return [cell for cell in np.flatnonzero(np.array(old) != np.array(new)).tolist() if cell not in path]


def result(session: Session, names: Sequence[str] | None = None) -> dict[str, Any] | None:
    """How a game ended: scores, the winner, and a sentence with its reason; None before the end."""
    if not session.over:
        return None
    board = view(session.game)
    reason = "resignation" if session.resigned is not None else board.reason(session)
    return {
        "scores": [float(score) for score in session.scores],
        "winner": session.winner,
        "text": outcome(session, board.seat_names if names is None else names),
        "reason": reason,
    }


def outcome(session: Session, names: Sequence[str]) -> str:
    """The result in words, with the names of the seats: `Red won with four in a row`."""
    if session.resigned is not None:
        return f"{names[session.resigned]} resigned"
    board, scores = view(session.game), session.scores
    reason = board.reason(session)
    best = [names[seat] for seat in np.flatnonzero(scores == scores.max()).tolist()]
    if len(best) == len(scores):
        return f"Drawn: {reason}" if reason else "Drawn"
    if len(best) > 1:
        return f"{' and '.join(best)} share first place{f': {reason}' if reason else ''}"
    if not reason:
        return f"{best[0]} won"
    return f"{best[0]} won with {reason}" if board.wins_with else f"{best[0]} won: {reason}"
