"""Process exit: on Ctrl-C and SIGTERM at any moment, and at the end of a command.

Python runs a signal handler in the main thread between two bytecodes, so a long compiled program delays it, and an
exception that it raises can be swallowed by a callback. Here nothing is raised: the C-level handler writes the number
of the signal to a pipe at once, and a thread that reads the pipe ends the process. It lets the command save its work
(`on_interrupt`), prints one line and exits with 128 plus the number.

Every exit is an `os._exit` after flushing, because an interpreter that finalizes while a compiled program runs in
another thread crashes. It ends the processes of outside engines first.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FrameType
from typing import Any, NoReturn

SECONDS = 1.2
"""The default time for saving before the process exits."""
_SECOND_SIGNAL = 0.8  # seconds left after a second signal
_SIGNALS = {signal.SIGINT: "interrupted", signal.SIGTERM: "terminated"}
_SHOW_CURSOR, _CLEAR_LINE = b"\x1b[?25h", b"\r\x1b[K"

Save = Callable[[int], str | None]
"""Saves the work of a command, given the number of the signal, in a separate thread while the command still runs.

It returns the sentence to print after "tabia: interrupted.", or None if the command will end by itself.
"""


@dataclass(frozen=True)
class _Registered:
    save: Save
    seconds: float
    too_late: Callable[[], str]  # the sentence to print if saving takes too long


_registered: list[_Registered] = []
_leaving = threading.Lock()  # held forever by the thread that ends the process
_received: list[int] = []  # signal numbers
_ends_by_itself = threading.Event()  # set if the command ends by itself after a signal


def install() -> None:
    """Start handling SIGINT and SIGTERM; a signal that the parent process ignores stays ignored."""
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
    """Note the signal; with a handler installed, the C-level handler writes to the pipe."""
    _received.append(number)


def installed() -> bool:
    """Whether this module handles the signals of this process."""
    return signal.getsignal(signal.SIGTERM) is _handler


@contextmanager
def on_interrupt(
    save: Save, *, seconds: float = SECONDS, too_late: Callable[[], str] = lambda: "", last: bool = False
) -> Iterator[None]:
    """Call `save` if a signal arrives in this block; exit after `seconds` even if it has not returned.

    Inner blocks save first; `last` is for what must end after all have saved.
    """
    entry = _Registered(save, seconds, too_late)
    _registered.insert(0 if last else len(_registered), entry)
    try:
        yield
    finally:
        _registered.remove(entry)


def run(command: Callable[[], object]) -> NoReturn:
    """Run a command and exit with its status."""
    try:
        command()
        status = 0
    except SystemExit as stop:
        status = _status(stop)
    except BaseException:  # a bug: print its traceback, as Python does
        sys.excepthook(*sys.exc_info())
        status = 1
    leave(status)


def _status(stop: SystemExit) -> int:
    if stop.code is None or isinstance(stop.code, int):
        return stop.code or 0
    print(stop.code, file=sys.stderr)
    return 1


def leave(status: int) -> NoReturn:
    """Flush the output and exit; after a signal, the signal decides how."""
    if _received:
        _ends_by_itself.wait()
    _take_leave()
    _exit(status)


def _take_leave() -> None:
    """Return in one thread only; all others block until the process ends."""
    _leaving.acquire()


def _exit(status: int) -> NoReturn:
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except (OSError, ValueError):  # the reader has closed it
            status = status or 1
    _end_engines()
    os._exit(status)


def _end_engines() -> None:
    """End the processes of outside engines, if this command may have started any."""
    engines = sys.modules.get("tabia.players.engines.lifetime")  # an import would take time, and may wait for a lock
    if engines is not None and hasattr(engines, "end_all"):  # it may be half imported
        engines.end_all()


def _watch(pipe: int) -> None:
    """Wait for a signal, let the command save, and exit in time."""
    number = _next(pipe)
    assert number is not None
    entries = tuple(reversed(_registered))
    saving = threading.Thread(target=_save, args=(number, entries), daemon=True, name="saving")
    saving.start()
    if _next(pipe, max([SECONDS, *(entry.seconds for entry in entries)])) is not None:
        saving.join(_SECOND_SIGNAL)
    # In a separate thread, because it may wait for a lock that a stuck thread holds.
    last = threading.Thread(target=_give_up, args=(number, entries), daemon=True, name="giving up")
    last.start()
    last.join(_SECOND_SIGNAL)
    _end_engines()
    os._exit(128 + number)


def _next(pipe: int, seconds: float | None = None) -> int | None:
    """The number of the next signal, or None after a timeout."""
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
    """The line printed on an exit with this status.

    >>> line(143, "3 games are saved.")
    'tabia: terminated. 3 games are saved.'
    """
    parts = [f"tabia: {_SIGNALS[signal.Signals(status - 128)]}.", *sentences]
    return " ".join(" ".join(parts).split())


def _write(text: str) -> None:
    """Print one line, clear a half-drawn one, and show the cursor of a terminal again."""
    # Written to the file descriptor, because the main thread may hold the lock of sys.stderr.
    clear = _CLEAR_LINE + _SHOW_CURSOR if os.isatty(2) and os.environ.get("TERM", "dumb") != "dumb" else b""
    try:
        os.write(2, clear + text.encode(errors="replace") + b"\n")
    except OSError:
        return


_LOCAL_MODES = 3  # the index of the local modes in the attributes of a terminal


def hide_control_echo(descriptor: int = 2) -> Callable[[], None]:
    """Stop a terminal from echoing control characters; the function returned restores the echo.

    An echoed `^C` would wrap the last line of a panel that is redrawn in place, and shift the panel by one line.
    """
    try:
        before = termios.tcgetattr(descriptor)
    except (termios.error, OSError):  # not a terminal
        return lambda: None
    hidden = [*before]
    hidden[_LOCAL_MODES] = before[_LOCAL_MODES] & ~termios.ECHOCTL
    _set_attributes(descriptor, hidden)
    return lambda: _set_attributes(descriptor, before)


def _set_attributes(descriptor: int, attributes: list[Any]) -> None:
    try:
        if os.tcgetpgrp(descriptor) == os.getpgrp():  # a background process that changes a terminal is stopped
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    except (termios.error, OSError):  # the terminal has been closed
        return
