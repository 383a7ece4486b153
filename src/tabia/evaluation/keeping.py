"""A match's file of records while it is played: saved every few seconds, and taken up again where it was left."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from tabia.evaluation import records
from tabia.evaluation.records import Book, Record
from tabia.evaluation.seating import MatchError

_EVERY = 5.0  # seconds
_AT_MOST = 0.05  # of the time is spent on saving


class Keeper:
    """Keeps the records of one match or tournament in a file, or nowhere if there is no path.

    A file that is there is continued, if its `kind` line says the same settings. Several threads may call `keep`.
    """

    def __init__(self, path: Path | None, kind: str, settings: str) -> None:
        self._path, self._about = path, {kind: settings}
        self.records: list[Record] = []
        self._due = time.monotonic() + _EVERY
        self._lock = threading.Lock()
        if path is not None and path.exists():
            book = records.read(path)
            self._compare(path, kind, book.about)
            self.records = book.records

    @property
    def path(self) -> Path | None:
        return self._path

    def keep(self, now: Sequence[Record], *, at_once: bool = False) -> None:
        """Remember all records so far; write them if it is time to."""
        with self._lock:
            self.records = list(now)
            if at_once or time.monotonic() >= self._due:
                self._write()

    def flush(self) -> list[Record]:
        """Write the records remembered last, if there are any; they are returned."""
        with self._lock:
            if self.records:
                self._write()
            return self.records

    def _write(self) -> None:
        if self._path is None:
            return
        begun = time.monotonic()
        records.save(self._path, Book(self._about, self.records))
        self._due = time.monotonic() + max(_EVERY, (time.monotonic() - begun) / _AT_MOST)

    def _compare(self, path: Path, kind: str, about: dict[str, str]) -> None:
        if kind not in about:
            raise MatchError(f"{path} holds no {kind}; give another file, or remove it.")
        if about == self._about:
            return
        was, now = json.loads(about[kind]), json.loads(self._about[kind])
        changed = [f"{key} was {was.get(key)!r}, not {now.get(key)!r}" for key in now if was.get(key) != now.get(key)]
        raise MatchError(
            f"{path} holds a {kind} with other settings ({'; '.join(changed)}). The same command continues it; "
            "for a new one give another file, or remove it."
        )
