"""Inputs for fuzzing: arbitrary texts, texts from a grammar, and damaged valid texts."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

ODD = (
    "",
    "\0",
    "\n",
    "\r",
    "\x1b[31m",
    "\x9b",
    "\u202e",
    "\ufeff",
    "\U0001f3b2",
    "²",
    "٣",
    "$\\frac{$",
    "<b>",
    "](http://x)",
    "`",
    "|",
    "nan",
    "inf",
    "-0",
    "1e999",
    "-1",
    "0",
    "2147483648",
    "9" * 30,
    "9" * 6000,
    "x" * 5000,
    "[" * 500,
    "{" * 500,
    "../../x",
    "~nobody-of-this-name/x",
    "/dev/zero",
    "a.py:B",
    ".py:",
    "=",
    ",",
    ":",
    "@",
    "#",
    " ",
)
"""Texts that often break parsers."""


def pieces(*words: str) -> SearchStrategy[str]:
    """One of these words, or an odd text."""
    return st.one_of(st.sampled_from(words), st.sampled_from(words), st.sampled_from(ODD), st.text(max_size=8))


def numbers() -> SearchStrategy[str]:
    """Numbers of any size and notation."""
    whole = st.one_of(st.integers(-3, 40), st.integers(), st.integers(-(10**40), 10**40)).map(str)
    return st.one_of(whole, whole, st.floats().map(repr), st.sampled_from(ODD))


def joined(*parts: SearchStrategy[str], by: str = "") -> SearchStrategy[str]:
    """The parts joined to one text."""
    return st.tuples(*parts).map(by.join)


def damaged(valid: Sequence[bytes], most: int = 6) -> SearchStrategy[bytes]:
    """Valid contents with parts removed, inserted, repeated or changed."""
    edit = st.tuples(
        st.floats(0, 1),
        st.integers(0, 40),
        st.sampled_from(("cut", "insert", "repeat", "flip", "end")),
        st.one_of(st.sampled_from(ODD).map(lambda text: text.encode()), st.binary(max_size=12)),
    )
    return st.builds(_damage, st.sampled_from(valid), st.lists(edit, max_size=most))


def damaged_text(valid: Sequence[str], most: int = 6) -> SearchStrategy[str]:
    """Damaged valid texts."""
    return damaged([text.encode() for text in valid], most).map(lambda content: content.decode(errors="replace"))


def _damage(content: bytes, edits: Sequence[tuple[float, int, str, bytes]]) -> bytes:
    for where, length, how, piece in edits:
        at = int(where * len(content))
        before, chunk, after = content[:at], content[at : at + length], content[at + length :]
        match how:
            case "cut":
                content = before + after
            case "insert":
                content = before + piece + chunk + after
            case "repeat":
                content = before + chunk * 3 + after
            case "flip":
                content = before + bytes(byte ^ 1 << length % 8 for byte in chunk[:1]) + chunk[1:] + after
            case "end":
                content = before
    return content


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=6), st.sampled_from(ODD)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=6), inner, max_size=4)),
    max_leaves=8,
)
"""Any JSON value, including numbers that are not finite."""
