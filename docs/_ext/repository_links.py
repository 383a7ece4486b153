"""Links to files of the repository that are no pages of the site become plain text, so that none is broken."""

from __future__ import annotations

import re

from sphinx.application import Sphinx

# [text](../src/..., ../../benchmarks/README.md, ../examples/..., ../ARCHITECTURE.md ...)
OUTSIDE = re.compile(r"\[([^\]]*)\]\((?:\.\./)+(?:src|tests|examples|benchmarks|[A-Z]+\.md|LICENSE)[^)]*\)")


def flatten(app: Sphinx, name: str, source: list[str]) -> None:
    source[0] = OUTSIDE.sub(r"\1", source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    app.connect("source-read", flatten)
    return {"parallel_read_safe": True}
