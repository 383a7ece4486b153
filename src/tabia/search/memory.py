"""The memory limit of a computation, and the error message if it needs more, before anything is allocated.

The limit is half of the device's memory. A GPU or TPU reports its memory itself. On a CPU it is the smaller of the
machine's memory and the limits of the process's cgroups (versions 1 and 2), which containers and batch systems set.
The environment variable TABIA_MEMORY_FRACTION sets another fraction than half.

    needs = [Need("simulations", amount=800, bytes=250_000)]
    sentence = shortage(needs, device_limit())          # None if it fits
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any, NamedTuple

import jax

from tabia.core import devices
from tabia.search.errors import SearchError

VARIABLE = "TABIA_MEMORY_FRACTION"
_DEFAULT = 0.5


class Limit(NamedTuple):
    """The most bytes a computation may use."""

    bytes: int
    share: float  # of the total memory
    owner: str  # whose memory it is

    def __str__(self) -> str:
        share = "half" if self.share == _DEFAULT else f"{self.share:.0%}"
        return f"{size_text(self.bytes)} ({share} of {self.owner} memory; set {VARIABLE} to change it)"


class Need(NamedTuple):
    """Memory that grows in proportion to one setting."""

    setting: str
    amount: int
    bytes: int  # for this amount
    purpose: str  # finishes "needs about 3 GB for ..."
    step: int = 1  # amounts are multiples of this
    most: int | None = None  # the largest amount, whatever the memory


def device_limit() -> Limit:
    """The limit for arrays on each device; devices that use the machine's own memory have equal parts of it."""
    share, number = fraction(), devices.count()
    if device_is_host() and number > 1:
        return Limit(int(share * device_memory()) // number, share, f"one device's part (1/{number}) of this machine's")
    owner = "this machine's" if device_is_host() else f"the {jax.devices()[0].platform.upper()}'s"
    return Limit(int(share * device_memory()), share, owner)


def machine_limit() -> Limit:
    """The limit for arrays in the machine's own memory."""
    share = fraction()
    return Limit(int(share * machine_memory()), share, "this machine's")


def fraction() -> float:
    """The fraction of the memory that a computation may use."""
    text = os.environ.get(VARIABLE, str(_DEFAULT))
    try:
        share = float(text)
    except ValueError:
        share = 0.0
    if not 0.0 < share <= 1.0:
        raise SearchError(f"{VARIABLE}={text!r}: expected a number above 0 and up to 1, such as 0.5 for half.")
    return share


def device_is_host() -> bool:
    """Whether the device uses the machine's own memory."""
    return _reported() is None


def device_memory() -> int:
    """Bytes of the device's memory, or of the machine's if the device reports none."""
    return _reported() or machine_memory()


def _reported() -> int | None:
    return (jax.devices()[0].memory_stats() or {}).get("bytes_limit") or None


def machine_memory(root: Path = Path("/")) -> int:
    """Bytes this process can use: the physical memory, or a cgroup's limit if lower; `root` is for tests."""
    physical = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return min([physical, *_cgroup_limits(root)])


def _cgroup_limits(root: Path) -> Iterator[int]:
    """Every limit on the process's cgroups and their parents."""
    mounted = root / "sys/fs/cgroup"
    try:
        lines = (root / "proc/self/cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        number, controllers, path = [*line.split(":", 2), "", ""][:3]
        if number == "0" and not controllers:
            yield from _limits_above(mounted, path, "memory.max")
        elif "memory" in controllers.split(","):
            yield from _limits_above(mounted / "memory", path, "memory.limit_in_bytes")


def _limits_above(mounted: Path, path: str, name: str) -> Iterator[int]:
    """The limits in the files `name` of a cgroup and its parents, as far as they are visible."""
    parts = [part for part in path.split("/") if part not in ("", ".", "..")]
    for depth in range(len(parts), -1, -1):
        try:
            text = mounted.joinpath(*parts[:depth], name).read_text(encoding="utf-8").strip()
        except OSError:
            continue
        if text.isdecimal():  # otherwise it is "max": no limit
            yield int(text)


def shortage(needs: Sequence[Need], limit: Limit) -> str | None:
    """A message with the need, the limit and what would fit; None if all needs together fit."""
    total = sum(need.bytes for need in needs)
    if total <= limit.bytes:
        return None
    largest = max(needs, key=lambda need: need.bytes)
    most = fitting(largest, limit.bytes - (total - largest.bytes))
    needed = f"{largest.setting}={count_text(largest.amount)} needs about {size_text(largest.bytes)} {largest.purpose}"
    others = "" if total < 1.1 * largest.bytes else f", {size_text(total)} in total"
    fits = f"{largest.setting} can be at most {count_text(most)}"
    part = f"About 1/{count_text(-(-total // max(limit.bytes, 1)))} of that would fit"
    return f"{needed}{others}; the limit is {limit}. {fits if most else part}."


def fitting(need: Need, left: int) -> int:
    """The largest amount that fits into `left` bytes, rounded down to two digits and whole steps; 0 if none does."""
    most = max(left, 0) * need.amount // max(need.bytes, 1)
    most = most if need.most is None else min(most, need.most)
    digits = 10 ** max(len(str(most)) - 2, 0)
    return most // digits * digits // need.step * need.step


def nbytes(arrays: Any) -> int:
    """Bytes of a pytree of arrays or shapes."""
    return sum(int(leaf.size) * leaf.dtype.itemsize for leaf in jax.tree.leaves(arrays))


def size_text(bytes: int) -> str:
    """A size with a unit.

    >>> size_text(900), size_text(3_200_000_000_000), size_text(10**300)
    ('0.9 kB', '3.2 TB', '1.0e+285 PB')
    """
    amount, unit = Decimal(bytes) / 1000, "kB"
    for larger in ("MB", "GB", "TB", "PB"):
        if amount < 1000:
            break
        amount, unit = amount / 1000, larger
    return f"{amount:.1f} {unit}" if amount < 100_000 else f"{amount:.1e} {unit}"


def count_text(count: int) -> str:
    """A count with separators, or in scientific notation if it is very long.

    >>> count_text(3_700_000), count_text(10**300)
    ('3,700,000', '1.0e+300')
    """
    return f"{count:,}" if count < 10**15 else f"{Decimal(count):.1e}"
