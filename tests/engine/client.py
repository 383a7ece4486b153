"""A program that uses an engine: it runs the engine in a thread, sends lines and waits for answers."""

from __future__ import annotations

import io
import os
import queue
import threading
import time
from collections.abc import Callable
from typing import TextIO

from tabia.engine import Console, GtpEngine, UciEngine

Engine = GtpEngine | UciEngine
SECONDS = 120.0  # far more than any answer takes, for loaded machines


class _Sink(io.StringIO):
    """Lines that the engine writes."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: queue.Queue[str] = queue.Queue()

    def write(self, text: str) -> int:
        for line in text.removesuffix("\n").split("\n"):
            self.lines.put(line)
        return len(text)


class Client:
    """The other side of a console; leaving the block ends the engine's input."""

    def __init__(self, make: Callable[[Console], Engine]) -> None:
        reading, writing = os.pipe()
        self._source, self._input = os.fdopen(reading, "rb"), os.fdopen(writing, "wb", buffering=0)
        self._sink = _Sink()
        sink: TextIO = self._sink
        self.engine = make(Console(self._source, sink))
        self._thread = threading.Thread(target=self.engine.run, daemon=True)
        self._thread.start()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *error: object) -> None:
        if not self._input.closed:
            self._input.close()
        self._thread.join(SECONDS)
        assert not self._thread.is_alive(), "the end of the input must end the engine"
        self._source.close()

    def send(self, *lines: str) -> None:
        self._input.write("".join(f"{line}\n" for line in lines).encode())

    def line(self) -> str:
        return self._sink.lines.get(timeout=SECONDS)

    def until(self, start: str) -> list[str]:
        """The lines up to the first that begins with `start`."""
        found = [self.line()]
        while not found[-1].startswith(start):
            found.append(self.line())
        return found

    def ask(self, command: str) -> str:
        """The response to a command of GTP."""
        self.send(command)
        lines = [self.line()]
        while lines[-1]:
            lines.append(self.line())
        return "\n".join(lines).strip()

    def is_silent(self, seconds: float) -> bool:
        time.sleep(seconds)
        return self._sink.lines.empty()


def transcript(make: Callable[[Console], Engine], commands: bytes) -> str:
    """Everything that an engine answers to a file of commands."""
    sink = io.StringIO()
    make(Console(io.BytesIO(commands), sink)).run()
    return sink.getvalue()
