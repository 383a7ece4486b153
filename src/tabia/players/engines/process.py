"""The process of an outside engine: lines in, lines out, within limits of time, memory and output.

A process that breaks a limit is killed with its group; `lifetime.py` ends all with Tabia. What was said is kept for
reports.
"""

from __future__ import annotations

import os
import select
import shlex
import shutil
import subprocess
import time
from collections import deque
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tabia.core.text import plain, quote
from tabia.players.engines import lifetime
from tabia.players.spec import PlayerError

_GAMES = "/usr/games"  # Debian keeps engines here, outside of root's path
_LONGEST_LINE, _MOST_OUTPUT = 1 << 16, 1 << 23  # bytes per line, and per reply
_TRANSCRIPT, _PER_REPLY = 40, 15  # lines kept, and of them for one reply
_SHOWN = 200  # characters of a line in a report
_FAREWELL = 0.5  # seconds to end by itself


class EngineFault(Exception):
    """An engine broke its protocol or a limit; the text says how, in one line."""

    @property
    def sentence(self) -> str:
        """The text with the mark that ends it."""
        return str(self) if str(self).endswith("?") else f"{self}."


class EngineEnded(EngineFault):
    """The process of an engine ended."""


@dataclass(frozen=True)
class Command:
    """A program with its arguments, and the limits of its process."""

    words: tuple[str, ...]
    package: str = ""  # the Debian package of the program, if known
    memory: int = 4096  # megabytes of address space
    timeout: float = 60.0  # seconds for one reply

    @classmethod
    def parse(cls, text: str, **limits: int | float | str) -> Command:
        """The command of a text, split as a shell splits it; no shell runs it."""
        try:
            words = tuple(shlex.split(text))
        except ValueError as error:
            raise PlayerError(f"{quote(text)} is not a command: {error}.") from None
        if not words:
            raise PlayerError("An engine needs a command, as in gtp:gnugo --mode gtp.")
        return cls(words, **limits)  # type: ignore[arg-type]

    @property
    def program(self) -> str:
        """The name of the program, without directories."""
        return Path(self.words[0]).name

    def find(self) -> str:
        """The path of the program; PlayerError if there is none."""
        path = os.pathsep.join(filter(None, (os.environ.get("PATH", os.defpath), _GAMES)))
        found = shutil.which(self.words[0], path=path)
        if found is None:
            fix = f"apt install {self.package}" if self.package else "install it, or give the path of the program"
            raise PlayerError(f"There is no program {quote(self.words[0])}; {fix}.")
        return str(Path(found).absolute())


class EngineProcess:
    """A running engine."""

    def __init__(self, command: Command) -> None:
        self._command = command
        self._process = _start(command)
        self._unread, self._read, self._heard = b"", 0, 0
        self._transcript: deque[str] = deque(maxlen=_TRANSCRIPT)
        for stream in (self._process.stdout, self._process.stderr):
            assert stream is not None
            os.set_blocking(stream.fileno(), False)

    @property
    def transcript(self) -> tuple[str, ...]:
        """The last lines of the conversation: `>` to the engine, `<` from it, `!` its errors."""
        return tuple(self._transcript)

    @property
    def running(self) -> bool:
        """Whether the process has not ended."""
        return self._process.poll() is None

    def send(self, line: str) -> None:
        """Send one line."""
        self._heard = 0
        self._note(">", line)
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(f"{line}\n".encode())
            self._process.stdin.flush()
        except OSError:
            raise self._ended() from None

    def deadline(self, extra: float = 0.0) -> float:
        """The time by which a reply must be complete; starts counting its output."""
        self._read = 0
        return time.monotonic() + self._command.timeout + extra

    def line(self, deadline: float) -> str:
        """The next line; EngineFault after the deadline, or if there is no end of output."""
        while b"\n" not in self._unread:
            if len(self._unread) > _LONGEST_LINE or self._read > _MOST_OUTPUT:
                raise EngineFault(f"{self._command.program} writes without end: {self._read:,} bytes and no reply")
            self._receive(deadline)
        first, _, self._unread = self._unread.partition(b"\n")
        text = first.decode(errors="replace").rstrip()
        self._heard += 1
        if self._heard <= _PER_REPLY:
            self._note("<", text)
        return text

    def close(self) -> None:
        """End the process; it gets a moment to end by itself."""
        assert self._process.stdin is not None
        with suppress(OSError):  # it has ended
            self._process.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_FAREWELL)
        self.kill()

    def kill(self) -> None:
        """End the process and all processes that it started."""
        lifetime.end(self._process)
        for stream in (self._process.stdin, self._process.stdout, self._process.stderr):
            assert stream is not None
            with suppress(OSError):  # unsent input
                stream.close()

    def _receive(self, deadline: float) -> None:
        """Wait for output and take it."""
        out, errors = self._process.stdout, self._process.stderr
        assert out is not None and errors is not None
        ready, _, _ = select.select([out, errors], [], [], max(0.0, deadline - time.monotonic()))
        if errors in ready:
            self._take_errors(os.read(errors.fileno(), _LONGEST_LINE))
        if out in ready:
            chunk = os.read(out.fileno(), _LONGEST_LINE)
            if not chunk:
                raise self._ended()
            self._unread += chunk
            self._read += len(chunk)
        elif time.monotonic() >= deadline:
            raise EngineFault(f"{self._command.program} did not answer within {self._command.timeout:g} s")

    def _take_errors(self, chunk: bytes) -> None:
        for line in chunk.decode(errors="replace").splitlines()[-_PER_REPLY:]:
            self._note("!", line)
        if not chunk:
            time.sleep(0.001)  # closed while the engine goes on: `select` returns at once

    def _ended(self) -> EngineEnded:
        try:
            status = self._process.wait(_FAREWELL)
        except subprocess.TimeoutExpired:
            return EngineEnded(f"{self._command.program} closed its output")
        with suppress(OSError):  # nothing more to read: the reason often comes last
            assert self._process.stderr is not None
            self._take_errors(os.read(self._process.stderr.fileno(), _LONGEST_LINE))
        how = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
        last = [line for line in self._transcript if line.startswith("!") and line[2:].strip()][-1:]
        return EngineEnded(f"{self._command.program} {how}{f' ({last[0][2:]})' if last else ''}")

    def _note(self, mark: str, line: str) -> None:
        self._transcript.append(f"{mark} {plain(line[:_SHOWN])}")


def _start(command: Command) -> subprocess.Popen[bytes]:
    try:
        return lifetime.start([command.find(), *command.words[1:]], megabytes=command.memory)
    except OSError as error:
        raise PlayerError(f"{quote(command.words[0])} cannot be started: {error.strerror or error}.") from None
