"""Lanes inside compiled code: a batch whose games are split over several devices.

XLA partitions most programs by itself and inserts communication where it cannot prove that devices need none. In a
search it cannot: each step reads the tree at computed places. So a search runs once per device on its own lanes, by
`each_device`, and communicates nothing. Random numbers are those of the whole batch (`draw`), so games do not depend on
the number of devices, except on CPUs, where one device plays in groups (`groups`).

All of this applies only under `devices.active()`; elsewhere the functions here change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

import jax
from jax import Array
from jax.sharding import PartitionSpec

Arrays = TypeVar("Arrays")
AXIS = "lanes"
"""The only axis of the mesh of devices."""

_COPIES: ContextVar[int] = ContextVar("tabia_copies", default=1)


def spec(axis: int | None) -> PartitionSpec:
    """How an array is split whose `axis` are lanes; None: every device has a copy."""
    return PartitionSpec() if axis is None else PartitionSpec(*[None] * axis, AXIS)


def are_split() -> bool:
    """Whether the program being traced is for several devices, and for all of their lanes."""
    mesh = jax.sharding.get_abstract_mesh()
    return AXIS in mesh.axis_names and AXIS not in mesh.manual_axes


def constrain(arrays: Arrays, axis: int | None = 0) -> Arrays:
    """The same arrays, split by lanes along `axis`, or with None copied to every device."""
    if not are_split():
        return arrays
    return jax.tree.map(lambda leaf: jax.lax.with_sharding_constraint(leaf, spec(axis)), arrays)


def each_device(function: Callable[..., Arrays], specs: tuple[Any, ...], out: Any, *arguments: Any) -> Arrays:
    """Call a function on every device with its lanes of the arguments.

    `specs` say how each argument is split, and `out` how the result is. The function must treat lanes independently.
    """
    if not are_split():
        return function(*arguments)
    return jax.shard_map(function, in_specs=specs, out_specs=out, check_vma=False)(*arguments)


def draw(sample: Callable[[Array, tuple[int, ...]], Array], key: Array, shape: tuple[int, ...]) -> Array:
    """`sample(key, shape)`, lanes first; within `each_device`, this device's part of the sample for all lanes."""
    mesh = jax.sharding.get_abstract_mesh()
    if AXIS not in mesh.manual_axes:
        return sample(key, shape)
    (lanes, *rest), number, copies = shape, mesh.shape[AXIS], _COPIES.get()
    every = sample(key, (number * lanes, *rest)).reshape(copies, number, lanes // copies, *rest)
    own = jax.lax.dynamic_index_in_dim(every, jax.lax.axis_index(AXIS), axis=1, keepdims=False)
    return own.reshape(lanes, *rest)


@contextmanager
def repeated(copies: int) -> Iterator[None]:
    """Draw for batches that hold the lanes several times, one copy after the other."""
    token = _COPIES.set(copies)
    try:
        yield
    finally:
        _COPIES.reset(token)
