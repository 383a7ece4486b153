r"""Text from outside, made safe to print in terminals, error messages, Markdown and SVG.

A name, a move or a line of a file may contain anything. `printable` escapes what a terminal would interpret (escape
sequences, control characters, bidirectional overrides); the other functions build on it.

>>> printable("a\x1b[31mb")
'a\\x1b[31mb'
"""

from __future__ import annotations

import re
from xml.sax.saxutils import escape as _escape_xml

LONGEST_QUOTE = 80
"""The most characters of a text that an error message quotes."""

# C0 and C1 controls, DEL, soft line breaks, bidirectional controls, surrogates, noncharacters.
_UNSAFE = "\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufff9-\ufffb\ufffe\uffff"
_UNSAFE_CHARACTER = re.compile(f"[{_UNSAFE}]")
_UNSAFE_BUT_NEWLINE = re.compile(f"(?!\n)[{_UNSAFE}]")
_MARKDOWN = re.compile(r"[\\`*\[\]<>&|]")


def printable(text: str, *, lines: bool = False) -> str:
    """The text with unsafe characters escaped; `lines` keeps line breaks."""
    pattern = _UNSAFE_BUT_NEWLINE if lines else _UNSAFE_CHARACTER
    return pattern.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def is_printable(text: str) -> bool:
    """Whether a text contains no unsafe character."""
    return _UNSAFE_CHARACTER.search(text) is None


def shorten(text: str, limit: int = LONGEST_QUOTE) -> str:
    """At most `limit` characters of a text, with `...` where some are left out.

    >>> shorten("abcdefgh", 6)
    'abc...'
    """
    return text if len(text) <= limit else text[: max(limit - 3, 0)] + "..."


def quote(value: object, limit: int = LONGEST_QUOTE) -> str:
    r"""A value from outside for an error message: short, quoted if it is text, without control characters.

    >>> quote("a\nb"), quote(7)
    ("'a\\nb'", '7')
    """
    if isinstance(value, str):
        return printable(repr(shorten(value, limit)))
    if isinstance(value, int) and not isinstance(value, bool) and value.bit_length() > 256:
        return f"a number of {value.bit_length()} bits"  # Python refuses to print very long numbers
    try:
        return printable(shorten(repr(value), limit))
    except (ValueError, RecursionError):  # a huge number, or very deep nesting, somewhere inside
        return f"a {type(value).__name__}"


def plain(value: object, limit: int = LONGEST_QUOTE) -> str:
    """Like `quote`, without the quotes, for names in a sentence."""
    return printable(shorten(value, limit)) if isinstance(value, str) else quote(value, limit)


def xml(text: str) -> str:
    """The text as the content of an XML element or of a double-quoted attribute."""
    return _escape_xml(printable(text), {'"': "&quot;"})


def markdown(text: str) -> str:
    """The text escaped for Markdown, so that it shows literally."""
    return _MARKDOWN.sub(_as_markdown, printable(text))


def _as_markdown(found: re.Match[str]) -> str:
    return _escape_xml(found[0]) if found[0] in "<>&" else f"\\{found[0]}"


def markdown_code(text: str) -> str:
    """The text as a Markdown code span that also works inside a table."""
    return f"`{printable(text).replace('`', chr(39)) or ' '}`"


def markdown_block(text: str) -> str:
    """The text as a Markdown code block; the fence is longer than any in the text."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{printable(text, lines=True)}\n{fence}"
