"""Names of accounts: 2 to 24 letters, digits, `_` and `-`, unique whatever their case."""

from __future__ import annotations

import re
import unicodedata

from tabia.server.errors import Refused

SHORTEST, LONGEST = 2, 24
_NAME = re.compile(r"[\w-]+")
_TAKEN = frozenset({"admin", "deleted", "guest", "moderator", "nobody", "operator", "root", "server", "tabia", "you"})


def check(name: str) -> str:
    """A name as it is shown.

    >>> check("Zoë-2")
    'Zoë-2'
    """
    name = unicodedata.normalize("NFKC", name)
    if not SHORTEST <= len(name) <= LONGEST or _NAME.fullmatch(name) is None:
        raise Refused(f"A name has {SHORTEST} to {LONGEST} letters, digits, _ or -.", field="name")
    if key(name) in _TAKEN:
        raise Refused("This name is reserved; choose another.", field="name")
    return name


def key(name: str) -> str:
    """What two names have in common if only one of them may exist.

    >>> key("ADA") == key("ada") and key("straße") == key("STRASSE")
    True
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    return folded[:80]
