"""How long a part has computed, by device, over all the processes that worked on it.

A part may be stopped and resumed, also on another machine. Its time is saved every few seconds, so that a process that
is killed loses at most those.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from tabia.core import files
from tabia.core.parsing import parse_json

TIME = "time.json"
_EVERY = 10.0  # seconds between two saves

Seconds = Mapping[str, float]
"""Seconds by device."""


class PartClock:
    """Counts the seconds of a part from now on, in addition to those that earlier processes saved in its folder."""

    def __init__(self, folder: Path, device: str) -> None:
        self._folder, self._device = folder, device
        self._before = _read(folder / TIME)
        self._started = self._saved = time.monotonic()

    @property
    def seconds(self) -> Seconds:
        """All seconds so far."""
        own = self._before.get(self._device, 0.0) + time.monotonic() - self._started
        return {**self._before, self._device: round(own, 3)}

    def tick(self) -> None:
        """Save the time if it was not saved for a while."""
        if time.monotonic() - self._saved > _EVERY:
            self.save()

    @contextmanager
    def saved_if_stopped(self) -> Iterator[None]:
        """Save the time if this block ends with an exception."""
        try:
            yield
        except BaseException:
            self.save()
            raise

    def remove(self) -> None:
        """Remove what was saved: the result of a finished part has its time."""
        (self._folder / TIME).unlink(missing_ok=True)

    def save(self) -> None:
        """Save the time, for the process that resumes the part."""
        self._saved = time.monotonic()
        files.write_atomic(self._folder / TIME, json.dumps(dict(self.seconds)).encode(), within=self._folder)


def _read(path: Path) -> Seconds:
    """What earlier processes saved; nothing if the file is missing or damaged, because only the report needs it."""
    try:
        found = parse_json(files.read_text(path, files.KILOBYTE))
        return {str(device): float(seconds) for device, seconds in found.items()}
    except (OSError, ValueError, TypeError, AttributeError):
        return {}
