"""glibc's memory allocator, set up for XLA, which allocates and frees large buffers each time a program runs on CPUs.

By default glibc maps a buffer of more than 32 MB, or of more than 64 MB in a thread, anew each time, and may return
other freed memory to the system at once. Then its pages must be mapped and zeroed again for the next run
(docs/explanation/networks.md). Here all threads share the heap that can grow to any size, large buffers are taken from
it, and it is returned to the system only when much more than a program needs is free at its end.
"""

from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_MAX, _ARENA_MAX = -1, -4, -8  # the numbers of these options in malloc.h
_OPTIONS = {_ARENA_MAX: 1, _MMAP_MAX: 0, _TRIM_THRESHOLD: 1 << 30}
_VARIABLES = ("MALLOC_ARENA_", "MALLOC_MMAP_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_")


def keep_memory() -> None:
    """Let this process keep freed buffers for the next ones, unless the user has set up the allocator."""
    if not sys.platform.startswith("linux") or any(name.startswith(_VARIABLES) for name in os.environ):
        return
    if "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", ""):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # missing in other C libraries
    if mallopt is not None:
        for option, value in _OPTIONS.items():
            mallopt(option, value)
