"""Locks between processes: a file that one process at a time holds, released when the process ends."""

from __future__ import annotations

import errno
import fcntl
import os
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType

_POLL = 0.05  # seconds between two attempts


class _Held(threading.local):
    """The locks that one thread holds: by path, how many times and the descriptor."""

    def __init__(self) -> None:
        self.by_path: dict[str, tuple[int, int]] = {}


_held = _Held()


class FileLock:
    """An exclusive lock on a path, as a context manager; reentrant within a thread.

    Entering raises BlockingIOError at once if another process or thread holds the lock. The file is created without
    following links, is never truncated, and is removed on release.
    """

    def __init__(self, path: Path) -> None:
        self._path = path.absolute()

    def __enter__(self) -> FileLock:
        count, descriptor = _held.by_path.get(str(self._path), (0, -1))
        if not count:
            descriptor = self._acquire()
        _held.by_path[str(self._path)] = count + 1, descriptor
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        count, descriptor = _held.by_path[str(self._path)]
        if count > 1:
            _held.by_path[str(self._path)] = count - 1, descriptor
            return
        del _held.by_path[str(self._path)]
        try:
            self._path.unlink(missing_ok=True)
        except OSError:
            pass  # a leftover file in a read-only directory locks nothing by itself
        finally:
            os.close(descriptor)

    def _acquire(self) -> int:
        """A locked descriptor of the file at this path; the previous holder may remove the one we opened."""
        while True:
            descriptor = _open(self._path)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if _is_at(descriptor, self._path):
                    return descriptor
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)


@contextmanager
def locked(path: Path, *, patience: float) -> Iterator[bool]:
    """Hold the lock of a path, waiting for it at most `patience` seconds; False if another process keeps it."""
    lock, until = FileLock(path), time.monotonic() + patience
    while True:
        try:
            lock.__enter__()
            break
        except BlockingIOError:
            if time.monotonic() > until:
                yield False
                return
            time.sleep(_POLL)
    try:
        yield True
    finally:
        lock.__exit__(None, None, None)


def _open(path: Path) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    try:
        descriptor = os.open(path, flags, 0o666)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, f"its lock {path.name} is a symbolic link", str(path)) from None
        raise
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, f"its lock {path.name} is not a regular file", str(path))
    return descriptor


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False
