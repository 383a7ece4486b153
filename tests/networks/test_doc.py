"""The pages on networks are true: Python answers what the reference shows, and the picture is the one Tabia draws."""

from __future__ import annotations

import doctest
from pathlib import Path

from tabia.networks import Network
from tabia.networks.picture import draw
from tabia.networks.presets import tower

DOCS = Path(__file__).parents[2] / "docs"


def test_the_session_runs() -> None:
    page = (DOCS / "reference" / "networks.md").read_text(encoding="utf-8")
    test = doctest.DocTestParser().get_doctest(page, {}, "networks.md", "docs/reference/networks.md", 0)
    assert test.examples
    runner = doctest.DocTestRunner()
    runner.run(test)
    assert runner.failures == 0


def test_the_picture_is_up_to_date() -> None:
    network = Network(tower(64, 5, value="wdl"), (6, 7, 2), 7, 2)
    assert (DOCS / "images" / "network.svg").read_text(encoding="utf-8") == draw(network)
