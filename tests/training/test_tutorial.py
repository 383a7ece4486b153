"""The Python tutorial and the observer of the export page run and print what they show."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("matplotlib")

DOCS = Path(__file__).parents[2] / "docs"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def run(page: str, names: dict[str, Any]) -> None:
    """Run a page's blocks in one session: those with prompts are compared with what they print."""
    blocks = BLOCK.findall((DOCS / page).read_text(encoding="utf-8"))
    assert blocks
    for number, block in enumerate(blocks, start=1):
        where = f"{page}, block {number}"
        if block.startswith(">>>"):
            test = doctest.DocTestParser().get_doctest(block, names, where, page, 0)
            output: list[str] = []
            doctest.DocTestRunner().run(test, out=output.append, clear_globs=False)
            assert not output, "".join(output)
            names.update(test.globs)
        else:
            exec(compile(block, where, "exec"), names)


def test_the_pages_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In one session, so that the second page reuses the programs that the first has compiled."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": "tutorial"}
    run("tutorials/python.md", names)
    assert (tmp_path / "training.png").stat().st_size > 10_000
    config = names["config"]
    monkeypatch.setattr("tabia.training.config.recipes.Recipe.config", lambda recipe, game=None: config)
    run("how-to/export.md", {"__name__": "export"})
