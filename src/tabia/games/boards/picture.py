"""A position as SVG with a policy on its cells and a bar for each value, without any drawing library.

    policy_svg(session, {action: probability}, values=[0.3, -0.3])

The probability of a move is written on the cell where it ends; moves to the same cell add up. A bar shows a seat's
value from -1 (empty) to 1 (full). Below the board are the seat to move, the moves without a cell, such as a pass or
those of games without cells, and the caption. Lengths are in pixels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tabia.core.text import xml
from tabia.games import drawing, seats
from tabia.games.boards.board import Board, BoardView, Drawing, on_host
from tabia.games.boards.views import view
from tabia.games.moves import legal_names
from tabia.games.session import Session

CELL, MARGIN, BAR, LINE = 48, 24, 18, 20
LETTER = 9  # the width of a letter in lines below the board: more than most letters of common fonts have
_INK, _PAPER, _EDGE, _TINT = "#3b3a36", "#fffdf8", "#c8b88a", "#30638e"
_LEAST = 0.005  # probabilities below half a percent are left out


def policy_svg(
    session: Session, policy: Mapping[int, float], values: Sequence[float] | None = None, *, caption: str = ""
) -> str:
    """A position with the probabilities of its legal actions and the values of its seats."""
    board = view(session.game)
    if isinstance(board, Drawing):
        return _as_text(session, policy, values, caption)
    on_cells, others = by_cell(board, session, policy)
    width, height = board.board.width * CELL + 2 * MARGIN, board.board.height * CELL + 2 * MARGIN
    parts = [*_cells(board.board, board.pieces(session), on_cells)]
    parts += [_bar(seat, value, width, height) for seat, value in enumerate(values or ())]
    lines = [*_to_move(session), *_listed(session, others), *([caption] if caption else [])]
    first = height + LINE / 2  # below the values at the bars
    parts += [_text(MARGIN, first + LINE * index, line, anchor="start") for index, line in enumerate(lines)]
    parts += [] if session.over else [_disc(session, first)]
    bars, longest = len(values or ()) * (BAR + MARGIN), max(map(len, lines), default=0)
    below = LINE * len(lines) + MARGIN / 2 if lines else 0
    return _document(max(width + bars, 2 * MARGIN + LETTER * longest), height + below, parts)


def by_cell(
    board: BoardView, session: Session, policy: Mapping[int, float]
) -> tuple[dict[int, float], dict[int, float]]:
    """The probability of each cell, and of the actions that belong to none."""
    cells: dict[int, float] = {}
    others: dict[int, float] = {}
    for action, path in board.paths(session).items():
        place, key = (cells, path[-1]) if path else (others, action)
        place[key] = place.get(key, 0.0) + policy.get(action, 0.0)
    return cells, others


def _cells(board: Board, pieces: Sequence[int], policy: Mapping[int, float]) -> list[str]:
    """Every cell with its piece or its probability; likely cells are tinted."""
    highest = max(policy.values(), default=0.0)
    parts = []
    for index, cell in enumerate(board.cells):
        x, y = MARGIN + cell.x * CELL, MARGIN + cell.y * CELL
        share = policy.get(index, 0.0)
        tint = 0.75 * share / highest if highest > 0 else 0.0
        radius = CELL * (0.48 if board.style == "plain" else board.radius)
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{_TINT}" fill-opacity="{tint:.3f}" '
            f'stroke="{_EDGE}"/>'
        )
        if pieces[index] >= 0:
            color = drawing.SEAT_COLORS[pieces[index] % len(drawing.SEAT_COLORS)]
            parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{0.8 * radius:.1f}" fill="{color}"/>')
        if share >= _LEAST:
            parts.append(_text(x, y, f"{100 * share:.0f}%", size=13, anchor="middle"))
    return parts


def _bar(seat: int, value: float, left: float, height: float) -> str:
    """A bar to the right of the board, filled from below in the color of the seat."""
    x, top, length = left + seat * (BAR + MARGIN), float(MARGIN), height - 2 * MARGIN
    full = length * min(max((value + 1.0) / 2.0, 0.0), 1.0)
    color = drawing.SEAT_COLORS[seat % len(drawing.SEAT_COLORS)]
    middle = top + length / 2
    return (
        f'<rect x="{x:.1f}" y="{top + length - full:.1f}" width="{BAR}" height="{full:.1f}" fill="{color}"/>\n'
        f'<rect x="{x:.1f}" y="{top:.1f}" width="{BAR}" height="{length:.1f}" fill="none" stroke="{_EDGE}"/>\n'
        f'<line x1="{x:.1f}" y1="{middle:.1f}" x2="{x + BAR:.1f}" y2="{middle:.1f}" stroke="{_INK}"/>\n'
        + _text(x + BAR / 2, height - MARGIN / 2, f"{value:+.2f}", size=12, anchor="middle")
    )


def _to_move(session: Session) -> list[str]:
    """The seat to move, with its mark if that is a letter or a sign: words such as Black are not the colors here."""
    if session.over:
        return []
    marked = len(session.game.piece(session.mover)) == 1
    name = seats.name(session.game, session.mover) if marked else f"Seat {session.mover + 1}"
    return [f"{name} to move"]


def _disc(session: Session, y: float) -> str:
    """The color of the seat to move, in the margin beside its line."""
    color = drawing.SEAT_COLORS[session.mover % len(drawing.SEAT_COLORS)]
    return f'<circle cx="{MARGIN / 2:.1f}" cy="{y:.1f}" r="6" fill="{color}"/>'


def _listed(session: Session, policy: Mapping[int, float]) -> list[str]:
    """Moves and their probabilities, most likely first."""
    names = legal_names(session.game, session.legal, on_host(session))
    likely = sorted((action for action in policy if policy[action] >= _LEAST), key=lambda action: -policy[action])
    return [f"{names[action]} {100 * policy[action]:.0f}%" for action in likely]


def _as_text(session: Session, policy: Mapping[int, float], values: Sequence[float] | None, caption: str) -> str:
    shown = ", ".join(f"seat {seat} {value:+.2f}" for seat, value in enumerate(values or (), start=1))
    drawn = session.draw()
    mover = [] if "to move" in drawn else _to_move(session)  # most drawings say it themselves
    return drawing.text_svg("\n".join([drawn, "", *mover, *_listed(session, policy), shown, caption]))


def _text(x: float, y: float, text: str, *, size: int = 14, anchor: str) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="{size}" fill="{_INK}" '
        f'text-anchor="{anchor}" dominant-baseline="central">{xml(text)}</text>'
    )


def _document(width: float, height: float, parts: Sequence[str]) -> str:
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" role="img">\n'
        f'<rect width="100%" height="100%" fill="{_PAPER}"/>\n{body}\n</svg>\n'
    )
