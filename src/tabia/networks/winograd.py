"""Convolutions with fewer multiplications, for inference on CPUs: Winograd's method (Lavin & Gray 2016).

A line of m outputs of a convolution with r weights needs m r products of numbers, but only n = m + r - 1 if the inputs
and the weights are first turned into the values of polynomials at n points. On a board of 6 x 7 cells, 8 x 9 products
replace the 6 x 7 x 3 x 3 of a 3 x 3 convolution: 5.25 times fewer. Each product is one of matrices, [B, C] x [C, O].

    Y = out ((into X) * (kernel K))            for lines; for boards the same along rows, then along columns

More points cost precision: with nine, float32 sums are off by 1e-5 of their size. A longer line is cut into tiles.
Axis letters: H rows, W columns, B batch, C inputs, O outputs, L cells of a line, T tiles, N points.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import jax.numpy as jnp
import numpy as np
from jax import Array, lax

_POINTS = (0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 0.75)  # and infinity
_MOST_POINTS = len(_POINTS) + 1
_SMALLEST_CHUNK, _LARGEST_CHUNK = 8, 32


@dataclass(frozen=True, eq=False)
class Line:
    """The three transforms of a line of cells."""

    tiles: int
    points: int
    into: np.ndarray  # [N T, L] of the inputs, with zeros beyond the ends of the line
    kernel: np.ndarray  # [N, r] of the weights
    out: np.ndarray  # [L, N T]


def chunk_size(batch: int) -> int:
    """The positions to compute at a time, a divisor of the batch; 0 if none suits the method.

    With fewer than 8 the weights, which are larger than a kernel's, are read for too few positions. With more than 32
    features leave the cache: 512 positions of a 32 x 3 tower took 0.7 of the time of convolutions in chunks of 32, and
    1.5 of it at once.

    >>> [chunk_size(batch) for batch in (1, 8, 32, 250, 512, 257)]
    [0, 8, 32, 25, 32, 0]
    """
    return next((size for size in range(_LARGEST_CHUNK, _SMALLEST_CHUNK - 1, -1) if batch % size == 0), 0)


def fits(window: tuple[int, ...]) -> bool:
    """Whether the method gains anything for a kernel of this size."""
    return len(window) == 2 and min(window) > 1 and max(window) <= _MOST_POINTS // 2


@lru_cache(maxsize=64)
def line(length: int, window: int) -> Line:
    """The transforms for a line of `length` cells and a kernel of `window` weights."""
    tiles = -(-length // (_MOST_POINTS - window + 1))
    size = -(-length // tiles)
    points = size + window - 1
    into, kernel, out = _transforms(size, window)
    ends = np.zeros((2, points, tiles, length))
    for tile in range(tiles):
        for place in range(points):
            cell = tile * size + place - (window - 1) // 2
            if 0 <= cell < length:
                ends[0, :, tile, cell] = into[:, place]
        for place in range(min(size, length - tile * size)):
            ends[1, :, tile, tile * size + place] = out[place]
    flat = ends.reshape(2, points * tiles, length)
    return Line(tiles, points, flat[0], kernel, flat[1].T)


def _transforms(size: int, window: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The transforms `into` [N, N], `kernel` [N, r] and `out` [m, N] of one tile.

    The transpose of Toom and Cook's product of polynomials: evaluate both at N points, multiply, interpolate. The
    numbers of a point are scaled so that their magnitudes sum to 1 in `into` and in `out`, which halves the errors.
    """
    count = size + window - 1
    into, kernel, out = np.linalg.inv(_powers(count, count)).T, _powers(count, window), _powers(count, size).T
    of_into, of_out = np.abs(into).sum(axis=1), np.abs(out).sum(axis=0)
    return into / of_into[:, None], kernel * (of_into * of_out)[:, None], out / of_out


def _powers(count: int, degree: int) -> np.ndarray:
    """[count, degree]: the powers 0, 1, ... of each point; infinity has the highest alone."""
    finite = np.array(_POINTS[: count - 1])[:, None] ** np.arange(degree)
    return np.concatenate([finite, np.eye(degree)[-1:]])


def transform_kernel(kernel: Array, height: int, width: int) -> Array:
    """A kernel [r, c, C, O] at the points of a board [N, C, O]."""
    rows, columns = line(height, kernel.shape[0]), line(width, kernel.shape[1])
    weights = np.einsum("pr,qc->pqrc", rows.kernel, columns.kernel).reshape(rows.points * columns.points, -1)
    flat = kernel.reshape(weights.shape[1], -1)
    found = jnp.matmul(_float32(weights), flat, precision=lax.Precision.HIGHEST)
    return found.reshape(-1, *kernel.shape[2:])


def points_bytes(shape: tuple[int, ...], height: int, width: int) -> int:
    """Bytes of a kernel [r, c, C, O] at the points of a board."""
    return 4 * line(height, shape[0]).points * line(width, shape[1]).points * shape[2] * shape[3]


def convolve(x: Array, kernel: Array, window: tuple[int, ...]) -> Array:
    """The convolution of x [H, W, B, C] with a kernel [N, C, O] from `transform_kernel`: [H, W, B, O]."""
    height, width, batch, inputs = x.shape
    rows, columns = line(height, window[0]), line(width, window[1])
    outputs, down, across = kernel.shape[-1], rows.points * rows.tiles, columns.points * columns.tiles
    u = _float32(rows.into) @ x.reshape(height, -1)
    u = _each(columns.into, u.reshape(down, width, -1))
    split = (rows.points, rows.tiles, columns.points, columns.tiles, batch)
    u = u.reshape(*split, inputs).swapaxes(1, 2).reshape(kernel.shape[0], -1, inputs)
    y = lax.dot_general(u, kernel, (((2,), (1,)), ((0,), (0,))))
    split = (rows.points, columns.points, rows.tiles, columns.tiles, batch)
    y = y.reshape(*split, outputs).swapaxes(1, 2).reshape(down, -1)
    y = (_float32(rows.out) @ y).reshape(height, across, -1)
    return _each(columns.out, y).reshape(height, width, batch, outputs)


def _each(matrix: np.ndarray, x: Array) -> Array:
    """The product of a matrix with every x[i]."""
    return jnp.broadcast_to(_float32(matrix)[None], (x.shape[0], *matrix.shape)) @ x


def _float32(matrix: np.ndarray) -> Array:
    return jnp.asarray(matrix, jnp.float32)
