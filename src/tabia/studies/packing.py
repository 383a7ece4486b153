"""Bringing finished parts of a study from one machine to another, in archives of limited size.

An archive is a tar file with study.json and, for each finished part, result.json, games.txt and weights. It has no run
directories. Of a training run whose weights no unfinished part needs, it has only the last and the best checkpoint; the
others are named in weights/left-out, so that a part that needs them says so instead of using the wrong ones. An archive
of results, which is published with them, has no games and no weights, and is compressed.
"""

from __future__ import annotations

import gzip
import io
import re
import tarfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tabia.core import files
from tabia.core.text import quote
from tabia.players import runs
from tabia.studies.directory import MANIFEST, PARTS, RESULT, StudyDirectory, writing
from tabia.studies.estimates import StudyError
from tabia.studies.matches import RECORDS
from tabia.studies.part import Part
from tabia.studies.runner import select
from tabia.studies.trainings import LEFT_OUT, WEIGHTS, left_out

LIMIT = 16 * files.MEGABYTE
_LARGEST = 1024 * files.MEGABYTE  # of a file in an archive
_PART = r"parts/[a-z0-9][a-z0-9.-]{0,99}"
_WEIGHTS = rf"weights/(?:best|left-out|checkpoints/[0-9]{{1,12}}/{re.escape(runs.WEIGHTS)})"
_NAMES = re.compile(rf"{_PART}/(?:{re.escape(RESULT)}|{re.escape(RECORDS)}|{_WEIGHTS})")
_HEADER, _END = 2 * tarfile.BLOCKSIZE, tarfile.RECORDSIZE  # bytes that a file and an archive need besides the contents

File = tuple[str, bytes]


def pack(
    directory: StudyDirectory,
    parts: Sequence[Part],
    to: Path,
    *,
    only: Sequence[str] = (),
    all_weights: bool = False,
    limit: int = LIMIT,
) -> list[Path]:
    """Write finished parts to `to`, and what does not fit below the limit to further files, -2, -3 and so on."""
    manifest = (MANIFEST, files.read_bytes(directory.path / MANIFEST, files.MEGABYTE))
    needed = {need for part in parts if not directory.finished(part.name) for need in part.needs}
    written: list[Path] = []
    held, size = [manifest], _size(manifest)
    for part in select(parts, only):
        if not directory.finished(part.name):
            continue
        for file in _files(directory, part.name, every=all_weights or part.name in needed):
            if len(held) > 1 and size + _size(file) + _END > limit:
                written.append(_write(to, len(written), held))
                held, size = [manifest], _size(manifest)
            held.append(file)
            size += _size(file)
    return [*written, _write(to, len(written), held)]


def pack_results(directory: StudyDirectory, parts: Sequence[Part], to: Path) -> Path:
    """Write what the finished parts found, without games and weights, compressed: a study can be continued from it."""
    held = [(MANIFEST, files.read_bytes(directory.path / MANIFEST, files.MEGABYTE))]
    for part in parts:
        if directory.finished(part.name):
            folder, start = directory.folder(part.name), f"{PARTS}/{part.name}"
            held += [(f"{start}/{WEIGHTS}/{name}", content) for name, content in _no_weights(folder / WEIGHTS)]
            held.append((f"{start}/{RESULT}", files.read_bytes(folder / RESULT, _LARGEST)))
    with writing(to):
        files.write_atomic(to, gzip.compress(_archived(held), mtime=0))
    return to


def unpack(archive: Path, directory: StudyDirectory) -> list[str]:
    """Store what an archive holds; of parts that are finished here only missing files. Returns the parts it changed."""
    return _store(_members(archive), archive, directory)


def collect(directory: StudyDirectory, finished: Sequence[str], started: Sequence[str] = ()) -> bytes:
    """An archive in memory: all files of finished parts, and the games so far of parts that have started."""
    held = [(MANIFEST, files.read_bytes(directory.path / MANIFEST, files.MEGABYTE))]
    for part in finished:
        held += _files(directory, part, every=True)
    for part in started:
        held += _games(directory, part)
    return _archived(held)


