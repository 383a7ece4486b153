"""Large buffers are allocated again without new pages, unless the user has set up the allocator."""

from __future__ import annotations

import os
import platform
import subprocess
import sys

import pytest

ROUNDS, MEGABYTES = 20, (9, 9, 9, 40, 70)  # glibc maps buffers above 32 MB anew, in threads all above 64 MB
PROGRAM = f"""
import resource, threading
import numpy as np
import tabia

def fill():
    return [np.ones(megabytes << 20, np.uint8) for megabytes in {MEGABYTES}]

def rounds():
    fill()  # the first round needs new pages in any case
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range({ROUNDS}):
        fill()
    print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)

thread = threading.Thread(target=rounds)  # XLA's programs run in threads, which have heaps of their own
thread.start()
thread.join()
"""


def faults(**variables: str) -> int:
    """Page faults of many allocations of the same sizes, in a process of its own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MALLOC_", "GLIBC_"))}
    run = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=kept | variables, capture_output=True, text=True, check=True
    )
    return int(run.stdout)


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="another C library")
def test_freed_buffers_are_kept() -> None:
    pages = ROUNDS * sum(MEGABYTES) * (1 << 20) // os.sysconf("SC_PAGE_SIZE")  # most may be large pages, thus fewer
    assert faults() < pages / 200
    assert faults(MALLOC_MMAP_THRESHOLD_="1000000") > pages / 50, "the user's threshold was changed"
    assert faults(MALLOC_ARENA_MAX="2") > pages / 50, "the user's number of arenas was changed"
    assert faults(GLIBC_TUNABLES="glibc.malloc.mmap_threshold=1000000") > pages / 50, "the user's threshold was changed"
