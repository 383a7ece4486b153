"""Exact Connect scores by retrograde analysis on arrays of fields: slow, without bitboards, bounds or pruning.

All positions that follow from some roots are enumerated by ply, then valued from the ends backwards. Boards are
int8[N, columns, rows]: 1 for the first seat's stones, -1 for the second's, 0 for empty fields.
"""

from __future__ import annotations

import numpy as np


def has_line(boards: np.ndarray, line: int, seat: int) -> np.ndarray:
    """bool[N]: whether the seat's stones hold a line."""
    own = boards == seat
    _, columns, rows = own.shape
    found = np.zeros(len(own), bool)
    for right, up in ((0, 1), (1, 0), (1, 1), (1, -1)):
        for column in range(columns - right * (line - 1)):
            for row in range(max(0, -up * (line - 1)), rows - max(0, up * (line - 1))):
                found |= np.all([own[:, column + i * right, row + i * up] for i in range(line)], axis=0)
    return found


def laid(boards: np.ndarray, column: int, seat: int) -> tuple[np.ndarray, np.ndarray]:
    """The boards with one more stone in a column, and where that was possible."""
    heights = (boards[:, column] != 0).sum(axis=1)
    fits = heights < boards.shape[2]
    after = boards.copy()
    after[fits, column, heights[fits]] = seat
    return after, fits


def random_boards(rng: np.random.Generator, count: int, rows: int, columns: int, line: int, stones: int) -> np.ndarray:
    """Boards [count, columns, rows] after `stones` random moves, none of them over."""
    boards = np.zeros((0, columns, rows), np.int8)
    while len(boards) < count:
        more = np.zeros((count, columns, rows), np.int8)
        for stone in range(stones):
            seat = 1 if stone % 2 == 0 else -1
            choice = rng.permuted(np.tile(np.arange(columns), (len(more), 1)), axis=1)
            full = np.take_along_axis((more != 0).all(axis=2), choice, axis=1)
            column = choice[np.arange(len(more)), full.argmin(axis=1)]
            more[np.arange(len(more)), column, (more[np.arange(len(more)), column] != 0).sum(axis=1)] = seat
            more = more[~has_line(more, line, seat)]
        boards = np.concatenate([boards, more])
    return boards[:count]


def values(roots: np.ndarray, line: int) -> tuple[np.ndarray, np.ndarray]:
    """All positions that follow from roots with the same number of stones, until the end, and their scores."""
    _, columns, rows = roots.shape
    levels, links = [unique(roots)[0]], []
    stones = first = int((roots[0] != 0).sum())
    while stones < rows * columns and len(levels[-1]):
        seat = 1 if stones % 2 == 0 else -1
        steps = [laid(levels[-1], column, seat) for column in range(columns)]
        won = [has_line(after, line, seat) & fits for after, fits in steps]
        going = [fits & ~wins for (_, fits), wins in zip(steps, won, strict=True)]
        after, where = unique(np.concatenate([a[g] for (a, _), g in zip(steps, going, strict=True)]))
        levels.append(after)
        links.append((won, going, where))
        stones += 1
    return np.concatenate(levels), np.concatenate(backwards(levels, links, rows * columns, first))


def backwards(levels: list[np.ndarray], links: list, fields: int, first: int) -> list[np.ndarray]:
    """The scores of each level: a win at once counts the mover's stones left, else the best of minus the children's."""
    scores = [np.zeros(len(levels[-1]), int)]  # full boards without a line
    for depth in reversed(range(len(links))):
        won, going, where = links[depth]
        best = np.full(len(levels[depth]), -1000)
        at = 0
        for wins, goes in zip(won, going, strict=True):
            best[wins] = (fields + 1 - first - depth) // 2
            children = scores[0][where[at : at + goes.sum()]]
            best[goes] = np.maximum(best[goes], -children)
            at += goes.sum()
        scores.insert(0, best)
    return scores


def unique(boards: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The different boards, and for each given one which it is."""
    powers = 3 ** np.arange(boards[0].size if len(boards) else 0, dtype=np.uint64)
    numbers = (boards.reshape(len(boards), -1) + 1).astype(np.uint64) @ powers if len(boards) else np.zeros(0)
    _, first, where = np.unique(numbers, return_index=True, return_inverse=True)
    return boards[first], where


def words(boards: np.ndarray) -> np.ndarray:
    """uint64[N, 2]: the boards as the solver takes them."""
    count, columns, rows = boards.shape
    bits = np.uint64(1) << (np.arange(columns)[:, None] * (rows + 1) + np.arange(rows)[None, :]).astype(np.uint64)
    stones = (boards != 0).sum(axis=(1, 2))
    seats = np.where(stones % 2 == 0, 1, -1)
    own = np.where(boards == seats[:, None, None], bits[None], np.uint64(0)).reshape(count, -1).sum(axis=1)
    return np.stack([own, np.where(boards != 0, bits[None], np.uint64(0)).reshape(count, -1).sum(axis=1)], axis=1)
