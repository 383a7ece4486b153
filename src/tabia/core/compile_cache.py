"""A persistent cache of compiled programs: checked when read, written atomically, limited in size.

JAX's own file cache writes in place and never replaces an entry, so a truncated entry causes a warning and a
recompilation in every later process. This cache stores a checksum with each entry, drops damaged entries silently,
and removes the least recently used entries once the directory exceeds its limit. Several processes may share the
directory: files appear by renaming, and a file that another process removed is a cache miss.

It serves Tabia's own directory only; JAX handles a cache directory that the user has chosen.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

LIMIT = 2 * 2**30
"""Bytes of all compiled programs; JAX's option `jax_compilation_cache_max_size` takes precedence."""
_SUFFIX = ".program"
_DIGEST = 32  # bytes of SHA-256, at the start of an entry


def directory() -> Path:
    """The default directory of compiled programs."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "tabia" / "compiled"


class ProgramCache:
    """Programs by key; implements JAX's `CacheInterface`."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self._path, self._limit = path, limit
        self._unchecked: int | None = None  # bytes written since the directory was last measured; None: never measured
        path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def get(self, key: str) -> bytes | None:
        """The program, or None if it is missing or damaged."""
        path = self._path / f"{key}{_SUFFIX}"
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
            _remove(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # marks it as recently used
        return content[_DIGEST:]

    def put(self, key: str, value: bytes) -> None:
        """Store a program; JAX calls this if `get` found nothing, or nothing that could be loaded."""
        if len(value) + _DIGEST > self._limit // 2:
            return
        self._reserve(len(value) + _DIGEST)
        aside = self._path / f".{os.getpid()}.{os.urandom(8).hex()}.tmp"
        try:
            with aside.open("xb") as file:
                file.write(hashlib.sha256(value).digest())
                file.write(value)
            aside.replace(self._path / f"{key}{_SUFFIX}")
        except OSError:
            _remove(aside)  # a full disk costs a compilation in the next process, nothing else

    def _reserve(self, wanted: int) -> None:
        """Make space for an entry; the directory is measured once per sixteenth of the limit written."""
        share = self._limit // 16
        if self._unchecked is not None and self._unchecked + wanted <= share:
            self._unchecked += wanted
            return
        self._unchecked = wanted
        _shrink(self._path, self._limit - max(share, wanted))


def install() -> None:
    """Make JAX use this cache; does nothing if JAX lacks the hook or the user chose another directory."""
    try:
        from jax._src import compilation_cache, config

        before: Any = compilation_cache.get_file_cache
        size = config.compilation_cache_max_size
    except (ImportError, AttributeError):  # another version of JAX: its own cache will do
        return
    if getattr(before, "of_tabia", False):
        return

    def get_file_cache(path: str) -> Any:
        if Path(path) != directory():
            return before(path)
        limit = size.value
        return ProgramCache(Path(path), LIMIT if limit < 0 else limit), path

    get_file_cache.of_tabia = True  # type: ignore[attr-defined]
    compilation_cache.get_file_cache = get_file_cache


def _shrink(folder: Path, target: int) -> None:
    """Remove the least recently used files until at most `target` bytes are left."""
    found = []
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            with contextlib.suppress(OSError):
                if entry.is_file(follow_symlinks=False):
                    status = entry.stat(follow_symlinks=False)
                    found.append((status.st_mtime_ns, status.st_size, entry.path))
    total = sum(size for _, size, _ in found)
    for _, size, path in sorted(found):
        if total <= target:
            break
        _remove(Path(path))
        total -= size


def _remove(path: Path) -> None:
    with contextlib.suppress(OSError):
        path.unlink()
