"""Trees as indented text, DOT or SVG, with visits, values, priors and the main line.

The root's value is the search's value of the position (`Result.values`), the number an analysis reports. With Gumbel's
rule it is not the mean of all simulations.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import jax
import numpy as np

from tabia.core.text import printable, xml
from tabia.games.game import Game, State
from tabia.games.moves import row
from tabia.search.proofs import exact_records
from tabia.search.result import Result
from tabia.search.tree import LINK, LOGIT, SEAT, TOTAL, VISITS

DECIMALS = 4  # of every value and probability that is shown


@dataclass(frozen=True)
class Branch:
    """A move in the tree, its statistics and its replies."""

    move: str
    visits: int
    value: float | None  # for the seat that plays the move, rounded; None if unvisited
    prior: float
    main: bool  # on the main line
    children: tuple[Branch, ...] = field(default=())


def branches(
    game: Game,
    result: Result,
    *,
    position: int = 0,
    action: int | None = None,
    depth: int = 3,
    widest: int = 5,
    least: int = 1,
) -> Branch:
    """One tree of the batch as branches: at most `widest` moves per node, each with at least `least` visits.

    The main line starts with `action` (default: the search's move), which is always included; below it the most visited
    move is expected, on a tie the one with the higher value.
    """
    records, states = _nodes(result, position)
    means = np.asarray(result.means[position])
    chosen = int(result.action[position]) if action is None else action

    def below(node: int, left: int, main: bool, first: int | None = None) -> tuple[Branch, ...]:
        edges = records[node, :-1]
        shown = _order(edges, max(least, 1), first)[:widest]
        state = row(game, states, node)

        def branch(move: int) -> Branch:
            edge, on_line = edges[move], main and move == shown[0]
            child, visits = int(edge[LINK]), int(edge[VISITS])
            mean = means[move] if node == 0 else edge[TOTAL] / max(visits, 1)
            return Branch(
                move=game.move_name(move, state),
                visits=visits,
                value=rounded(mean) if visits else None,
                prior=float(np.exp(edge[LOGIT])),
                main=on_line,
                children=below(child, left - 1, on_line) if child >= 0 and left > 1 else (),
            )

        return tuple(branch(move) for move in sorted(shown, key=lambda move: -edges[move, VISITS]))

    seat, visits = int(records[0, -1, SEAT]), int(records[0, :-1, VISITS].sum())
    value = rounded(result.values[position, seat])
    return Branch(f"seat {seat + 1} to move", visits, value, 1.0, True, below(0, depth, True, chosen))


def main_line(game: Game, result: Result, *, position: int = 0, action: int | None = None) -> list[str]:
    """The moves the search expects: `action` (default: the search's move), then the main branch of every node."""
    first = int(result.action[position]) if action is None else action
    (path,) = main_paths(game, result, [first], position=position)
    return [game.move_name(move, state) for move, state in path]


def main_paths(
    game: Game, result: Result, actions: Sequence[int], *, position: int = 0
) -> list[list[tuple[int, State]]]:
    """The actions that the search expects after each of these, with the positions in which they are played."""
    records, states = _nodes(result, position)

    def path(first: int) -> list[tuple[int, State]]:
        found, node, moves = list[tuple[int, State]](), 0, [first]
        while moves and node >= 0 and len(found) < game.max_moves:
            found.append((moves[0], row(game, states, node)))
            node = int(records[node, moves[0], LINK])
            moves = _order(records[node, :-1], 1, None) if node >= 0 else []
        return found

    return [path(action) for action in actions]


def _nodes(result: Result, position: int) -> tuple[np.ndarray, State]:
    """One tree's records [N, A + 1, 4] and states [N, ...], on the host."""
    nodes = (exact_records(result.tree), result.tree.states)
    records, states = jax.device_get(jax.tree.map(lambda leaf: leaf[:, position], nodes))
    return records, states


def _order(edges: np.ndarray, least: int, first: int | None) -> list[int]:
    """The moves with at least `least` visits, by visits, then by value; `first` before all others."""
    visits, totals = edges[:, VISITS], edges[:, TOTAL]
    tried = [int(move) for move in np.flatnonzero(visits >= least) if move != first]
    tried.sort(key=lambda move: (-visits[move], -totals[move] / visits[move]))
    return tried if first is None else [first, *tried]


def rounded(number: Any) -> float:
    """A number as every report shows it, so that reports agree in the last digit."""
    return round(float(number), DECIMALS) + 0.0  # no minus zero


def text(root: Branch) -> str:
    """The tree as indented lines; `*` marks the main line.

    move              visits    value   prior
    """
    lines = [f"{'move':<24}{'visits':>8}{'value':>9}{'prior':>8}"]
    for depth, branch in _flatten(root):
        name = "  " * depth + ("* " if branch.main else "  ") + branch.move
        lines.append(f"{name:<24}{branch.visits:>8}{_value(branch):>9}{branch.prior:>8.3f}")
    return "\n".join(lines)


def render(root: Branch, suffix: str) -> str:
    """The tree in the format of a file name's suffix: .dot, .txt, or SVG for any other."""
    return {".dot": dot, ".txt": text}.get(suffix, svg)(root)


def dot(root: Branch) -> str:
    """The tree in Graphviz's DOT language."""
    lines = [
        "digraph tree {",
        '  node [shape=box, style="rounded,filled", fillcolor="#f4ead5", fontname="sans-serif"];',
    ]

    def add(branch: Branch, name: str) -> None:
        bold = ", penwidth=3" if branch.main else ""
        lines.append(f'  {name} [label="{_quoted(branch.move)}\\n{branch.visits}  {_value(branch)}"{bold}];')
        for number, child in enumerate(branch.children):
            lines.append(f"  {name} -> {name}_{number};")
            add(child, f"{name}_{number}")

    add(root, "root")
    return "\n".join([*lines, "}"]) + "\n"


def _quoted(text: str) -> str:
    """Text for a quoted string in DOT."""
    return printable(text).replace("\\", "\\\\").replace('"', '\\"')


def _value(branch: Branch) -> str:
    return "-" if branch.value is None else f"{branch.value:+.3f}"


_WIDTH, _HEIGHT, _GAP = 104, 46, 34
_LEGEND = "visits and value for the seat that moves; at the top, the search's value of the position"


def svg(root: Branch) -> str:
    """The tree as an SVG picture, leaves side by side, the main line drawn bold."""
    boxes: list[str] = []
    lines: list[str] = []
    width = _place(root, 0, 0, boxes, lines)[1]
    height = (max(depth for depth, _ in _flatten(root)) + 1) * (_HEIGHT + _GAP)
    width = max(width, 6 * len(_LEGEND))
    legend = f'<text x="8" y="{height - 8:.0f}" font-family="sans-serif" font-size="11" fill="#77746b">{_LEGEND}</text>'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width + 16:.0f} {height:.0f}" role="img">\n'
        f'<rect width="100%" height="100%" fill="#fffdf8"/>\n' + "\n".join([*lines, *boxes, legend]) + "\n</svg>\n"
    )


