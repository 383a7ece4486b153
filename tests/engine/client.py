"""A program that uses an engine: it runs the engine in a thread, sends lines and waits for answers."""

from __future__ import annotations

import io
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TextIO

import jax

from tabia.engine import Console, GtpEngine, UciEngine
from tabia.games.game import Game, State
from tabia.players import PlayerError
from tabia.players.player import Choice, Line, Reply

Engine = GtpEngine | UciEngine
SECONDS = 120.0  # far more than any answer takes, for loaded machines


@contextmanager
def compilations() -> Iterator[list[str]]:
    """The names of the programs that are compiled in this block, in any thread."""
    names: list[str] = []
    listening = [True]

    def listen(event: str, _: float, **about: str | int) -> None:
        if listening[0] and event.endswith("backend_compile_duration"):
            names.append(str(about.get("fun_name")))

    jax.monitoring.register_event_duration_secs_listener(listen)
    yield names
    listening[0] = False


class Broken:
    """A player that never has a move."""

    spec = "broken"

    def __init__(self, game: Game) -> None:
        self.game = game

    def choose(self, states: State, key: jax.Array, ply: jax.Array | None = None) -> Choice:
        raise PlayerError("broken has no move,\nas always.")


class Outside(Broken):
    """A player that needs the moves of a game, as an outside engine does."""

    spec = "outside"

    def follow(self, lines: Sequence[Line]) -> list[Reply]:
        raise AssertionError

    def difference(self, line: Line, seed: int) -> str:
        raise AssertionError


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
