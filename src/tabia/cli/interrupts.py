"""How the command exits: on Ctrl-C and SIGTERM at any moment, and after a command has ended.

Python runs a signal handler in the main thread and only between two bytecodes, so one long compiled program delays it
for as long as it runs, and an exception it raises is lost where a callback swallows it. Here nothing is raised: the
C-level handler writes the signal's number to a pipe at once, and a thread that reads the pipe ends the process. It
lets the command save its work (`on_interrupt`), prints one line and exits with 128 plus the number.

Every exit is an `os._exit` after flushing: an interpreter that finalizes while a compiled program still runs in
another thread crashes.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import NoReturn

SECONDS = 1.2  # to save before the process exits; a command that needs longer says so
_AGAIN = 0.8  # seconds left after a second signal
_SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_SHOW_CURSOR, _CLEAR_LINE = b"\x1b[?25h", b"\r\x1b[K"

Save = Callable[[int], str | None]
"""Saves what a command has done, given the signal's number, in a thread of its own while the command still runs.

It returns the sentence to print after "tabia: interrupted.", or None if the command now ends by itself.
"""


@dataclass(frozen=True)
class _Registered:
    save: Save
    seconds: float
    too_late: Callable[[], str]  # the sentence to print if saving took too long


_registered: list[_Registered] = []
_leaving = threading.Lock()  # taken by the thread that ends the process, and never released
_received: list[int] = []  # numbers of signals
_ends_by_itself = threading.Event()  # the command does, after a signal


def install() -> None:
    """Handle SIGINT and SIGTERM from now on; a signal that the parent process ignores stays ignored."""
    numbers = [number for number in _SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]
    if all(signal.getsignal(number) is _handler for number in numbers):
        return
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    threading.Thread(target=_watch, args=(reading,), daemon=True, name="signals").start()
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, _handler)


def _handler(number: int, frame: FrameType | None) -> None:
    """Hardly anything: its presence makes the C-level handler write to the pipe instead of ending the process."""
    _received.append(number)


def installed() -> bool:
    """Whether this process handles its signals here."""
    return signal.getsignal(signal.SIGTERM) is _handler


@contextmanager
def on_interrupt(save: Save, *, seconds: float = SECONDS, too_late: Callable[[], str] = lambda: "") -> Iterator[None]:
    """Call `save` if a signal arrives in this block, and exit after so many seconds even if it has not returned."""
    entry = _Registered(save, seconds, too_late)
    _registered.append(entry)
    try:
        yield
    finally:
        _registered.remove(entry)


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command and end the process with its status."""
    try:
        command()
        status = 0
    except SystemExit as stop:
        status = _status(stop)
    except BaseException:  # a bug: with its traceback, as Python itself would report it
        sys.excepthook(*sys.exc_info())
        status = 1
    leave(status)


def _status(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def leave(status: int) -> NoReturn:
    """Flush the output and end the process; where a signal came first, that decides how."""
    if _received:
        _ends_by_itself.wait()
    _take_leave()
    _exit(status)


def _take_leave() -> None:
    """Return in one thread only; any other waits here for the end."""
    _leaving.acquire()


def _exit(status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # whoever read it has gone
            status = status or 1
    os._exit(status)


def _watch(pipe: int) -> None:
    """Wait for a signal, let the command save, and end the process in time."""
    number = _next(pipe)
    assert number is not None
    entries = tuple(reversed(_registered))
    saving = threading.Thread(target=_save, args=(number, entries), daemon=True, name="saving")
    saving.start()
    if _next(pipe, max([SECONDS, *(entry.seconds for entry in entries)])) is not None:
        saving.join(_AGAIN)
    # In a thread of its own, because it may wait for a lock that a stuck thread holds.
    last = threading.Thread(target=_give_up, args=(number, entries), daemon=True, name="giving up")
    last.start()
    last.join(_AGAIN)
    os._exit(128 + number)


def _next(pipe: int, seconds: float | None = None) -> int | None:
    """The number of the next signal, or None if none comes in time."""
    while select.select([pipe], [], [], seconds)[0]:
        number = os.read(pipe, 1)[0]
        if number in _SIGNALS:
            return number
    return None


def _save(number: int, entries: tuple[_Registered, ...]) -> None:
    sentences = []
    for entry in entries:
        try:
            sentence = entry.save(number)
        except Exception as error:
            sentence = f"Not saved: {error}"
        if sentence is None:
            _ends_by_itself.set()
            return
        sentences.append(sentence)
    _report_and_exit(number, sentences)


def _give_up(number: int, entries: tuple[_Registered, ...]) -> None:
    _report_and_exit(number, [entry.too_late() for entry in entries])


def _report_and_exit(number: int, sentences: list[str]) -> NoReturn:
    _take_leave()
    _write(line(128 + number, *sentences))
    _exit(128 + number)


def line(status: int, *sentences: str) -> str:
    """What is printed on an exit with this status.

    >>> line(143, "3 games are saved.")
    'tabia: terminated. 3 games are saved.'
    """
    said = [f"tabia: {_SIGNALS[signal.Signals(status - 128)]}.", *sentences]
    return " ".join(" ".join(said).split())


def _write(text: str) -> None:
    """Print one line, in place of a half-drawn one, and give a terminal its cursor back."""
    # Straight to the descriptor: the main thread may hold the lock of sys.stderr.
    clear = _CLEAR_LINE + _SHOW_CURSOR if os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb" else b""
    try:
        os.write(2, clear + text.encode(errors="replace") + b"\n")
    except OSError:
        return
