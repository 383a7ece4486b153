"""Ends the process groups of engines when Tabia ends, even if Tabia is killed.

Run as a script, without Tabia on its path: `python -I -S watch.py`. Each line of the input names a process group: `+ID`
one that begins, `-ID` one that has ended. Only Tabia holds the other end, and launchers until they become engines, so
the input ends with Tabia.
"""

import os
import signal
import sys


def _main() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # a service manager sends SIGTERM to all processes of Tabia
    groups: set[int] = set()
    for line in sys.stdin:
        (groups.add if line.startswith("+") else groups.discard)(int(line[1:]))
    for group in groups:
        try:
            os.killpg(group, signal.SIGKILL)
        except OSError:  # it has ended
            continue


if __name__ == "__main__":
    _main()
