"""Durable writing, and safe reading of files from outside.

Writing is atomic and synced: after a crash at any moment the old file or the new one is there, and a finished write
survives a power cut. Reading accepts regular files up to a size limit and never blocks: a FIFO, a device or a huge
file is refused at once. `within` is a directory that the file must be in after following all links.

Like `open`, these functions raise OSError; its `strerror` completes the sentence "... cannot be read: ...".
"""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import stat
from io import BufferedReader
from pathlib import Path
from typing import IO

KILOBYTE, MEGABYTE, GIGABYTE = 2**10, 2**20, 2**30
_KINDS = (
    (stat.S_ISDIR, "a directory"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device"),
    (stat.S_ISBLK, "a device"),
)
_SAFE = os.O_CLOEXEC | os.O_NONBLOCK  # without O_NONBLOCK, opening a FIFO waits for its other end


# Reading.


def open_regular(path: Path, *, within: Path | None = None) -> BufferedReader:
    """Open a regular file for reading; refuse anything else without blocking."""
    real, flags = (path, 0) if within is None else (contained(path, within), os.O_NOFOLLOW)
    descriptor = _open(real, os.O_RDONLY | flags)
    try:
        _check_regular(os.fstat(descriptor), path)
        return os.fdopen(descriptor, "rb")
    except BaseException:
        os.close(descriptor)
        raise


def read_bytes(path: Path, limit: int, *, within: Path | None = None) -> bytes:
    """The whole content of a regular file of at most `limit` bytes."""
    with open_regular(path, within=within) as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(limit + 1) if size <= limit else b""
    if size > limit or len(content) > limit:
        raise OSError(errno.EFBIG, f"it has more than the {limit:,} bytes allowed", str(path))
    return content


def read_text(path: Path, limit: int, *, within: Path | None = None) -> str:
    """The content of a regular file as text; OSError if it is not UTF-8."""
    try:
        return read_bytes(path, limit, within=within).decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError:
        raise OSError(errno.EILSEQ, "it is not UTF-8 text", str(path)) from None


def contained(path: Path, within: Path) -> Path:
    """The path with all links resolved; OSError if it is outside `within`."""
    try:
        root, real = within.resolve(), path.resolve()
    except (RuntimeError, ValueError) as error:  # a loop of links, or a NUL byte
        raise OSError(errno.ELOOP, f"its path cannot be followed ({error})", str(path)) from None
    if not real.is_relative_to(root):
        raise OSError(errno.ELOOP, f"a symbolic link leads out of {within}", str(path))
    return real


def exists(path: Path) -> bool:
    """Whether the path exists; False for an invalid name."""
    try:
        return os.path.lexists(path)
    except ValueError:
        return False


# Writing.


def write_atomic(path: Path, content: bytes, *, within: Path | None = None) -> None:
    """Write a file completely or not at all; a symbolic link is replaced, not followed."""
    folder = _folder(path, within)
    with contextlib.suppress(FileNotFoundError):
        _check_regular((folder / path.name).stat(), path)
    aside, descriptor = _create_aside(folder, path.name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            _flush(file)
        aside.replace(folder / path.name)
    except BaseException:
        with contextlib.suppress(OSError):
            aside.unlink()
        raise
    sync_directory(folder)


def append(path: Path, content: bytes, *, within: Path | None = None, sync: bool = True) -> None:
    """Append to a file, creating it if needed; `sync` waits until the content is on disk."""
    folder = _folder(path, within)
    is_new = not exists(folder / path.name)
    descriptor = _open(folder / path.name, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW)
    with os.fdopen(descriptor, "ab") as file:
        _check_regular(os.fstat(descriptor), path)
        file.write(content)
        if sync:
            _flush(file)
    if sync and is_new:
        sync_directory(folder)


def write_new(path: Path, content: bytes) -> None:
    """Write and sync a file that must not exist yet; the directory is not synced."""
    with os.fdopen(_open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW), "wb") as file:
        file.write(content)
        _flush(file)


def sync_file(path: Path) -> None:
    """Wait until the content of a file is on disk."""
    descriptor = _open(path, os.O_RDONLY | os.O_NOFOLLOW)
    try:
        os.fdatasync(descriptor)
    finally:
        os.close(descriptor)


def sync_directory(directory: Path) -> None:
    """Wait until the entries of a directory are on disk."""
    descriptor = _open(directory, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def make_directory(path: Path, *, within: Path | None = None) -> Path:
    """Create and sync a directory and its missing parents."""
    if within is not None:
        contained(path, within)
    missing = [folder for folder in (path, *path.parents) if not folder.exists()]
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync_directory(folder.parent)
    if not path.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(path))
    return path


def random_name(name: str, suffix: str = "tmp") -> str:
    """A hidden, unguessable name for a file that will be renamed to `name`."""
    return f".{name[:100]}.{secrets.token_hex(8)}.{suffix}"


def remove_unfinished(folder: Path) -> None:
    """Remove temporary files that killed processes left in a directory."""
    for left in folder.glob(".*.tmp"):
        with contextlib.suppress(OSError):
            left.unlink()


def _folder(path: Path, within: Path | None) -> Path:
    return path.parent if within is None else contained(path.parent, within)


def _create_aside(folder: Path, name: str) -> tuple[Path, int]:
    aside = folder / random_name(name)
    return aside, _open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW)


def _open(path: Path, flags: int) -> int:
    try:
        return os.open(path, flags | _SAFE, 0o666)
    except ValueError as error:  # a NUL byte in the name
        raise OSError(errno.EINVAL, str(error), str(path)) from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError(errno.ELOOP, "it is a symbolic link", str(path)) from None
        raise


def _check_regular(found: os.stat_result, path: Path) -> None:
    if not stat.S_ISREG(found.st_mode):
        kind = next((words for is_kind, words in _KINDS if is_kind(found.st_mode)), "something else")
        raise OSError(errno.EINVAL, f"it is {kind}, not a regular file", str(path))


def _flush(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())
