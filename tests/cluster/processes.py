"""The processes that a test started, and the sockets they listen on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

import psutil


def descendants(process: int) -> list[int]:
    """All processes that a process started, and those started by them."""
    return [child.pid for child in psutil.Process(process).children(recursive=True)]


def actors(process: int) -> list[int]:
    """The actors among the descendants of a process."""
    return [one for one in descendants(process) if _command(one).startswith((b"ray::SelfPlayActor", b"ray::JobActor"))]


def listening(processes: Iterable[int]) -> set[tuple[str, int]]:
    """The addresses and ports on which processes accept connections."""
    found = set()
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            for connection in psutil.Process(process).net_connections("inet"):
                if connection.status == psutil.CONN_LISTEN:
                    found.add((connection.laddr.ip, connection.laddr.port))
    return found


def gone(processes: Callable[[], list[int]], seconds: float = 60.0) -> bool:
    """Whether there are no such processes any more, at once or soon: they end by themselves."""
    until = time.monotonic() + seconds
    while processes() and time.monotonic() < until:
        time.sleep(0.05)
    return not processes()


def _command(process: int) -> bytes:
    try:
        return Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return b""
