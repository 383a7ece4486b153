"""glibc's memory allocator, set up for XLA, which allocates and frees large buffers each time a program runs on CPUs.

By default glibc may return freed memory to the system at once, whose pages must then be mapped and zeroed again for the
next run (docs/explanation/networks.md). The thresholds below are the highest that glibc comes to by itself, so a
process keeps little more than otherwise.
"""

from __future__ import annotations

import ctypes
import os
import sys

_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3  # the numbers of these options in malloc.h
_OPTIONS = {_MMAP_THRESHOLD: 32 << 20, _TRIM_THRESHOLD: 64 << 20}
_VARIABLES = ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_", "MALLOC_TOP_PAD_", "MALLOC_MMAP_MAX_")


def keep_memory() -> None:
    """Let this process keep freed buffers for the next ones, unless the user has set thresholds."""
    if not sys.platform.startswith("linux") or any(name in os.environ for name in _VARIABLES):
        return
    if "glibc.malloc." in os.environ.get("GLIBC_TUNABLES", ""):
        return
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # missing in other C libraries
    if mallopt is not None:
        for option, value in _OPTIONS.items():
            mallopt(option, value)
