"""Compiled programs kept between runs: checked when read, written atomically, limited in size.

JAX's own file cache writes in place and never replaces an entry, so one that was cut short warns and recompiles in
every later process. This one keeps a checksum with each entry, drops a damaged one silently, and removes the entries
unused for longest once the directory outgrows its limit. Several processes may share the directory: files appear by
renaming, and one that another process removed is only a miss.

It serves Tabia's own directory; a cache that the user has chosen is left to JAX.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
from pathlib import Path
from typing import Any

LIMIT = 2 * 2**30
"""Bytes of all compiled programs; the option of JAX, `jax_compilation_cache_max_size`, goes before it."""
_SUFFIX = ".program"
_DIGEST = 32  # bytes of SHA-256, at the start of an entry


def directory() -> Path:
    """Where compiled programs are kept unless the user says otherwise."""
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "tabia" / "compiled"


class ProgramCache:
    """Programs by key, as JAX's `CacheInterface` asks for it."""

    def __init__(self, path: Path, limit: int = LIMIT) -> None:
        self._path, self._limit = path, limit
        self._unchecked: int | None = None  # bytes written since the directory was last measured; None: never measured
        path.mkdir(parents=True, exist_ok=True, mode=0o700)

    def get(self, key: str) -> bytes | None:
        """The program, or None if there is no sound one."""
        path = self._path / f"{key}{_SUFFIX}"
        try:
            content = path.read_bytes()
        except OSError:
            return None
        if hashlib.sha256(content[_DIGEST:]).digest() != content[:_DIGEST]:
            _remove(path)
            return None
        with contextlib.suppress(OSError):
            os.utime(path)  # the entries unused for longest are removed first
        return content[_DIGEST:]

    def put(self, key: str, value: bytes) -> None:
        """Keep a program; JAX asks only if `get` found none or what it found could not be loaded."""
        if len(value) + _DIGEST > self._limit // 2:
            return
        self._make_room(len(value) + _DIGEST)
        aside = self._path / f".{os.getpid()}.{os.urandom(8).hex()}.tmp"
        try:
            with aside.open("xb") as file:
                file.write(hashlib.sha256(value).digest())
                file.write(value)
            aside.replace(self._path / f"{key}{_SUFFIX}")
        except OSError:
            _remove(aside)  # a full disk costs a compilation in the next process, nothing else

    def _make_room(self, wanted: int) -> None:
        """Measure the directory at the first entry and then once per sixteenth of the limit."""
        share = self._limit // 16
        if self._unchecked is not None and self._unchecked + wanted <= share:
            self._unchecked += wanted
            return
        self._unchecked = wanted
        _shrink(self._path, self._limit - max(share, wanted))


def install() -> None:
    """Let JAX keep its programs here; does nothing where JAX has no such place, or the user chose another cache."""
    try:
        from jax._src import compilation_cache, config

        before: Any = compilation_cache.get_file_cache
        size = config.compilation_cache_max_size
    except (ImportError, AttributeError):  # another version of JAX, whose own cache serves as well
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
    """Remove files, those unused for longest first, until at most `target` bytes are left."""
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
