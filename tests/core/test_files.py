"""Atomic and durable writes, safe reads, locks and the compilation cache."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tabia.core import files
from tabia.core.compile_cache import ProgramCache
from tabia.core.locks import FileLock


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_write_replaces_the_whole_file_and_leaves_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    for content in (b"one", b"two, longer", b""):
        files.write_atomic(path, content)
        assert path.read_bytes() == content and names(tmp_path) == ["a.txt"]


def test_content_and_name_are_synced_before_a_write_returns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file before it gets its name, the directory after: a power cut in between leaves the old file."""
    steps: list[str] = []
    real_sync, real_replace = os.fsync, Path.replace

    def sync(descriptor: int) -> None:
        steps.append("directory" if Path(f"/proc/self/fd/{descriptor}").resolve() == tmp_path else "file")
        real_sync(descriptor)

    monkeypatch.setattr(os, "fsync", sync)
    monkeypatch.setattr(Path, "replace", lambda self, other: (steps.append("rename"), real_replace(self, other))[1])
    files.write_atomic(tmp_path / "a", b"content")
    assert steps == ["file", "rename", "directory"]
    steps.clear()
    files.append(tmp_path / "b", b"line\n")
    files.append(tmp_path / "b", b"line\n")
    files.append(tmp_path / "b", b"line\n", sync=False)
    assert steps == ["file", "directory", "file"] and (tmp_path / "b").read_bytes() == b"line\n" * 3


def test_a_write_that_fails_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left"):
        files.write_atomic(path, b"new")
    assert path.read_bytes() == b"old" and names(tmp_path) == ["a"]


def test_links_are_replaced_and_never_written_through(tmp_path: Path) -> None:
    (tmp_path / "target").write_bytes(b"precious")
    for name, write in (("a", files.write_atomic), ("b", files.append)):
        (tmp_path / name).symlink_to(tmp_path / "target")
        try:
            write(tmp_path / name, b"new")
        except OSError as error:
            assert error.strerror == "it is a symbolic link" and name == "b"
    assert (tmp_path / "target").read_bytes() == b"precious" and (tmp_path / "a").read_bytes() == b"new"


def test_devices_and_directories_are_never_replaced(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "fifo")
    for path, words in (
        (tmp_path / "folder", "a directory"),
        (tmp_path / "fifo", "a FIFO"),
        (Path("/dev/null"), "device"),
    ):
        with pytest.raises(OSError, match=words):
            files.write_atomic(path, b"x")


def test_nothing_is_read_or_written_outside_of_a_directory(tmp_path: Path) -> None:
    inside, outside = tmp_path / "inside", tmp_path / "outside"
    (inside / "deep").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret").write_bytes(b"secret")
    (inside / "deep" / "sound").write_bytes(b"sound")
    (inside / "file").symlink_to(outside / "secret")
    (inside / "folder").symlink_to(outside)
    (inside / "link").symlink_to("deep/sound")
    (inside / "loop").symlink_to("loop")
    assert files.read_bytes(inside / "link", 10, within=inside) == b"sound"
    for path in (inside / "file", inside / "folder" / "secret", inside / ".." / "outside" / "secret", inside / "loop"):
        with pytest.raises(OSError, match=r"leads out of|cannot be followed"):
            files.read_bytes(path, 100, within=inside)
    for write in (files.write_atomic, files.append):
        with pytest.raises(OSError, match="leads out of"):
            write(inside / "folder" / "new", b"x", within=inside)
    with pytest.raises(OSError, match="leads out of"):
        files.make_directory(inside / "folder" / "new", within=inside)
    assert names(outside) == ["secret"]


def test_reading_is_bounded(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"12345")
    assert files.read_bytes(tmp_path / "a", 5) == b"12345"
    with pytest.raises(OSError, match="more than the 4 bytes"):
        files.read_bytes(tmp_path / "a", 4)
    with pytest.raises(OSError, match="more than the 10 bytes"):
        files.read_bytes(Path("/proc/self/status"), 10)  # which reports a size of 0
    with pytest.raises(OSError, match="not UTF-8"):
        (tmp_path / "b").write_bytes(b"\xff")
        files.read_text(tmp_path / "b", 10)


# Locks.


