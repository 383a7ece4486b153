"""The terminal's echo of control characters, which a panel redrawn in place must do without.

The terminal writes `^C` at the end of the panel's last line, where it wraps, and the panel is redrawn one line too low.
"""

from __future__ import annotations

import os
import termios
from collections.abc import Callable
from typing import Any

_LOCAL_MODES = 3  # the place of the local modes among a terminal's attributes


def hide_control_echo(descriptor: int = 2) -> Callable[[], None]:
    """Stop a terminal from echoing control characters; calling what is returned makes it echo them again."""
    try:
        shown = termios.tcgetattr(descriptor)
    except (termios.error, OSError):  # not a terminal
        return lambda: None
    hidden = [*shown]
    hidden[_LOCAL_MODES] = shown[_LOCAL_MODES] & ~termios.ECHOCTL
    _set(descriptor, hidden)
    return lambda: _set(descriptor, shown)


def _set(descriptor: int, attributes: list[Any]) -> None:
    try:
        if os.tcgetpgrp(descriptor) == os.getpgrp():  # a background process that changes a terminal is stopped
            termios.tcsetattr(descriptor, termios.TCSANOW, attributes)
    except (termios.error, OSError):  # the terminal has been closed
        return
