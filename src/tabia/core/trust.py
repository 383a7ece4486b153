"""Data files must not choose Python code to run.

A game or a player can be a class in a Python file, `file.py:Class`; making it runs that file. The command line and
Python callers may give such names. In a data file (a record, a run's configuration, a weights file) they are refused
unless the user has named the same Python file.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from tabia.core.errors import TabiaError
from tabia.core.text import quote

_CODE = re.compile(r"(.*?\.pyw?)\s*(?:[:,@]|$)", re.IGNORECASE | re.DOTALL)


class UntrustedCode(TabiaError):
    """A data file names Python code that the user has not named."""


def names_code(name: str) -> bool:
    """Whether a game's id or a player's spec names a Python file.

    >>> names_code("nim.py:Nim"), names_code("connect4"), names_code("az:runs/pyramid")
    (True, False, False)
    """
    return _CODE.match(name) is not None


def check_data(name: str, *, source: str, fix: str, named: Iterable[str] = ()) -> None:
    """Refuse a name in a data file that would run code, unless the user has `named` the same Python file.

    `fix` tells a user who trusts the file what to type.
    """
    if names_code(name) and _file(name) not in set(map(_file, named)):
        raise UntrustedCode(
            f"{source} names {quote(name)}, and loading that would run Python code. If you trust this file, "
            f"name it yourself: {fix}"
        )


def _file(name: str) -> str | None:
    found = _CODE.match(name)
    return None if found is None else found[1]
