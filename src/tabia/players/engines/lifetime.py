"""The lifetime of engine processes: each begins a process group, which ends with Tabia, however Tabia ends.

At its exit Tabia ends all groups itself (`end_all`). If it is killed, a process that runs `watch.py` ends them: its
input then ends. One such process watches the groups of all engines.
"""

from __future__ import annotations

import atexit
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

_LAUNCH, _WATCH = (Path(__file__).with_name(name) for name in ("launch.py", "watch.py"))
_PYTHON = (sys.executable, "-I", "-S")

_groups: dict[int, None] = {}  # process groups that are not known to have ended, by the process that began them


def start(words: Sequence[str], *, megabytes: int) -> subprocess.Popen[bytes]:
    """Start a program with pipes in a process group of its own; OSError if that is impossible."""
    return _starter().submit(_popen, words, megabytes).result()


def end(process: subprocess.Popen[bytes]) -> None:
    """End a process and all processes of its group."""
    if process.pid in _groups:
        _kill(process.pid)
        process.wait()
        del _groups[process.pid]
        _watchers[-1].write(f"-{process.pid}\n")


def end_all() -> None:
    """End all groups at once; for an exit, so it waits for nothing."""
    for group in list(_groups):
        _kill(group)


def _kill(group: int) -> None:
    with suppress(ProcessLookupError, PermissionError):  # all have ended
        os.killpg(group, signal.SIGKILL)


@cache
def _starter() -> ThreadPoolExecutor:
    """One thread for the life of the process: Linux ends an engine when the thread that started it ends."""
    return ThreadPoolExecutor(1, thread_name_prefix="engines")


def _popen(words: Sequence[str], megabytes: int) -> subprocess.Popen[bytes]:
    watcher = _watcher()
    process = subprocess.Popen(
        [*_PYTHON, str(_LAUNCH), str(os.getpid()), str(watcher.descriptor), str(megabytes), *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        pass_fds=(watcher.descriptor,),
        start_new_session=True,
    )
    _groups[process.pid] = None
    return process


class _Watcher:
    """The process that ends the groups if Tabia is killed."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [*_PYTHON, str(_WATCH)],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,  # Ctrl-C in a terminal does not reach it
        )
        assert self._process.stdin is not None
        self._input = self._process.stdin
        atexit.register(self._close)

    @property
    def descriptor(self) -> int:
        """The descriptor of its input."""
        return self._input.fileno()

    @property
    def is_running(self) -> bool:
        """Whether it has not been killed."""
        return self._process.poll() is None

    def write(self, line: str) -> None:
        """Send one line."""
        with suppress(OSError, ValueError):  # it was killed, or Tabia ends
            os.write(self.descriptor, line.encode())

    def _close(self) -> None:
        self._input.close()
        self._process.wait()


_watchers: list[_Watcher] = []  # the last one is in use


def _watcher() -> _Watcher:
    """The watcher; another one if it was killed."""
    if not _watchers or not _watchers[-1].is_running:
        _watchers.append(_Watcher())
        for group in list(_groups):
            _watchers[-1].write(f"+{group}\n")
    return _watchers[-1]
