"""A network as a picture (SVG), from the observation at the top to logits and values at the bottom.

A tower is drawn as one block with the number of them beside it; below the trunk stand policy head and value head.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import groupby
from xml.sax.saxutils import escape

from tabia.networks.layers import Layer
from tabia.networks.network import Network
from tabia.networks.summary import Row, counts, rows

_INK, _FAINT, _PAPER = "#3b3a36", "#77746a", "#fffdf8"
_FILL = {"conv": "#f6d9d3", "dense": "#dfe3e6", "sum": "#f4ead5", "end": "#dcebdf", "block": "#fbf5e6"}
_WIDE, _HIGH, _GAP = 300, 46, 22
_MIDDLE, _LEFT, _RIGHT = 360, 190, 530  # centers of the trunk and of the two heads


def drawing(network: Network) -> str:
    """The picture as one SVG document."""
    sheet = _Sheet()
    found = rows(network)
    y = sheet.box(_MIDDLE, 20, "observation", _times(network.observation_shape), "end")
    y = _trunk(sheet, network, found, y)
    policy = [row for row in found if row.layer.name.startswith("policy") and row.layer.name != "policy.extra"]
    value = [row for row in found if row.layer.name.startswith("value") and row.layer.name != "value.board"]
    ends = [
        _head(sheet, network, policy, center=_LEFT, top=y),
        _head(sheet, network, value, center=_RIGHT, top=y),
    ]
    total = counts(network)
    note = f"{total.trainable:,} trainable numbers, {total.multiplications:,} multiplications a position"
    sheet.text(_MIDDLE, max(ends) + 34, note, size=13, fill=_FAINT)
    return sheet.document(720, max(ends) + 56)


def _trunk(sheet: _Sheet, network: Network, found: Sequence[Row], y: float) -> float:
    named = {row.layer.name: row for row in found}
    if "stem" in named:
        y = _layer(sheet, network, named["stem"], _MIDDLE, y, rectified=True)
    if "block1.first" in named:
        y = _block(sheet, network, named, y)
    dense = [row for row in found if row.layer.name.startswith("dense")]
    for (inputs, outputs), group in groupby(dense, key=lambda row: (row.layer.inputs, row.layer.outputs)):
        same = list(group)
        note = "{}, added to its input" if network.config.skips and inputs == outputs else "{}"
        note = f"{len(same)} times: {note}" if len(same) > 1 else note
        y = _layer(sheet, network, same[0], _MIDDLE, y, rectified=True, note=note)
    return y


def _block(sheet: _Sheet, network: Network, named: dict[str, Row], top: float) -> float:
    """One residual block in its frame, with its skip connection, and its glance at the whole board if some have one."""
    config = network.config
    sheet.arrow(_MIDDLE, top, top + _GAP)
    enter = top + _GAP
    frame, start = sheet.reserve(), enter + 34
    looking = named.get(f"block{config.pool_every}.look")
    y = sheet.box(_MIDDLE, start, *_words(network, named["block1.first"], rectified=looking is None), "conv")
    if looking:
        y = _glance(sheet, network, looking, start, y)
    y = _layer(sheet, network, named["block1.second"], _MIDDLE, y)
    sheet.arrow(_MIDDLE, y, y + _GAP)
    y = sheet.circle(_MIDDLE, y + _GAP)
    away = _MIDDLE - _WIDE / 2 - 22
    sheet.line(
        [(_MIDDLE, enter), (_MIDDLE, enter + 17), (away, enter + 17), (away, y - 13), (_MIDDLE - 13, y - 13)], tip=True
    )
    sheet.line([(_MIDDLE, enter + 17), (_MIDDLE, start)], tip=True)
    sheet.text(_MIDDLE + 20, y - 13, f"then {_activation(network)}", anchor="start", size=12)
    right = _MIDDLE + _WIDE / 2 + (170 if looking else 16)
    sheet.fill(frame, away - 16, enter, right, y + 10)
    sheet.text(away - 26, (enter + y) / 2, f"x {config.blocks}", anchor="end", size=18)
    return y + 10


def _glance(sheet: _Sheet, network: Network, look: Row, start: float, y: float) -> float:
    """The branch of blocks that see the whole board; it joins before the second convolution."""
    x = _MIDDLE + _WIDE / 2 + 84
    sheet.line([(_MIDDLE, start - 17), (x, start - 17), (x, start)], tip=True)
    title = f"{look.layer.kernel} x {look.layer.kernel}, {look.layer.outputs} filters"
    end = sheet.box(x, start, title, "pooled: mean and max", "sum", wide=150)
    sheet.arrow(_MIDDLE, y, y + _GAP)
    joined = sheet.circle(_MIDDLE, y + _GAP)
    sheet.line([(x, end), (x, joined - 13), (_MIDDLE + 13, joined - 13)], tip=True)
    sheet.text(x, joined + 3, f"every {_ordinal(network.config.pool_every)} block", size=12, fill=_FAINT)
    sheet.text(_MIDDLE + 20, joined + 3, f"then {_activation(network)}", anchor="start", size=12)
    return joined


def _head(sheet: _Sheet, network: Network, parts: Sequence[Row], *, center: float, top: float) -> float:
    """One head, from the trunk's features to what it says."""
    y = top + _GAP
    sheet.line([(_MIDDLE, top), (_MIDDLE, y), (center, y)])
    for row in parts:
        name = row.layer.name.partition(".")[2]
        said = network.config.head_norm if name == "conv" else name in ("hidden", "tell")
        y = _layer(sheet, network, row, center, y, rectified=said, note=_note(network, row.layer))
    sheet.arrow(center, y, y + _GAP)
    return sheet.box(center, y + _GAP, *_says(network, parts[0].layer.name.partition(".")[0]), "end")


