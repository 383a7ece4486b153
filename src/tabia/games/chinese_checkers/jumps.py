"""All moves on a star as a table, and the legal ones of a position: steps, chains of jumps, the pass.

A jump goes two fields along a direction, so it keeps the parity of row and column. That divides the board into four
jump grids, and a chain, any number of jumps by one piece, ends in the grid where it started. The actions are

    fields x 6 steps  |  pairs of fields in grid 1  |  grid 2  |  grid 3  |  grid 4  |  pass
    25 x 6 = 150      |  9 x 9                      |  6 x 6   |  6 x 6   |  4 x 4   |  1     = 320 on 37 fields
    121 x 6 = 726     |  37 x 37                    |  28 x 28 |  28 x 28 |  28 x 28 |  1     = 4,448 on 121 fields

as seen from the bottom corner (Schulte 2021). Axis letters: A actions, F fields (the number F is the missing field),
G grids, N fields of the largest grid, W words of 32 bits that hold N.
"""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.games.chinese_checkers.star import Star


class Moves(NamedTuple):
    """The actions of a seat at the bottom corner."""

    origins: np.ndarray  # [A] the field moved from, F for the pass
    targets: np.ndarray  # [A] the field moved to, F for the pass and for steps off the board
    landings: np.ndarray  # [fields * 6] the targets of the steps, F where the rules never allow it
    grids: np.ndarray  # [G, N] the fields of the jump grids, padded with F
    sizes: tuple[int, ...]  # the fields of each grid
    jumped: np.ndarray  # [G, N, 6] the field a jump goes over
    landed: np.ndarray  # [G, N, 6] the field behind it, F where the rules never allow landing
    places: np.ndarray  # [G, N, 6] the same as a place in the grid


def moves(board: Star, ground: np.ndarray, kept: np.ndarray) -> Moves:
    """The moves of a seat that may stand on `ground` and may not leave `kept` (bool[F] each)."""
    none = len(board.names)
    ground, kept = np.append(ground, False), np.append(kept, False)
    fields = np.flatnonzero(ground)
    grids = _grids(board, fields)
    padded = np.array([np.pad(grid, (0, max(map(len, grids)) - len(grid)), constant_values=none) for grid in grids])
    place = np.zeros(none + 1, int)
    for grid in grids:
        place[grid] = np.arange(len(grid))

    def allowed(landing: np.ndarray) -> np.ndarray:
        """[F + 1, 6]: where each field's moves land, F where they may not."""
        return np.where(ground[landing] & (kept[landing] | ~kept[:, None]), landing, none)

    behind = np.stack([board.neighbors[over, way] for way, over in enumerate(board.neighbors.T)], axis=1)
    steps = [np.repeat(fields, 6), board.neighbors[fields].reshape(-1)]
    chains = [np.stack(np.meshgrid(grid, grid, indexing="ij")).reshape(2, -1) for grid in grids]
    origins, targets = np.concatenate([steps, *chains, [[none], [none]]], axis=1)
    landed = allowed(behind)[padded]
    return Moves(
        origins=origins,
        targets=targets,
        landings=allowed(board.neighbors)[fields].reshape(-1),
        grids=padded,
        sizes=tuple(map(len, grids)),
        jumped=board.neighbors[padded],
        landed=landed,
        places=place[landed],
    )


def _grids(board: Star, fields: np.ndarray) -> list[np.ndarray]:
    """The fields of each jump grid, the grids in the order of their first fields."""
    rows, columns = np.divmod(board.cells[fields], board.size)
    parity = rows % 2 * 2 + columns % 2
    return [fields[parity == grid] for grid in dict.fromkeys(parity.tolist())]


def mirrored(board: Star, moves: Moves) -> np.ndarray:
    """[A]: each action with left and right exchanged."""
    none, number = len(board.names), np.arange(len(moves.origins))
    # Steps off the board have no target: their direction, mirrored by ^ 1, takes its place.
    off = (moves.targets == none) & (number < moves.landings.size)
    ends = np.where(off, none + 1 + number % 6, moves.targets)
    mirror = np.append(board.mirrored, none + 1 + (np.arange(6) ^ 1))
    action = dict(zip(zip(moves.origins.tolist(), ends.tolist(), strict=True), number.tolist(), strict=True))
    return np.array([action[pair] for pair in zip(mirror[moves.origins].tolist(), mirror[ends].tolist(), strict=True)])


def find_legal(moves: Moves, own: Array, free: Array) -> Array:
    """bool[A]: the legal moves of a seat with pieces on `own`, given the `free` fields (bool[F + 1] each)."""
    steps = own[moves.origins[: moves.landings.size]] & free[moves.landings]
    words = jnp.where(own[moves.grids][:, :, None], reach(moves, free), jnp.uint32(0))
    chains = [_unpacked(words[grid, :size], size) for grid, size in enumerate(moves.sizes)]
    stuck = ~(steps.any() | (words != 0).any())
    return jnp.concatenate([steps, *chains, stuck[None]])


def reach(moves: Moves, free: Array) -> Array:
    """uint32[G, N, W]: as bits, the fields of its grid on which a chain from each field can end.

    One result serves all pieces, although each frees its own field when it moves: a chain cannot jump over that
    field, which lies in its own grid, and gains nothing by landing where it started.
    """
    number = moves.grids.shape[1]
    bits = np.zeros((number, (number + 31) // 32), np.uint32)  # [N, W]
    bits[np.arange(number), np.arange(number) // 32] = 1 << np.arange(number) % 32
    jumps = free[moves.landed] & ~free[moves.jumped]
    words = jnp.where(jumps[..., None], bits[moves.places], jnp.uint32(0))

    def through(place: Array, words: Array) -> Array:
        """Warshall's step: a field that reaches `place` reaches everything that `place` reaches."""
        there = words[:, :, place // 32] >> jnp.uint32(place % 32) & 1 == 1
        return words | jnp.where(there[..., None], words[:, place, None], jnp.uint32(0))

    return jax.lax.fori_loop(0, number, through, jnp.bitwise_or.reduce(words, axis=2), unroll=number < 16)


def shortest_jumps(moves: Moves, free: np.ndarray, origin: int, target: int) -> list[int]:
    """The fields of a shortest chain between two fields of one grid, given the `free` fields (bool[F + 1])."""
    grid, first = (int(index[0]) for index in np.nonzero(moves.grids == origin))
    before, queue = {first: -1}, deque([first])
    while queue:
        place = queue.popleft()
        if moves.grids[grid, place] == target:
            path = [place]
            while before[path[-1]] >= 0:
                path.append(before[path[-1]])
            return [int(moves.grids[grid, place]) for place in reversed(path)]
        for way in np.flatnonzero(free[moves.landed[grid, place]] & ~free[moves.jumped[grid, place]]):
            landing = int(moves.places[grid, place, way])
            if landing not in before:
                before[landing] = place
                queue.append(landing)
    return [origin, target]


def _unpacked(words: Array, size: int) -> Array:
    """uint32[size, W] to bool[size * size]."""
    places = np.arange(size)
    return ((words[:, places // 32] >> (places % 32).astype(np.uint32)[None, :]) & 1 == 1).reshape(-1)
