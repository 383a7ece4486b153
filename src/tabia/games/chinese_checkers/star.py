"""The six-pointed star of Chinese checkers as arrays.

                 i1                 A star of radius r is two crossed triangles; radius 2 has 37 fields, radius 4
               h1  h2               has 121. Fields are numbered row by row from the top left: field 0 is i1, field
     g1  g2  g3  g4  g5  g6  g7     36 is a1. A name is the row's letter, from the bottom, and the place along it.
       f1  f2  f3  f4  f5  f6
         e1  e2  e3  e4  e5         In the square array (Schulte 2021, figure 2.2.0) each row shifts half a field to
       d1  d2  d3  d4  d5  d6       the left of the one below it. So the neighbors of [row, column] lie at [0, -1],
     c1  c2  c3  c4  c5  c6  c7     [0, 1], [-1, 0] (upper left), [-1, 1] (upper right), [1, -1] and [1, 0].
               b1  b2
                 a1                 Corners are counted clockwise from the bottom: 0 (a1), 1 (c1), 2 (g1), 3 (i1), ...

With offsets from the center, x to the right, y down and z = -x - y, a rotation by 60 degrees permutes the letters and
changes signs. Axis letters: F fields, P seats. The number F stands for a field that does not exist.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

import numpy as np

DIRECTIONS = {  # rows and columns per step
    "left": (0, -1),
    "right": (0, 1),
    "upper left": (-1, 0),
    "upper right": (-1, 1),
    "lower left": (1, -1),
    "lower right": (1, 0),
}
CORNERS = {2: (0, 3), 3: (0, 2, 4), 4: (0, 1, 3, 4), 6: (0, 1, 2, 3, 4, 5)}
"""The corners of the seats, by the number of seats."""


class Star(NamedTuple):
    """The board, seen from the bottom corner."""

    size: int  # rows and columns of the square array
    cells: np.ndarray  # [F] where each field lies in the square array, row * size + column
    places: np.ndarray  # [size * size] the field in each cell of the square array
    names: tuple[str, ...]
    heights: np.ndarray  # [F] rows above the lowest
    points: np.ndarray  # [F, 2] x and y in field distances
    middle: np.ndarray  # bool[F] the hexagon without the six points
    neighbors: np.ndarray  # [F + 1, 6] in the order of DIRECTIONS
    turned: np.ndarray  # [6, F + 1] the field that corner c sees where the bottom corner sees field f
    mirrored: np.ndarray  # [F + 1] left and right exchanged


@cache
def star(radius: int) -> Star:
    """The star whose hexagon has `radius` rows on each side of its middle row."""
    size = 4 * radius + 1
    y, x = (index.reshape(-1) - 2 * radius for index in np.indices((size, size)))
    offsets = np.stack([x, y, -x - y], axis=1)
    inside = (offsets.max(axis=1) <= radius) | (offsets.min(axis=1) >= -radius)
    offsets = offsets[inside]
    number = {tuple(offset): field for field, offset in enumerate(offsets.tolist())}

    def find(places: np.ndarray) -> np.ndarray:
        """The fields at these offsets, then the missing field."""
        return np.array([*(number.get(tuple(place), len(number)) for place in places.tolist()), len(number)])

    steps = np.array([(column, row, -column - row) for row, column in DIRECTIONS.values()])
    turns = [offsets]
    for _ in range(5):
        turns.append(-np.roll(turns[-1], -1, axis=1))  # (x, y, z) to (-y, -z, -x), 60 degrees clockwise
    x, y = offsets[:, 0], offsets[:, 1]
    return Star(
        size=size,
        cells=np.flatnonzero(inside),
        places=np.where(inside, np.cumsum(inside) - 1, len(number)),
        names=_names(2 * radius - y),
        heights=2 * radius - y,
        points=np.stack([x + y / 2, y * np.sqrt(0.75)], axis=1),
        middle=np.abs(offsets).max(axis=1) <= radius,
        neighbors=np.stack([find(offsets + step) for step in steps], axis=1),
        turned=np.stack([find(turn) for turn in turns]),
        mirrored=find(offsets[:, ::-1]),
    )


def _names(heights: np.ndarray) -> tuple[str, ...]:
    first = {height: field for field, height in reversed(list(enumerate(heights.tolist())))}
    return tuple(
        f"{chr(ord('a') + height)}{1 + field - first[height]}" for field, height in enumerate(heights.tolist())
    )


def corner(board: Star, number: int, *, size: int) -> np.ndarray:
    """bool[F]: the triangle of `size` fields at a corner."""
    rows = int(np.sqrt(2 * size))
    beside = np.abs(board.points[:, 0])  # the lowest field lies below the center
    bottom = np.flatnonzero((board.heights < rows) & (beside <= board.heights / 2))
    zone = np.zeros(len(board.names), bool)
    zone[board.turned[number, bottom]] = True
    return zone


class Seating(NamedTuple):
    """The board from each seat's point of view."""

    turned: np.ndarray  # [P, F + 1] the field a seat sees where seat 0 sees field f
    heights: np.ndarray  # [P, F] rows a field lies up the board as the seat sees it
    starts: np.ndarray  # bool[P, F]
    ends: np.ndarray  # bool[P, F]


@cache
def seating(radius: int, players: int, pieces: int) -> Seating:
    """The seats at their corners, each facing the opposite corner."""
    board, corners = star(radius), CORNERS[players]
    turned = board.turned[list(corners)]
    heights = np.stack([board.heights[np.argsort(turn[:-1])] for turn in turned])
    starts = np.stack([corner(board, number, size=pieces) for number in corners])
    ends = np.stack([corner(board, (number + 3) % 6, size=pieces) for number in corners])
    return Seating(turned, heights, starts, ends)
