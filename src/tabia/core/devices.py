"""The devices of this machine that share the games of a batch.

    with devices.using("all"):
        train(Training.begin("runs/connect4", config))

Every device has some lanes of each batch and its own copy of the weights. A lane is one game, and games do not depend
on each other, so devices exchange nothing while they search. `lanes` has what compiled code needs for that. Devices
belong to the process, not to a thread. Without `using`, everything runs on JAX's default device.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TypeVar

import jax
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec

from tabia.core.errors import TabiaError
from tabia.core.lanes import AXIS, spec

Arrays = TypeVar("Arrays")
ALL = "all"

_meshes: list[Mesh | None] = [None]  # the last one is in use, in all threads: one of them may save a run of another


class DeviceError(TabiaError):
    """Devices that this machine does not have, or among which a batch cannot be split."""


@contextmanager
def using(wanted: str | int | None) -> Iterator[None]:
    """Split batches over this many devices, or over "all"; None and 1 are JAX's default device alone."""
    number = _number(wanted)
    mesh = None if number == 1 else Mesh(np.array(jax.local_devices()[:number]), (AXIS,))
    _meshes.append(mesh)
    try:
        yield
    finally:
        _meshes.pop()


def _number(wanted: str | int | None) -> int:
    """How many devices are wanted; DeviceError if this machine has fewer."""
    if wanted is None:
        return 1
    present = len(jax.local_devices())
    if wanted == ALL:
        return present
    if not (isinstance(wanted, int) or (wanted.isascii() and wanted.isdecimal())) or int(wanted) < 1:
        raise DeviceError(f"--devices {wanted}: expected {ALL} or a number of devices, at least 1.")
    if int(wanted) > present:
        raise DeviceError(
            f"--devices {wanted}: JAX finds {present} here ({jax.local_devices()[0].device_kind}). "
            f"Give {present} or fewer, or {ALL}."
        )
    return int(wanted)


def count() -> int:
    """How many devices share a batch."""
    mesh = _meshes[-1]
    return 1 if mesh is None else int(mesh.size)


def active() -> AbstractContextManager[object]:
    """Compile and call programs for all devices in use: needed wherever a search is called on split lanes."""
    mesh = _meshes[-1]
    return nullcontext() if mesh is None else jax.set_mesh(mesh)


def splitting(axis: int = 0) -> NamedSharding | None:
    """Where an array goes whose `axis` are lanes; None: to the default device."""
    return _sharding(spec(axis))


def copying() -> NamedSharding | None:
    """Where an array goes of which every device needs a copy; None: to the default device."""
    return _sharding(spec(None))


def _sharding(how: PartitionSpec) -> NamedSharding | None:
    mesh = _meshes[-1]
    return None if mesh is None else NamedSharding(mesh, how)


def split(arrays: Arrays, axis: int = 0) -> Arrays:
    """Arrays whose `axis` are lanes, on their devices; unchanged if there is one device."""
    return arrays if _meshes[-1] is None else jax.device_put(arrays, splitting(axis))


def copied(arrays: Arrays) -> Arrays:
    """Arrays with a copy on every device; unchanged if there is one device."""
    return arrays if _meshes[-1] is None else jax.device_put(arrays, copying())


def padded(size: int) -> int:
    """The smallest number of lanes that is at least `size` and can be split."""
    return -(-size // count()) * count()


def per_device(lanes: int) -> int:
    """The most lanes that one device gets."""
    return -(-lanes // count())


def check_divisible(setting: str, amount: int) -> None:
    """Raise DeviceError unless this many lanes, named by their setting, can be split evenly."""
    number = count()
    if amount % number == 0:
        return
    near = [size for size in (amount // number * number, padded(amount)) if size]
    fewer = max(size for size in range(1, number) if amount % size == 0)
    raise DeviceError(
        f"{setting}={amount} cannot be split evenly over {number} devices. Set {setting} to "
        f"{' or '.join(map(str, near))}, or use --devices {fewer}."
    )


def cores() -> int:
    """The CPU cores that this process may use; the variable NPROC, which XLA also reads, may lower their number."""
    present = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    limit = os.environ.get("NPROC", "")
    return min(present, max(int(limit), 1)) if limit.isdecimal() else present


def describe() -> str:
    """The devices in words."""
    kind = jax.local_devices()[0].device_kind
    return kind if count() == 1 else f"{count()} x {kind}"
