"""The record file of a running match: locked, saved every few seconds, and resumed by the same command."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tabia.core import files
from tabia.core.locks import FileLock
from tabia.core.parsing import parse_json
from tabia.core.text import quote
from tabia.evaluation import records
from tabia.evaluation.records import Record, RecordFile
from tabia.evaluation.rounds import MatchError

_INTERVAL = 5.0  # seconds between saves
_MAX_FRACTION = 0.05  # of the time spent on saving


class Recorder:
    """Records the games of one match or tournament in a file; without a path it only holds them.

    A context manager: entering locks the file, so that no other process writes it, and reads the games in it. An
    existing file is resumed if the header line `kind` has the same settings. Leaving with an exception saves.
    `update` and `flush` are safe to call from several threads.
    """

    def __init__(self, path: Path | None, kind: str, settings: str, *, within: Path | None = None) -> None:
        self._path, self._kind, self._header, self._within = path, kind, {kind: settings}, within
        self._lock = None if path is None else FileLock(path.with_name(f".{path.name}.lock"))
        self.records: list[Record] = []
        self._due = time.monotonic() + _INTERVAL
        self._writing = threading.Lock()

    def __enter__(self) -> Recorder:
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
                existing = records.load(self._path, within=self._within)
                self._check_header(self._path, existing.header)
                self.records = existing.records
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
        """The record file, if there is one."""
        return self._path

    def update(self, now: Sequence[Record], *, save: bool = False) -> None:
        """Replace the records by those so far; write them if a save is due or asked for."""
        with self._writing:
            self.records = list(now)
            if save or time.monotonic() >= self._due:
                self._write()

    def flush(self) -> list[Record]:
        """Write the current records, if there are any, and return them."""
        with self._writing:
            if self.records:
                self._write()
            return self.records

    def _write(self) -> None:
        if self._path is None:
            return
        start = time.monotonic()
        records.save(self._path, RecordFile(self._header, self.records), within=self._within)
        self._due = time.monotonic() + max(_INTERVAL, (time.monotonic() - start) / _MAX_FRACTION)

    def _check_header(self, path: Path, header: dict[str, str]) -> None:
        kind = self._kind
        if kind not in header:
            raise MatchError(f"{path} does not hold a {kind}; give another file, or remove it.")
        if header == self._header:
            return
        was, now = _settings(header[kind]), _settings(self._header[kind])
        if was is None or now is None:
            raise MatchError(
                f"{path}: the settings of its {kind} cannot be read ({quote(header[kind])}); give another file, "
                "or remove it."
            )
        changed = [
            f"{key} was {quote(was.get(key))}, not {quote(now.get(key))}" for key in now if was.get(key) != now.get(key)
        ]
        raise MatchError(
            f"{path} holds a {kind} with other settings ({'; '.join(changed)}). The same command resumes it; "
            "for a new one give another file, or remove it."
        )


def _settings(text: str) -> dict[str, object] | None:
    try:
        found = parse_json(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
