"""Boards as text and as SVG: grids, fields at given points, and a fallback for games without a drawing."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tabia.core.text import xml

SEAT_COLORS = ("#d1495b", "#edae49", "#2e7d5b", "#30638e", "#7b4b94", "#1d1d1f")
"""One per seat: red, amber, green, blue, violet, black; distinct under the common forms of color blindness."""
SEAT_MARKS = "XO+#*@"
"""One per seat, for text."""
_FIELD, _EDGE, _INK, _PAPER = "#f4ead5", "#c8b88a", "#3b3a36", "#fffdf8"
_CELL = 48


def grid_text(
    cells: np.ndarray,
    *,
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
    marks: str = SEAT_MARKS,
    marked: Sequence[tuple[int, int]] = (),
) -> str:
    """A grid of seats (-1 empty) as lines of text, row 0 on top, with labels below and to the left.

    The `marked` (row, column) cells are in brackets; neighbors in a row share a pair.

    >>> print(grid_text(np.array([[0, 0, -1], [1, -1, 1]]), marked=[(0, 0), (0, 1)]))
    [X X].
     O . O
    """
    labels = [f"{label:>{max(map(len, rows))}}" for label in rows] or [""] * len(cells)
    margin = " " if rows or marked else ""  # for a bracket before the first column
    lines = []
    for index, row in enumerate(cells):
        places = [column for line, column in marked if line == index]
        gaps = [_bracket(column, places) for column in range(len(row) + 1)]
        shown = ["." if seat < 0 else marks[seat] for seat in row]
        inside = "".join(gap + mark for gap, mark in zip(gaps, shown, strict=False))
        lines.append(labels[index] + (inside if margin else inside[1:]) + gaps[-1].rstrip())
    if columns:
        lines.append(" " * len(labels[0]) + margin + " ".join(label[-1] for label in columns))
    return "\n".join(lines)


def _bracket(column: int, marked: Sequence[int]) -> str:
    """The character before a column: a bracket where a run of marked columns starts or ends."""
    if (column in marked) == (column - 1 in marked):
        return " "
    return "[" if column in marked else "]"


def straight_lines(own: np.ndarray, length: int) -> tuple[tuple[int, int], ...]:
    """The cells (row, column) of all straight lines of at least `length` true cells of a grid, in order.

    >>> straight_lines(np.eye(3, dtype=bool), 3)
    ((0, 0), (1, 1), (2, 2))
    """
    found = set()
    for row, column in np.argwhere(own).tolist():
        for down, right in ((0, 1), (1, 0), (1, 1), (1, -1)):
            cells = [(row + down * step, column + right * step) for step in range(length)]
            inside = all(0 <= y < own.shape[0] and 0 <= x < own.shape[1] for y, x in cells)
            if inside and all(own[cell] for cell in cells):
                found.update(cells)
    return tuple(sorted(found))


def grid_svg(
    cells: np.ndarray,
    *,
    columns: Sequence[str] = (),
    rows: Sequence[str] = (),
    colors: Sequence[str] = SEAT_COLORS,
    marked: Sequence[tuple[int, int]] = (),
    labels: dict[tuple[int, int], str] | None = None,
    shaded: np.ndarray | None = None,
    caption: str = "",
) -> str:
    """A grid of seats (-1 empty) as SVG; `marked` (row, column) stones get an outline, `labels` a letter."""
    height, width = cells.shape
    left, top = (_CELL if rows else _CELL // 4), _CELL // 4
    parts = []
    for (row, column), seat in np.ndenumerate(cells):
        x, y = left + column * _CELL, top + row * _CELL
        fill = _FIELD if shaded is None or not shaded[row, column] else "#d9c69a"
        parts.append(f'<rect x="{x}" y="{y}" width="{_CELL}" height="{_CELL}" fill="{fill}" stroke="{_EDGE}"/>')
        if seat >= 0:
            center = (x + _CELL / 2, y + _CELL / 2)
            parts.append(_stone(center, _CELL * 0.4, colors[seat], outlined=(row, column) in marked))
            if labels and (row, column) in labels:
                parts.append(_text(center, labels[row, column], size=20, fill=_PAPER))
    foot = top + height * _CELL + _CELL * 0.35
    parts += [_text((left + (i + 0.5) * _CELL, foot), label) for i, label in enumerate(columns)]
    parts += [_text((left * 0.5, top + (i + 0.5) * _CELL), label) for i, label in enumerate(rows)]
    return _document(left + width * _CELL + _CELL // 4, foot + _CELL * 0.35, parts, caption)


def points_svg(
    points: np.ndarray,
    seats: np.ndarray,
    *,
    names: Sequence[str] = (),
    zones: np.ndarray | None = None,
    colors: Sequence[str] = SEAT_COLORS,
    marked: Sequence[int] = (),
    caption: str = "",
) -> str:
    """Fields at `points` [F, 2] (x, y in field distances) with the seat on each (-1 empty) and its home zone."""
    low, high = points.min(axis=0), points.max(axis=0)
    placed = (points - low + 0.7) * _CELL
    parts = []
    for field, (x, y) in enumerate(placed):
        zone = -1 if zones is None else int(zones[field])
        edge = _EDGE if zone < 0 else colors[zone]
        parts.append(
            f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{_CELL * 0.4:.1f}" fill="{_FIELD}" '
            f'stroke="{edge}" stroke-width="2"/>'
        )
        if seats[field] >= 0:
            parts.append(_stone((x, y), _CELL * 0.32, colors[int(seats[field])], outlined=field in marked))
        elif names:
            parts.append(_text((x, y), names[field], size=11))
    width, height = (high - low + 1.4) * _CELL
    return _document(width, height, parts, caption)


def planes_text(planes: np.ndarray, caption: str = "") -> str:
    """The fallback: each cell shows the first plane that is set there."""
    some = planes.any(axis=-1)
    first = np.where(some, planes.argmax(axis=-1), -1)
    digits = "0123456789abcdefghijklmnopqrstuvwxyz"
    lines = [" ".join("." if cell < 0 else digits[cell % len(digits)] for cell in row) for row in first]
    return "\n".join([*lines, caption]) if caption else "\n".join(lines)


def text_svg(text: str) -> str:
    """Text in a fixed-width font, for games that only draw text."""
    lines = text.splitlines() or [""]
    parts = [
        f'<text x="12" y="{22 + 20 * i}" font-family="monospace" font-size="16" fill="{_INK}" xml:space="preserve">'
        f"{xml(line)}</text>"
        for i, line in enumerate(lines)
    ]
    return _document(24 + 10 * max(map(len, lines)), 20 * len(lines) + 16, parts, "")


def _stone(center: tuple[float, float], radius: float, color: str, *, outlined: bool) -> str:
    x, y = center
    outline = f' stroke="{_PAPER}" stroke-width="4"' if outlined else f' stroke="{_INK}" stroke-opacity="0.35"'
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}" fill="{color}"{outline}/>'


def _text(center: tuple[float, float], text: str, *, size: int = 15, fill: str = _INK) -> str:
    x, y = center
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-family="sans-serif" font-size="{size}" fill="{fill}" '
        f'text-anchor="middle" dominant-baseline="central">{xml(text)}</text>'
    )


def _document(width: float, height: float, parts: Sequence[str], caption: str) -> str:
    total = height + (28 if caption else 0)
    if caption:
        parts = [*parts, _text((width / 2, height + 10), caption, size=16)]
    body = "\n".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {total:.0f}" '
        f'width="{width:.0f}" height="{total:.0f}" role="img">\n'
        f'<rect width="100%" height="100%" fill="{_PAPER}"/>\n{body}\n</svg>\n'
    )
