"""Batches of Connect positions on the host: uint64[B, 2], the mover's stones and all stones (see bits.py)."""

from __future__ import annotations

import numpy as np

from tabia.games.connect import Connect, State
from tabia.games.errors import GameError
from tabia.solvers.connect.bits import ONE, Board, Word


def from_states(game: Connect, states: State) -> np.ndarray:
    """uint64[B, 2] of a batch of Connect states for two seats."""
    words = np.asarray(states.stones).astype(Word)  # [B, 2, columns]
    shifts = (np.arange(game.columns) * (game.rows + 1)).astype(Word)
    seats = np.bitwise_or.reduce(words << shifts[None, None, :], axis=2)
    mover = (np.asarray(states.moves) % 2)[:, None]
    return np.stack([np.take_along_axis(seats, mover, axis=1)[:, 0], seats[:, 0] | seats[:, 1]], axis=1)


def check(board: Board, positions: np.ndarray) -> np.ndarray:
    """The positions as uint64[B, 2]; raises GameError for the first invalid one."""
    words = np.asarray(positions)
    if words.ndim != 2 or words.shape[1] != 2 or words.dtype.kind not in "ui":
        raise GameError(
            f"Positions are integers [B, 2], the mover's stones and all stones; got {words.dtype}{words.shape}."
        )
    words = np.ascontiguousarray(words.astype(Word))
    mover, taken = words[:, 0], words[:, 1]
    counts = np.bitwise_count(words).astype(int)
    floating = (taken & ((taken + board.bottom) | ~board.fields)) != 0
    wrong = floating | (mover & ~taken != 0) | (counts[:, 0] != counts[:, 1] // 2) | has_line(board, mover)
    if wrong.any():
        first = int(np.argmax(wrong))
        stones, all_stones = int(mover[first]), int(taken[first])
        raise GameError(f"Position {first} is not valid on this board: mover {stones:#x}, all stones {all_stones:#x}.")
    return words


def has_line(board: Board, stones: np.ndarray) -> np.ndarray:
    """bool[...]: whether each word of stones holds a line."""
    height = len(board.rows) + 1
    found = np.zeros(stones.shape, bool)
    for shift in (1, height - 1, height, height + 1):
        run = stones
        for _ in range(len(board.line) - 1):
            run = run & (run >> Word(shift))
        found |= run != 0
    return found


def children(board: Board, positions: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """uint64[B, columns, 2]: the positions after each move, and bool[B, columns]: the legal moves.

    A position that is over has no legal moves.
    """
    mover, taken = positions[:, :1], positions[:, 1:]
    height = len(board.rows) + 1
    columns = Word((1 << len(board.rows)) - 1) << (np.arange(board.columns) * height).astype(Word)
    moves = (taken + board.bottom) & columns[None, :]
    legal = (moves != 0) & ~has_line(board, mover ^ taken)
    return np.stack([np.broadcast_to(mover ^ taken, moves.shape), taken | moves], axis=2), legal


def keys(board: Board, positions: np.ndarray) -> np.ndarray:
    """uint64[...]: a key that a position [..., 2] shares only with its mirror image."""
    mirrored = np.zeros_like(positions)
    height = Word(len(board.rows) + 1)
    words = positions
    for _ in range(board.columns):
        mirrored = (mirrored << height) | (words & ((ONE << height) - ONE))
        words = words >> height
    return np.minimum(positions.sum(axis=-1, dtype=Word), mirrored.sum(axis=-1, dtype=Word))
