"""Groups of lanes that a CPU computes at the same time, each by one thread.

    parts = groups.split(lanes, groups.number(256))
    lanes = groups.joined(groups.each(play, parts, "play"))

XLA splits single operations over the cores of a CPU. Those of a search are too small for that: a second core hardly
helps. Groups of lanes do not depend on each other, so each core can run the whole program for one of them. The groups
follow from the number of lanes, never from the number of cores, and each has its own random numbers, so these do not
depend on the number of cores.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextvars import copy_context
from functools import cache, partial
from typing import TypeVar

import jax
import jax.numpy as jnp

from tabia.core import devices

Arrays = TypeVar("Arrays")
Result = TypeVar("Result")

LANES = 32
"""The fewest lanes of a group if there are three groups or more: with fewer, overhead takes more of the time."""
FEWEST = 4
"""The fewest lanes of a group if there are two."""

_called = set[Hashable]()
_first_calls = threading.Lock()


def number(lanes: int) -> int:
    """Into how many groups of equal size lanes are split: 1 on other devices than a CPU, and on several devices.

    >>> [number(lanes) for lanes in (1, 7, 8, 32, 64, 100, 256)]
    [1, 1, 2, 2, 2, 2, 8]
    """
    if jax.default_backend() != "cpu" or devices.count() > 1:
        return 1
    most = max(lanes // LANES, min(lanes // FEWEST, 2), 1)
    return max(count for count in range(1, most + 1) if lanes % count == 0)


def split(arrays: Arrays, count: int) -> list[Arrays]:
    """The arrays [B, ...] of each group."""
    return [arrays] if count == 1 else _split(arrays, count)


def joined(parts: Sequence[Arrays], axis: int = 0) -> Arrays:
    """The arrays of all groups; `axis` are the lanes."""
    return parts[0] if len(parts) == 1 else _joined(tuple(parts), axis)


def each(function: Callable[[int, Arrays], Result], parts: Sequence[Arrays], program: Hashable) -> list[Result]:
    """`function(group, arrays)` for every group, as many at the same time as there are cores.

    The first call with a `program` computes one group before the others, so that it is compiled only once; it names
    everything the compiled program depends on but the shapes and types of the parts. A single group is computed by this
    thread, and the result may not be ready yet.
    """
    if len(parts) == 1:
        return [function(0, parts[0])]
    found: list[Result] = []
    called = (program, *((leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(parts[0])))
    if called not in _called:
        with _first_calls:
            found.append(_computed(function, 0, parts[0]))
            _called.add(called)
    rest, pool = range(len(found), len(parts)), _pool(devices.cores())
    jobs = [pool.submit(copy_context().run, _computed, function, group, parts[group]) for group in rest]
    try:
        done, _ = wait(jobs, return_when=FIRST_EXCEPTION)
    finally:
        for job in jobs:
            job.cancel()
    for job in done:
        job.result()  # raises the error of a group that failed, because others may have been canceled
    return found + [job.result() for job in jobs]


def _computed(function: Callable[[int, Arrays], Result], group: int, arrays: Arrays) -> Result:
    return jax.block_until_ready(function(group, arrays))  # so that a thread computes one group at a time


@cache
def _pool(threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="groups")


@partial(jax.jit, static_argnums=1)
def _split(arrays: Arrays, count: int) -> list[Arrays]:
    leaves, tree = jax.tree.flatten(arrays)
    parts = zip(*(jnp.split(leaf, count) for leaf in leaves), strict=True)
    return [jax.tree.unflatten(tree, part) for part in parts]


@partial(jax.jit, static_argnums=1)
def _joined(parts: tuple[Arrays, ...], axis: int) -> Arrays:
    return jax.tree.map(lambda *leaves: jnp.concatenate(leaves, axis), *parts)
