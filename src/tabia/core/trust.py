"""Data files must not choose code to run.

A game or a player can be a class in a Python file, `file.py:Class`; making it runs that file. A player can be an
outside engine, `gtp:COMMAND`, `uci:COMMAND` or `gnubg`; making it runs that program. The command line and Python
callers may give such names. In a data file (a record, a run's configuration, a weights file) they are refused unless
the user has named the same Python file or the same command.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tabia.core.errors import TabiaError
from tabia.core.text import quote

_CODE = re.compile(r"(.*?\.pyw?)\s*(?:[:,@]|$)", re.IGNORECASE | re.DOTALL)
_ENGINE = re.compile(r"\s*((?:gtp|uci)\s*:[^,]*|gnubg\s*(?=[:,]|$))", re.IGNORECASE)


class UntrustedCode(TabiaError):
    """A data file names code that the user has not named."""


def names_code(name: str) -> bool:
    """Whether a game's id or a player's spec names a Python file or an outside program.

    >>> names_code("nim.py:Nim"), names_code("connect4"), names_code("az:runs/pyramid"), names_code("gtp:gnugo")
    (True, False, False, True)
    """
    return _code(name) is not None


def check_data(name: str, *, source: str, fix: str, named: Iterable[str] = ()) -> None:
    """Refuse a name in a data file that would run code, unless the user has `named` the same code.

    `fix` tells a user who trusts the file what to type.
    """
    if names_code(name) and _code(name) not in set(map(_code, named)):
        kind = "an outside program" if _ENGINE.match(name) else "Python code"
        raise UntrustedCode(
            f"{source} names {quote(name)}, and loading that would run {kind}. If you trust this file, "
            f"name it yourself: {fix}"
        )


def _code(name: str) -> str | None:
    """The Python file or the command that a name would run."""
    found = _ENGINE.match(name) or _CODE.match(name)
    return None if found is None else found[1].strip()
