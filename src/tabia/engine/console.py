"""Lines of commands from a program, and lines of answers to it.

A thread reads the commands, so that a search can look between two pieces whether one has come.
"""

from __future__ import annotations

import queue
import threading
from typing import BinaryIO, TextIO

LONGEST_LINE = 65536
"""Characters of a command; the rest of a longer line is dropped."""
_MOST_WAITING = 10_000


class Console:
    """The connection to the program that uses the engine."""

    def __init__(self, source: BinaryIO, sink: TextIO) -> None:
        self._source, self._sink = source, sink
        self._lines: queue.Queue[str | None] = queue.Queue(_MOST_WAITING)
        self._next: list[str | None] = []  # read by `peek`
        self._ended = False
        threading.Thread(target=self._read, daemon=True, name="commands").start()

    def read(self) -> str | None:
        """The next line, waiting for it; None at the end of the input."""
        if self._ended:
            return None
        line = self._next.pop() if self._next else self._lines.get()
        self._ended = line is None
        return line

    @property
    def is_waiting(self) -> bool:
        """Whether a line, or the end of the input, has come that is not read yet."""
        return bool(self._next) or self._ended or not self._lines.empty()

    def peek(self) -> str | None:
        """The next line, waiting for it, which stays to be read."""
        if not self._next and not self._ended:
            self._next.append(self._lines.get())
        return self._next[0] if self._next else None

    def write(self, text: str) -> None:
        """Send a line; BrokenPipeError if the program is gone."""
        self._sink.write(text + "\n")
        self._sink.flush()

    def _read(self) -> None:
        while line := self._source.readline(LONGEST_LINE):
            rest = line
            while len(rest) == LONGEST_LINE and not rest.endswith(b"\n"):
                rest = self._source.readline(LONGEST_LINE)
            self._lines.put(line.decode("utf-8", errors="replace"))
        self._lines.put(None)
