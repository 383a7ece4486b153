"""Tensors in 8 bits: whole numbers from -127 to 127 with one scale per output channel.

    stored, scale = quantize(kernel)
    kernel = dequantize(stored, scale)

The last axis of a kernel is its output channel. The largest weight of a channel becomes 127, so no weight moves by
more than half a step of its own channel.
"""

from __future__ import annotations

import numpy as np

LEVELS = 127


def quantize(array: np.ndarray, smallest_scale: np.ndarray | float = 0.0) -> tuple[np.ndarray, np.ndarray]:
    """int8 of the same shape, and float32 scales [C] of the last axis; by default a channel of zeros has scale 0."""
    wide = array.astype(np.float32)
    scale = np.abs(wide).max(axis=tuple(range(wide.ndim - 1)), initial=0.0) / np.float32(LEVELS)
    scale = np.maximum(scale, np.asarray(smallest_scale, np.float32))
    steps = np.divide(wide, scale, out=np.zeros_like(wide), where=scale > 0)
    return np.clip(np.rint(steps), -LEVELS, LEVELS).astype(np.int8), scale.astype(np.float32)


def dequantize(stored: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """float32 of the same shape."""
    return stored.astype(np.float32) * scale
