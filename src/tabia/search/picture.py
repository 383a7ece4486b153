"""Seeing a tree: as indented text, and as DOT or SVG, with visits, values, priors and the main line."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from tabia.core.text import printable, xml
from tabia.games.game import Game
from tabia.search.tree import LINK, LOGIT, SEAT, TOTAL, VALUE, VISITS, Tree


@dataclass(frozen=True)
class Branch:
    """A move in the tree: what the search knows of it, and what follows."""

    move: str
    visits: int
    value: float  # mean, for the seat that plays the move
    prior: float
    main: bool  # on the main line
    children: tuple[Branch, ...] = field(default=())


def branches(game: Game, tree: Tree, *, position: int = 0, depth: int = 3, widest: int = 5, least: int = 1) -> Branch:
    """One tree of the batch as branches: at most `widest` moves a node, each with at least `least` visits."""
    records = np.asarray(tree.records[:, position])
    states = jax.tree.map(lambda leaf: leaf[:, position], tree.states)

    def below(node: int, left: int, main: bool) -> tuple[Branch, ...]:
        edges = records[node, :-1]
        order = sorted(np.flatnonzero(edges[:, VISITS] >= max(least, 1)), key=lambda a: -edges[a, VISITS])[:widest]
        state = jax.tree.map(lambda leaf: leaf[node], states)
        return tuple(
            _branch(game, state, edges[action], int(action), main and rank == 0, left, below)
            for rank, action in enumerate(order)
        )

    own, visits = records[0, -1], int(records[0, :-1, VISITS].sum())
    value = float(own[VALUE] + records[0, :-1, TOTAL].sum()) / (1 + visits)
    return Branch(f"seat {int(own[SEAT]) + 1} to move", visits, value, 1.0, True, below(0, depth, True))


def _branch(game: Game, state: Any, edge: np.ndarray, action: int, main: bool, left: int, below: Any) -> Branch:
    child = int(edge[LINK])
    children = below(child, left - 1, main) if child >= 0 and left > 1 else ()
    value = float(edge[TOTAL] / edge[VISITS])
    return Branch(game.move_name(action, state), int(edge[VISITS]), value, float(np.exp(edge[LOGIT])), main, children)


def main_line(game: Game, tree: Tree, *, position: int = 0) -> list[str]:
    """The moves the search expects: the most visited one at every node."""
    line, branch = [], branches(game, tree, position=position, depth=game.max_moves, widest=1)
    while branch.children:
        branch = branch.children[0]
        line.append(branch.move)
    return line


def text(root: Branch) -> str:
    """The tree as indented lines; `*` marks the main line.

    move              visits    value   prior
    """
    lines = [f"{'move':<24}{'visits':>8}{'value':>9}{'prior':>8}"]
    for depth, branch in _walk(root):
        name = "  " * depth + ("* " if branch.main else "  ") + branch.move
        lines.append(f"{name:<24}{branch.visits:>8}{branch.value:>+9.3f}{branch.prior:>8.3f}")
    return "\n".join(lines)


def dot(root: Branch) -> str:
    """The tree in Graphviz's language."""
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fillcolor="#f4ead5", fontname="sans-serif"];',
    ]

    def add(branch: Branch, name: str) -> None:
        bold = ", penwidth=3" if branch.main else ""
        move = printable(branch.move).replace("\\", "\\\\").replace('"', '\\"')
        lines.append(f'  {name} [label="{move}\\n{branch.visits}  {branch.value:+.2f}"{bold}];')
        for number, child in enumerate(branch.children):
            lines.append(f"  {name} -> {name}_{number};")
            add(child, f"{name}_{number}")

    add(root, "root")
    return "\n".join([*lines, "}"]) + "\n"


_WIDTH, _HEIGHT, _GAP = 104, 46, 34


def svg(root: Branch) -> str:
    """The tree as an SVG picture, leaves side by side, the main line drawn bold."""
    boxes: list[str] = []
    lines: list[str] = []
    width = _place(root, 0, 0, boxes, lines)[1]
    height = (max(depth for depth, _ in _walk(root)) + 1) * (_HEIGHT + _GAP)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 16:.0f} {height:.0f}" role="img">\n'
        f'<rect width="100%" height="100%" fill="#fffdf8"/>\n' + "\n".join(lines + boxes) + "\n</svg>\n"
    )


def _place(branch: Branch, depth: int, left: float, boxes: list[str], lines: list[str]) -> tuple[float, float]:
    """Draw a branch with its left edge at `left`; its centre and its right edge."""
    y, right, centres = 8 + depth * (_HEIGHT + _GAP), left, []
    for child in branch.children:
        centre, right = _place(child, depth + 1, right, boxes, lines)
        centres.append(centre)
    right = max(right, left + _WIDTH + 8)
    middle = (centres[0] + centres[-1]) / 2 if centres else left + 8 + _WIDTH / 2
    for child, centre in zip(branch.children, centres, strict=True):
        stroke = 'stroke="#d1495b" stroke-width="3"' if child.main else 'stroke="#c8b88a"'
        lines.append(
            f'<line x1="{middle:.1f}" y1="{y + _HEIGHT}" x2="{centre:.1f}" y2="{y + _HEIGHT + _GAP}" {stroke}/>'
        )
    boxes.append(_box(branch, middle, y))
    return middle, right


def _box(branch: Branch, middle: float, y: float) -> str:
    edge = "#d1495b" if branch.main else "#c8b88a"
    rows = (xml(branch.move), f"{branch.visits}   {branch.value:+.2f}")
    texts = "".join(
        f'<text x="{middle:.1f}" y="{y + 19 + 18 * i:.1f}" font-family="sans-serif" font-size="13" fill="#3b3a36" '
        f'text-anchor="middle">{row}</text>'
        for i, row in enumerate(rows)
    )
    return (
        f'<rect x="{middle - _WIDTH / 2:.1f}" y="{y:.1f}" width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#f4ead5" '
        f'stroke="{edge}" stroke-width="{2 if branch.main else 1}"/>{texts}'
    )


def _walk(root: Branch, depth: int = 0) -> Iterator[tuple[int, Branch]]:
    yield depth, root
    for child in root.children:
        yield from _walk(child, depth + 1)
