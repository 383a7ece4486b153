"""Fail if a page of the built site loads anything from elsewhere: a script, a style sheet, a font or a picture.

Usage: `python docs/_ext/offline.py docs/_build`.
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path

LOADS = {"script": "src", "link": "href", "img": "src", "iframe": "src", "source": "src", "object": "data"}
REMOTE = re.compile(r"(?:https?:)?//")


class Loads(HTMLParser):
    """Collects the addresses that a browser loads by itself; links that a reader may follow are not among them."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found += [value for name, value in attrs if LOADS.get(tag) == name and value]


def remote(folder: Path) -> list[str]:
    """`file: address` for everything that the site would load from another host."""
    found = []
    for page in sorted(folder.rglob("*.html")):
        parser = Loads()
        parser.feed(page.read_text(encoding="utf-8"))
        found += [f"{page}: {address}" for address in parser.found if REMOTE.match(address)]
    for style in sorted(folder.rglob("*.css")):
        text = style.read_text(encoding="utf-8")
        addresses = re.findall(r"url\(\s*['\"]?([^'\")]+)", text) + re.findall(r"@import\s+['\"]([^'\"]+)", text)
        found += [f"{style}: {address}" for address in addresses if REMOTE.match(address)]
    return found


if __name__ == "__main__":
    problems = remote(Path(sys.argv[1]))
    sys.exit("\n".join(["The site must not load anything from another host:", *problems]) if problems else 0)
