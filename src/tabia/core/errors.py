"""The base classes of Tabia's errors and warnings, and suggestions for misspelled words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST_WORD = 200  # characters; comparing words takes quadratic time
_AS_CLOSE = 0.15  # difference in similarity, from 0 to 1, up to which another word may be meant


class TabiaError(Exception):
    """Anything Tabia refuses to do; the message is written for people and needs no traceback."""


class TabiaWarning(UserWarning):
    """Something the user should know; the message is written for people."""


def nearest(word: str, known: Iterable[str], *, count: int = 3) -> list[str]:
    """The known words closest to a misspelled one; none that is much further away than the first.

    >>> nearest("simulation", ["epsilon", "simulations", "transpositions"])
    ['simulations']
    """
    if len(word) > _LONGEST_WORD:
        return []
    close = difflib.get_close_matches(word, list(known), n=count, cutoff=0.5)
    ratios = [difflib.SequenceMatcher(None, found, word).ratio() for found in close]
    return [found for found, ratio in zip(close, ratios, strict=True) if ratio > ratios[0] - _AS_CLOSE]


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known words, or with all of them if none is near."""
    known = list(known)
    close = nearest(word, known)
    return f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(known)}."
