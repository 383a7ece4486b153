"""Tabia learns turn-based board games from their rules alone, and proves how good it became."""

import os
import signal
import sys
from types import FrameType


def _interrupted(number: int, frame: FrameType | None) -> None:
    """End a command that has hardly started as `tabia.cli.interrupts` ends it later: one line, no traceback."""
    os.write(2, b"tabia: interrupted.\n")
    os._exit(128 + number)


def _is_command() -> bool:
    """Whether this process is the `tabia` command, or `python -m tabia`."""
    if os.path.basename(sys.argv[0] if sys.argv else "") == "tabia":  # noqa: PTH119, since pathlib is slow to import
        return True
    return "tabia" in sys.orig_argv[1:] and sys.orig_argv[sys.orig_argv.index("tabia") - 1] == "-m"


# First, because Ctrl-C may arrive during the imports below; a program that imports Tabia keeps its own handler.
if _is_command() and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
    signal.signal(signal.SIGINT, _interrupted)

from tabia.core import runtime  # noqa: E402

__version__ = "0.2.0"

runtime.prepare()