def add(content: bytes, directory: StudyDirectory) -> list[str]:
    """Store what an archive in memory holds, as `unpack` does."""
    archive = Path("the archive")
    return _store(_members(archive, io.BytesIO(content)), archive, directory)


def _store(members: Iterator[File], archive: Path, directory: StudyDirectory) -> list[str]:
    changed: dict[str, None] = {}
    with writing(directory.path):
        for name, content in members:
            if name == MANIFEST:
                directory.accept(_text(archive, content))
                continue
            part, target = name.split("/")[1], directory.path / name
            if not (directory.finished(part) and files.exists(target)):
                files.make_directory(target.parent, within=directory.path)
                files.write_atomic(target, content, within=directory.path)
                changed[part] = None
    return list(changed)


def _text(archive: Path, content: bytes) -> str:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise StudyError(f"{archive} is not an archive of a study: its {MANIFEST} is not text.") from None


def _files(directory: StudyDirectory, part: str, *, every: bool) -> Iterator[File]:
    """The files of a finished part; the result is the last, because it marks the part as finished."""
    folder, start = directory.folder(part), f"{PARTS}/{part}"
    yield from _games(directory, part)
    for name, content in _weights(folder / WEIGHTS, every):
        yield f"{start}/{WEIGHTS}/{name}", content
    yield f"{start}/{RESULT}", files.read_bytes(folder / RESULT, _LARGEST)


def _games(directory: StudyDirectory, part: str) -> Iterator[File]:
    path = directory.folder(part) / RECORDS
    if files.exists(path):
        yield f"{PARTS}/{part}/{RECORDS}", files.read_bytes(path, _LARGEST)


def _weights(folder: Path, every: bool) -> Iterator[File]:
    steps = runs.steps(folder) if folder.is_dir() else {}
    best = files.read_text(folder / "best", files.KILOBYTE).strip() if files.exists(folder / "best") else ""
    kept = [step for step in steps if every or step == max(steps) or str(step) == best]
    for step in kept:
        name = f"checkpoints/{steps[step]}/{runs.WEIGHTS}"
        yield name, files.read_bytes(folder / name, _LARGEST)
    if best:
        yield "best", f"{best}\n".encode()
    missing = [*(str(step) for step in steps if step not in kept), *left_out(folder)]
    if missing:
        yield LEFT_OUT, f"{' '.join(missing)}\n".encode()


def _no_weights(folder: Path) -> Iterator[File]:
    """The names of all checkpoints as left out."""
    missing = [*(map(str, runs.steps(folder)) if folder.is_dir() else ()), *left_out(folder)]
    if missing:
        yield LEFT_OUT, f"{' '.join(missing)}\n".encode()


def _size(file: File) -> int:
    return len(file[1]) + _HEADER


def _write(to: Path, number: int, held: Sequence[File]) -> Path:
    path = to if number == 0 else to.with_name(f"{to.stem}-{number + 1}{to.suffix}")
    with writing(path):
        files.write_atomic(path, _archived(held))
    return path


def _archived(held: Sequence[File]) -> bytes:
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w", format=tarfile.USTAR_FORMAT) as archive:
        for name, one in held:
            entry = tarfile.TarInfo(name)
            entry.size = len(one)
            archive.addfile(entry, io.BytesIO(one))
    return content.getvalue()


def _members(archive: Path, content: io.BytesIO | None = None) -> Iterator[File]:
    """The files of an archive; the manifest must come first, and nothing but the files of parts may follow."""
    try:
        with tarfile.open(archive, mode="r:*", fileobj=content) as opened:
            for number, entry in enumerate(opened):
                expected = entry.name == MANIFEST if number == 0 else _NAMES.fullmatch(entry.name) is not None
                if not expected or not entry.isreg() or entry.size > _LARGEST:
                    raise StudyError(f"{archive} is not an archive of a study: it holds {quote(entry.name)}.")
                member = opened.extractfile(entry)
                assert member is not None
                yield entry.name, member.read()
    except tarfile.TarError as error:
        raise StudyError(
            f"{archive} is not an archive of a study: {error}. Make one with `tabia study pack`."
        ) from None
    except OSError as error:
        raise StudyError(f"{archive} cannot be read: {error.strerror or error}.") from None
