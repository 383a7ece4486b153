"""A network as a picture (SVG), from the observation at the top to logits and values at the bottom.

Blocks and heads say how they are drawn (`Figure`). Equal blocks in a row are drawn once, with their number. Heads that
only training uses are left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby
from xml.sax.saxutils import escape

from tabia.networks.blocks import Figure, Step
from tabia.networks.heads import DrawnHead
from tabia.networks.network import Network
from tabia.networks.summary import Row, counts, rows, times

_INK, _FAINT, _PAPER = "#3b3a36", "#77746a", "#fffdf8"
_FILL = {"conv": "#f6d9d3", "dense": "#dfe3e6", "sum": "#f4ead5", "end": "#dcebdf", "block": "#fbf5e6"}
_WIDE, _HIGH, _GAP = 300, 46, 22
_MIDDLE, _LEFT, _RIGHT = 360, 190, 530  # centers of the trunk and of the two heads


def draw(network: Network) -> str:
    """The picture as one SVG document."""
    sheet = _Sheet({row.layer.name: row for row in rows(network)})
    y = sheet.box(_MIDDLE, 20, "observation", times(network.observation_shape), "end")
    for _, group in groupby((block.figure() for block in network.trunk), key=_without_names):
        y = _blocks(sheet, list(group), y)
    bottom = max(
        _head(sheet, network.policy_head, center=_LEFT, top=y), _head(sheet, network.value_head, center=_RIGHT, top=y)
    )
    total = counts(network)
    note = f"{total.trainable:,} trainable parameters, {total.multiplications:,} multiplications per position"
    sheet.text(_MIDDLE, bottom + 34, note, size=13, fill=_FAINT)
    return sheet.document(720, bottom + 56)


def _without_names(figure: Figure) -> Figure:
    """A figure that equals those of blocks which differ by name alone."""

    def unnamed(step: Step) -> Step:
        return step._replace(layer=replace(step.layer, name=""))

    return figure._replace(
        steps=tuple(map(unnamed, figure.steps)), branch=unnamed(figure.branch) if figure.branch else None
    )


def _blocks(sheet: _Sheet, equal: Sequence[Figure], y: float) -> float:
    """Equal blocks in a row."""
    figure = equal[0]
    if figure.residual:
        return _residual(sheet, figure, len(equal), y)
    times_text = f"{len(equal)} times: " if len(equal) > 1 else ""
    for step in figure.steps:
        y = _step(sheet, step._replace(title=times_text + step.title), _MIDDLE, y)
    return y


def _residual(sheet: _Sheet, figure: Figure, count: int, top: float) -> float:
    """A residual block in its frame, with its skip connection and its branch."""
    sheet.arrow(_MIDDLE, top, top + _GAP)
    enter = top + _GAP
    frame, start = sheet.reserve(), enter + 34
    y = sheet.box(_MIDDLE, start, *_words(sheet, figure.steps[0]), _kind(figure.steps[0]))
    if figure.branch:
        y = _branch(sheet, figure.branch, figure.joined, start, y)
    for step in figure.steps[1:]:
        y = _step(sheet, step, _MIDDLE, y)
    sheet.arrow(_MIDDLE, y, y + _GAP)
    y = sheet.circle(_MIDDLE, y + _GAP)
    away = _MIDDLE - _WIDE / 2 - 22
    sheet.line(
        [(_MIDDLE, enter), (_MIDDLE, enter + 17), (away, enter + 17), (away, y - 13), (_MIDDLE - 13, y - 13)], tip=True
    )
    sheet.line([(_MIDDLE, enter + 17), (_MIDDLE, start)], tip=True)
    if figure.after:
        sheet.text(_MIDDLE + 20, y - 13, f"then {figure.after}", anchor="start", size=12)
    right = _MIDDLE + _WIDE / 2 + (170 if figure.branch else 16)
    sheet.fill(frame, away - 16, enter, right, y + 10)
    sheet.text(away - 26, (enter + y) / 2, f"x {count}", anchor="end", size=18)
    return y + 10


def _branch(sheet: _Sheet, branch: Step, joined: str, start: float, y: float) -> float:
    """The branch beside a block's first layer, and the sum where it joins."""
    x = _MIDDLE + _WIDE / 2 + 84
    sheet.line([(_MIDDLE, start - 17), (x, start - 17), (x, start)], tip=True)
    title = f"{' x '.join(map(str, branch.layer.window))}, {branch.layer.outputs} filters"
    end = sheet.box(x, start, title, "; ".join(branch.after), "sum", wide=150)
    sheet.arrow(_MIDDLE, y, y + _GAP)
    sum_end = sheet.circle(_MIDDLE, y + _GAP)
    sheet.line([(x, end), (x, sum_end - 13), (_MIDDLE + 13, sum_end - 13)], tip=True)
    sheet.text(_MIDDLE + 20, sum_end + 3, f"then {joined}", anchor="start", size=12)
    return sum_end


