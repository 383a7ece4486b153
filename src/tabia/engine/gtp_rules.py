"""What GoGui asks for games other than Go, and the score at the end.

GoGui draws row 1 at the bottom, so a board whose rows count from the top is sent upside down; a stone is where its
vertex says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tabia.engine.table import Table
from tabia.games.boards.board import on_host
from tabia.games.protocols.gtp import COLORS, GtpGame
from tabia.games.protocols.notation import ProtocolError
from tabia.games.session import Session

Ask = Callable[[Table], str]


def stones(session: Session) -> np.ndarray:
    """int[H, W]: the seat on each field, -1 where it is empty; the first row is drawn on top."""
    planes = session.observe(0)[:, :, :2]
    return np.where(planes.any(axis=-1), planes.argmax(axis=-1), -1)


def final_score(notation: GtpGame, session: Session) -> str:
    """The score by the rules of the game, such as B+3.5; in Go by area, with all stones alive."""
    if notation.title not in _COUNTS:
        raise ProtocolError("cannot score")
    lead = _COUNTS[notation.title](stones(session)) - (notation.komi or 0.0)
    return "0" if lead == 0 else f"{'B' if lead > 0 else 'W'}+{abs(lead):g}"


def _count_stones(board: np.ndarray) -> int:
    return int((board == 0).sum() - (board == 1).sum())


def _count_area(board: np.ndarray) -> int:
    """Stones, and empty regions that touch stones of one color only (Tromp-Taylor)."""
    lead, left = _count_stones(board), {(int(row), int(column)) for row, column in np.argwhere(board == -1)}
    while left:
        region, borders = [left.pop()], set[int]()
        for cell in region:
            for near in _neighbors(cell, board.shape[0]):
                if near in left:
                    left.remove(near)
                    region.append(near)
                elif board[near] >= 0:
                    borders.add(int(board[near]))
        lead += len(region) * (borders == {0}) - len(region) * (borders == {1})
    return lead


def _neighbors(cell: tuple[int, int], size: int) -> Iterator[tuple[int, int]]:
    row, column = cell
    for near in ((row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)):
        if min(near) >= 0 and max(near) < size:
            yield near


_COUNTS: dict[str, Callable[[np.ndarray], int]] = {"Go": _count_area, "Othello": _count_stones}


def _notation(table: Table) -> GtpGame:
    notation = table.notation
    assert isinstance(notation, GtpGame)
    return notation


def _board(table: Table) -> str:
    board = stones(table.session)
    from_bottom = _notation(table).title == "Go"
    letters = np.array([".", "X", "O"])[(board if from_bottom else board[::-1]) + 1]
    return "\n" + "\n".join(" ".join(row) for row in letters)


def _legal_moves(table: Table) -> str:
    session = table.session
    actions = table.notation.legal_actions(session.state, session.legal)
    return " ".join(table.notation.text(action, on_host(session)) for action in actions)


def _final_result(table: Table) -> str:
    return table.session.result


ANSWERS: dict[str, Ask] = {
    "gogui-rules_game_id": lambda table: _notation(table).title,
    "gogui-rules_board_size": lambda table: str(_notation(table).size),
    "gogui-rules_board": _board,
    "gogui-rules_side_to_move": lambda table: COLORS[table.session.mover],
    "gogui-rules_legal_moves": _legal_moves,
    "gogui-rules_final_result": _final_result,
}
"""GoGui's commands for the rules of any game."""
