"""What travels between the learner and its actors: tasks, chunks of self-play, and arrays packed into bytes.

Packed arrays are their raw bytes, one after another, compressed. Names, shapes and types are not sent: both sides know
them, and bytes that do not fit are refused. Nothing that is unpacked can run code. Axis letters: T plies, B lanes.
"""

from __future__ import annotations

import zlib
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from tabia.cluster.errors import ClusterError

FAST, STORED = 1, 0
"""Levels of zlib: chunks shrink several times even at the fastest one, weights hardly at any."""


class Key(NamedTuple):
    """Which chunk: the lanes of a slot in a round. A chunk with the same key is the same chunk."""

    round: int
    slot: int


class Task(NamedTuple):
    """A chunk to play. It is complete: any actor plays the same chunk from it."""

    key: Key
    version: int  # of the weights
    config: str  # TOML: the run's configuration at this stage, for the lanes of one slot
    random: bytes  # the data of the random key
    lanes: bytes  # packed, after the slot's previous chunk
    revisits: bytes | None  # packed, if games start at earlier positions


class Chunk(NamedTuple):
    """What an actor played."""

    key: Key
    version: int  # of the weights that played
    lanes: bytes  # packed, for the slot's next chunk
    plies: bytes  # packed [T, B / slots]
    seconds: float  # that it took the actor

    @property
    def size(self) -> int:
        """Bytes."""
        return len(self.lanes) + len(self.plies)


def pack(tree: Any, *, level: int = FAST) -> bytes:
    """The arrays of a tree as compressed bytes."""
    packer = zlib.compressobj(level)
    parts = [packer.compress(_raw(plain(leaf))) for leaf in jax.tree.leaves(tree)]
    return b"".join([*parts, packer.flush()])


def unpack(packed: bytes, like: Any) -> Any:
    """The tree of arrays that was packed; `like` has its shapes and types. ClusterError if the bytes do not fit."""
    leaves, shape = jax.tree.flatten(like)
    kinds = [_plain_like(leaf) for leaf in leaves]
    raw = _decompressed(packed, sum(_size(kind) for kind in kinds))
    arrays, start = [], 0
    for leaf, kind in zip(leaves, kinds, strict=True):
        part = np.frombuffer(raw, np.uint8, _size(kind), start)
        array = part.view(kind.dtype).reshape(kind.shape)
        arrays.append(jax.random.wrap_key_data(jnp.asarray(array)) if _is_key(leaf) else array)
        start += _size(kind)
    return jax.tree.unflatten(shape, arrays)


def plain(leaf: Array | np.ndarray) -> np.ndarray:
    """An array in the machine's memory; of random keys their data."""
    return np.asarray(jax.random.key_data(leaf) if _is_key(leaf) else leaf)


def _raw(array: np.ndarray) -> memoryview:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8).data


def _plain_like(leaf: Any) -> jax.ShapeDtypeStruct:
    found = jax.eval_shape(jax.random.key_data, leaf) if _is_key(leaf) else leaf
    return jax.ShapeDtypeStruct(found.shape, found.dtype)


def _size(kind: jax.ShapeDtypeStruct) -> int:
    return int(kind.size) * kind.dtype.itemsize


def _is_key(leaf: Any) -> bool:
    return jnp.issubdtype(leaf.dtype, jax.dtypes.prng_key)


def _decompressed(packed: bytes, size: int) -> bytes:
    """Exactly `size` bytes; a small input cannot make more than that."""
    unpacker = zlib.decompressobj()
    try:
        raw = unpacker.decompress(packed, size + 1)
    except zlib.error as error:
        raise ClusterError(f"A chunk is damaged: {error}.") from None
    if len(raw) != size or not unpacker.eof or unpacker.unused_data:
        raise ClusterError(f"A chunk should have {size:,} bytes; this one has others. Restart the actors.")
    return raw
