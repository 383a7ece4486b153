"""Replaces itself with an engine, after limiting its memory and tying its life to Tabia's.

Run as a script, without Tabia on its path: `python -I -S launch.py PARENT MEGABYTES PROGRAM ARGUMENT...`. The limits
are set here rather than in a function that runs between fork and exec, because forking Python with JAX's threads can
deadlock.
"""

import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CANNOT_RUN = 127  # the status that shells use


def _main() -> None:
    parent, megabytes, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != int(parent):  # it ended before the line above
        sys.exit(1)
    size = int(megabytes) << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    try:
        os.execv(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(_CANNOT_RUN)


if __name__ == "__main__":
    _main()
