"""The base class of every error Tabia reports on purpose, and suggestions for misspelled words."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

_LONGEST_WORD = 200  # characters; comparing costs time quadratic in the length, and nobody misspells longer words


class TabiaError(Exception):
    """Anything Tabia refuses; its text is written for people and needs no traceback."""


def nearest(word: str, known: Iterable[str], *, count: int = 3) -> list[str]:
    """The known words that a misspelled word most likely meant.

    >>> nearest("conect4", ["connect4", "othello"])
    ['connect4']
    """
    if len(word) > _LONGEST_WORD:
        return []
    return difflib.get_close_matches(word, list(known), n=count, cutoff=0.5)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """A sentence naming the nearest known words, or all of them if none is near."""
    known = list(known)
    close = nearest(word, known)
    return f"Did you mean {' or '.join(close)}?" if close else f"Known: {', '.join(known)}."