def _place(branch: Branch, depth: int, left: float, boxes: list[str], lines: list[str]) -> tuple[float, float]:
    """Draw a branch with its left edge at `left`; its center and its right edge."""
    y, right, centers = 8 + depth * (_HEIGHT + _GAP), left, []
    for child in branch.children:
        center, right = _place(child, depth + 1, right, boxes, lines)
        centers.append(center)
    right = max(right, left + _WIDTH + 8)
    middle = (centers[0] + centers[-1]) / 2 if centers else left + 8 + _WIDTH / 2
    for child, center in zip(branch.children, centers, strict=True):
        stroke = 'stroke="#d1495b" stroke-width="3"' if child.main else 'stroke="#c8b88a"'
        lines.append(
            f'<line x1="{middle:.1f}" y1="{y + _HEIGHT}" x2="{center:.1f}" y2="{y + _HEIGHT + _GAP}" {stroke}/>'
        )
    boxes.append(_box(branch, middle, y))
    return middle, right


def _box(branch: Branch, middle: float, y: float) -> str:
    edge = "#d1495b" if branch.main else "#c8b88a"
    rows = (xml(branch.move), f"{branch.visits}   {_value(branch)}")
    texts = "".join(
        f'<text x="{middle:.1f}" y="{y + 19 + 18 * i:.1f}" font-family="sans-serif" font-size="13" fill="#3b3a36" '
        f'text-anchor="middle">{row}</text>'
        for i, row in enumerate(rows)
    )
    return (
        f'<rect x="{middle - _WIDTH / 2:.1f}" y="{y:.1f}" width="{_WIDTH}" height="{_HEIGHT}" rx="8" fill="#f4ead5" '
        f'stroke="{edge}" stroke-width="{2 if branch.main else 1}"/>{texts}'
    )


def _flatten(root: Branch, depth: int = 0) -> Iterator[tuple[int, Branch]]:
    yield depth, root
    for child in root.children:
        yield from _flatten(child, depth + 1)
