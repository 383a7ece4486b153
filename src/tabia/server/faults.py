"""Mistakes in the rules of the operator's own games, met while they are played: logged once, shown in one sentence."""

from __future__ import annotations

import logging
import re

from tabia.core.text import printable
from tabia.games.errors import RulesError
from tabia.server.errors import sentence

HIDDEN = "The rules of this game failed here; the log of the server says why."
_log = logging.getLogger("tabia.server")
_LONGEST = 1000  # characters of a line
_POSITION = re.compile(r"\(\d+\)|, after moves [\d ]+\.?$|, at the start\.$")
_MOST = 1024  # mistakes that are remembered
_logged: set[str] = set()


def report(error: Exception, *, shared: bool = False) -> str:
    """The sentence about an error for a screen; a mistake in the rules is logged too, where it is first met.

    Its line names a file of the operator, so the screens of a shared server get a general sentence.
    """
    if not isinstance(error, RulesError):
        return sentence(error)
    line = printable(" ".join(str(error).split()))[:_LONGEST]
    _log_once(line)
    return HIDDEN if shared else line


def _log_once(line: str) -> None:
    """Log a mistake unless it has been logged, be it in another position: a search meets it again in every game."""
    mistake = _POSITION.sub("", line)
    if mistake in _logged:
        return
    if len(_logged) >= _MOST:
        _logged.clear()
    _logged.add(mistake)
    _log.error("%s", line)
