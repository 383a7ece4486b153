"""A match's file of records while it is played: locked, saved every few seconds, and continued by the same command."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

from tabia.core import files
from tabia.core.locks import FileLock
from tabia.core.parsing import parse_json
from tabia.core.text import quote
from tabia.evaluation import records
from tabia.evaluation.records import Book, Record
from tabia.evaluation.seating import MatchError

_EVERY = 5.0  # seconds
_AT_MOST = 0.05  # of the time is spent on saving


class Keeper:
    """Keeps the records of one match or tournament in a file, or nowhere if there is no path.

    It is entered with `with`, which locks the file, so that two processes never write the same one, and reads what is
    there. A file that exists is continued if its `kind` line has the same settings. Leaving by an exception saves.
    Several threads may call `keep`.
    """

    def __init__(self, path: Path | None, kind: str, settings: str, *, within: Path | None = None) -> None:
        self._path, self._kind, self._about, self._within = path, kind, {kind: settings}, within
        self._lock = None if path is None else FileLock(path.with_name(f".{path.name}.lock"))
        self.records: list[Record] = []
        self._due = time.monotonic() + _EVERY
        self._writing = threading.Lock()

    def __enter__(self) -> Keeper:
        if self._path is None or self._lock is None:
            return self
        try:
            self._lock.__enter__()
        except BlockingIOError:
            raise MatchError(
                f"{self._path} is being written by another process; wait for it, or give another file."
            ) from None
        except OSError as error:
            raise MatchError(f"{self._path} cannot be written: {error.strerror or error}.") from None
        try:
            if files.exists(self._path):
                book = records.read(self._path, within=self._within)
                self._compare(self._path, book.about)
                self.records = book.records
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        try:
            if error is not None:
                self.flush()
        finally:
            if self._lock is not None:
                self._lock.__exit__(kind, error, at)

    @property
    def path(self) -> Path | None:
        return self._path

    def keep(self, now: Sequence[Record], *, at_once: bool = False) -> None:
        """Remember all records so far; write them if it is time to."""
        with self._writing:
            self.records = list(now)
            if at_once or time.monotonic() >= self._due:
                self._write()

    def flush(self) -> list[Record]:
        """Write the records remembered last, if there are any; they are returned."""
        with self._writing:
            if self.records:
                self._write()
            return self.records

    def _write(self) -> None:
        if self._path is None:
            return
        begun = time.monotonic()
        records.save(self._path, Book(self._about, self.records), within=self._within)
        self._due = time.monotonic() + max(_EVERY, (time.monotonic() - begun) / _AT_MOST)

    def _compare(self, path: Path, about: dict[str, str]) -> None:
        kind = self._kind
        if kind not in about:
            raise MatchError(f"{path} holds no {kind}; give another file, or remove it.")
        if about == self._about:
            return
        was, now = _settings(about[kind]), _settings(self._about[kind])
        if was is None or now is None:
            raise MatchError(
                f"{path}: the settings of its {kind} cannot be read ({quote(about[kind])}); give another file, "
                "or remove it."
            )
        changed = [
            f"{key} was {quote(was.get(key))}, not {quote(now.get(key))}" for key in now if was.get(key) != now.get(key)
        ]
        raise MatchError(
            f"{path} holds a {kind} with other settings ({'; '.join(changed)}). The same command continues it; "
            "for a new one give another file, or remove it."
        )


def _settings(text: str) -> dict[str, Any] | None:
    try:
        found = parse_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