def _note(network: Network, layer: Layer) -> str:
    """What happens around a head's layer besides itself."""
    config = network.config
    if layer.name == "policy.tell":
        return "pooled: {}, added to cells"
    if layer.name == "policy.out" and config.policy == "columns":
        return "columns pooled: {}"
    first = "value.hidden" if config.value_units else "value.out"
    return "pooled: {}" if layer.name == first and config.value_pool else "{}"


def _says(network: Network, name: str) -> tuple[str, str]:
    if name == "policy":
        extra = network.config.policy_extra
        return f"{network.num_actions} logits", f"{extra} of them from the pooled board" if extra else "one an action"
    if network.config.value == "wdl":
        return "win, draw, loss", "softmax; value: win less loss"
    return f"{network.num_players} values", "tanh: " + ", ".join(
        ["me", "next", "next after", "..."][: network.num_players]
    )


def _layer(
    sheet: _Sheet, network: Network, row: Row, center: float, y: float, *, rectified: bool = False, note: str = "{}"
) -> float:
    sheet.arrow(center, y, y + _GAP)
    title, detail = _words(network, row, rectified=rectified)
    return sheet.box(center, y + _GAP, note.format(title), detail, "conv" if row.layer.kernel else "dense")


def _words(network: Network, row: Row, *, rectified: bool = True) -> tuple[str, str]:
    layer = row.layer
    kernel = f"{layer.kernel} x {layer.kernel} convolution" if layer.kernel else "dense"
    dropped = network.config.dropout and (layer.name.startswith("dense") or layer.name == "value.hidden")
    steps = ["normalized"] * layer.norm + [_activation(network)] * rectified
    steps += [f"{network.config.dropout:.0%} dropped"] if dropped else []
    return f"{kernel}, {layer.outputs}", "; ".join([_times(row.output), f"{row.all:,} numbers", *steps])


def _activation(network: Network) -> str:
    return "ReLU" if network.config.activation == "relu" else f"LeakyReLU {network.config.slope:g}"


def _ordinal(number: int) -> str:
    return {1: "single", 2: "second", 3: "third"}.get(number, f"{number}th")


def _times(shape: Sequence[int]) -> str:
    return " x ".join(map(str, shape))


@dataclass
class _Sheet:
    """Parts of a picture, in the order in which they are painted."""

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
        """A place for a part that lies under the next ones but whose size they decide."""
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