def _head(sheet: _Sheet, head: DrawnHead, *, center: float, top: float) -> float:
    """One head, from the trunk's features to its output."""
    y = top + _GAP
    sheet.line([(_MIDDLE, top), (_MIDDLE, y), (center, y)])
    for step in head.figure().steps:
        y = _step(sheet, step, center, y)
    sheet.arrow(center, y, y + _GAP)
    return sheet.box(center, y + _GAP, *head.describe(), "end")


def _step(sheet: _Sheet, step: Step, center: float, y: float) -> float:
    sheet.arrow(center, y, y + _GAP)
    return sheet.box(center, y + _GAP, *_words(sheet, step), _kind(step))


def _kind(step: Step) -> str:
    return "conv" if step.layer.kernel else "dense"


def _words(sheet: _Sheet, step: Step) -> tuple[str, str]:
    layer, row = step.layer, sheet.rows[step.layer.name]
    details = [times(row.output), f"{row.all:,} parameters", *["normalized"] * layer.norm, *step.after]
    return step.title.format(f"{layer.kind}, {layer.outputs}"), "; ".join(details)


@dataclass
class _Sheet:
    """Parts of a picture, in the order in which they are painted."""

    rows: dict[str, Row]  # by the layer's name
    parts: list[str] = field(default_factory=list)

    def box(self, center: float, y: float, title: str, detail: str, kind: str, *, wide: float = _WIDE) -> float:
        self.parts.append(
            f'<rect x="{center - wide / 2:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{_HIGH}" rx="6" '
            f'fill="{_FILL[kind]}" stroke="{_INK}" stroke-opacity="0.35"/>'
        )
        self.text(center, y + 16, title, size=14)
        self.text(center, y + 33, detail, size=min(11, int(wide / (0.54 * len(detail)))), fill=_FAINT)
        return y + _HIGH

    def circle(self, x: float, y: float) -> float:
        self.parts.append(f'<circle cx="{x:.0f}" cy="{y + 13:.0f}" r="13" fill="{_FILL["sum"]}" stroke="{_INK}"/>')
        self.text(x, y + 13, "+", size=18)
        return y + 26

    def arrow(self, x: float, y: float, end: float) -> None:
        self.line([(x, y), (x, end)], tip=True)

    def line(self, points: Sequence[tuple[float, float]], *, tip: bool = False) -> None:
        path = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
        end = ' marker-end="url(#tip)"' if tip else ""
        self.parts.append(f'<polyline points="{path}" fill="none" stroke="{_INK}" stroke-width="1.4"{end}/>')

    def text(self, x: float, y: float, text: str, *, size: int = 14, fill: str = _INK, anchor: str = "middle") -> None:
        self.parts.append(
            f'<text x="{x:.0f}" y="{y:.0f}" font-family="sans-serif" font-size="{size}" fill="{fill}" '
            f'text-anchor="{anchor}" dy="0.35em">{escape(text)}</text>'
        )

    def reserve(self) -> int:
        """A place for a frame that lies below the next parts and is sized by them."""
        self.parts.append("")
        return len(self.parts) - 1

    def fill(self, place: int, left: float, top: float, right: float, bottom: float) -> None:
        self.parts[place] = (
            f'<rect x="{left:.0f}" y="{top:.0f}" width="{right - left:.0f}" height="{bottom - top:.0f}" rx="10" '
            f'fill="{_FILL["block"]}" stroke="{_INK}" stroke-opacity="0.35" stroke-dasharray="5 4"/>'
        )

    def document(self, width: float, height: float) -> str:
        tip = (
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
            f'<path d="M0,0 L8,4 L0,8 z" fill="{_INK}"/></marker></defs>'
        )
        body = "\n".join(part for part in self.parts if part)
        return (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" '
            f'height="{height:.0f}" role="img" aria-label="A neural network">\n{tip}\n'
            f'<rect width="100%" height="100%" fill="{_PAPER}"/>\n{body}\n</svg>\n'
        )