def test_a_lock_is_held_by_one_and_can_be_taken_again_inside(tmp_path: Path) -> None:
    path = tmp_path / "lock"
    refused: list[bool] = []

    def attempt() -> None:
        try:
            with FileLock(path):
                refused.append(False)
        except BlockingIOError:
            refused.append(True)

    def in_another_thread() -> None:
        thread = threading.Thread(target=attempt)
        thread.start()
        thread.join()

    with FileLock(path):
        with FileLock(path):
            in_another_thread()
        in_another_thread()
    in_another_thread()
    assert refused == [True, True, False] and not path.exists()


def test_a_lock_of_a_killed_process_is_free(tmp_path: Path) -> None:
    code = (
        f"import os, signal; from pathlib import Path; from tabia.core.locks import FileLock\n"
        f"FileLock(Path({str(tmp_path / 'lock')!r})).__enter__(); os.kill(os.getpid(), signal.SIGKILL)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == -9
    assert (tmp_path / "lock").exists()
    with FileLock(tmp_path / "lock"):
        pass


def test_a_lock_truncates_nothing(tmp_path: Path) -> None:
    (tmp_path / "target").write_text("precious")
    (tmp_path / "lock").symlink_to(tmp_path / "target")
    with pytest.raises(OSError, match="symbolic link"), FileLock(tmp_path / "lock"):
        pass
    assert (tmp_path / "target").read_text() == "precious"


# The compilation cache.


@pytest.mark.parametrize(
    "damage", [lambda content: content[:40], lambda content: b"", lambda content: content[:-1] + b"?"]
)
def test_a_damaged_program_is_dropped_and_written_again(tmp_path: Path, damage) -> None:  # type: ignore[no-untyped-def]
    cache = ProgramCache(tmp_path)
    cache.put("key", b"a compiled program")
    (path,) = tmp_path.iterdir()
    path.write_bytes(damage(path.read_bytes()))
    assert cache.get("key") is None and not path.exists()
    cache.put("key", b"a compiled program")
    assert ProgramCache(tmp_path).get("key") == b"a compiled program"


def test_the_cache_stays_within_its_limit_and_drops_what_was_not_used(tmp_path: Path) -> None:
    limit = 100_000
    cache = ProgramCache(tmp_path, limit)
    (tmp_path / "old-cache").write_bytes(bytes(30_000))  # of an earlier version
    os.utime(tmp_path / "old-cache", (0, 0))
    for number in range(60):
        cache.put(f"{number}", bytes(3000))
        os.utime(tmp_path / f"{number}.program", (number + 1, number + 1))
        cache.get("7")  # in use: reading renews it
        assert sum(path.stat().st_size for path in tmp_path.iterdir()) <= limit
    left = {path.name for path in tmp_path.iterdir()}
    assert "old-cache" not in left and "7.program" in left and "8.program" not in left and "59.program" in left


def test_a_program_larger_than_the_cache_is_not_kept(tmp_path: Path) -> None:
    cache = ProgramCache(tmp_path, 1000)
    cache.put("key", bytes(2000))
    assert cache.get("key") is None and not list(tmp_path.iterdir())


_COMPILE = """
import warnings; warnings.simplefilter("error")
import tabia.games, jax, jax.numpy as jnp
from jax._src import monitoring
events = []
monitoring.register_event_listener(lambda name, **more: events.append(name))
print(float(jax.jit(lambda x: (jnp.sin(x) * 3).sum())(jnp.arange(8.0))))
print(sum(name.endswith("cache_hits") for name in events), sum(name.endswith("cache_misses") for name in events))
"""


def test_jax_heals_a_truncated_program(tmp_path: Path) -> None:
    """Three processes: one fills the cache, one finds every file cut short, one finds them whole again."""
    env = {name: value for name, value in os.environ.items() if not name.startswith("JAX_")}

    def run() -> list[str]:
        done = subprocess.run(
            [sys.executable, "-c", _COMPILE],
            env=env | {"XDG_CACHE_HOME": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0 and not done.stderr, done.stderr
        return done.stdout.splitlines()

    first = run()
    kept = sorted((tmp_path / "tabia" / "compiled").iterdir())
    assert kept and first[1].split()[0] == "0"
    for path in kept:
        os.truncate(path, 50)
    second = run()
    assert second == first
    third = run()
    assert third[0] == first[0] and third[1] == f"{len(kept)} 0"
