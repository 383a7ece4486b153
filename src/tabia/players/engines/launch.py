"""Replaces itself with an engine, after limiting its memory and tying its life to Tabia's.

Run as a script, without Tabia on its path: `python -I -S launch.py PARENT WATCH MEGABYTES PROGRAM ARGUMENT...`. WATCH
is the descriptor of the input of `watch.py`: it hears of the new process group before the engine can start others. The
limits are set here rather than in a function that runs between fork and exec, because forking Python with JAX's threads
can deadlock.
"""

import contextlib
import ctypes
import os
import resource
import signal
import sys

_PR_SET_PDEATHSIG = 1
_CANNOT_RUN = 127  # the status that shells use


def _main() -> None:
    parent, watch, megabytes, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    _announce(int(watch))
    if os.getppid() != int(parent):  # it ended before the lines above
        sys.exit(1)
    size = int(megabytes) << 20
    resource.setrlimit(resource.RLIMIT_AS, (size, size))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # Python ignores it, and the engine would inherit that
    try:
        os.execv(command[0], command)
    except OSError as error:
        print(f"{command[0]}: {error.strerror}", file=sys.stderr)
        sys.exit(_CANNOT_RUN)


def _announce(watch: int) -> None:
    with contextlib.suppress(OSError):  # the watching process was killed
        os.write(watch, f"+{os.getpid()}\n".encode())
    os.close(watch)


if __name__ == "__main__":
    _main()
