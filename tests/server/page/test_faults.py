"""A plain Python game whose rules raise in one line, in the browser and in the terminal."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.server.faulty import RAISES, RULES

from .conftest import Screen, Server

RANDOM = "classical:random"


@pytest.fixture
def faulty(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "rare.py").write_text(RULES, encoding="utf-8")
    found = Server(tmp_path, (f"{tmp_path / 'rare.py'}:Dom",))
    yield found
    found.stop()


def test_rules_that_fail_are_an_error_on_the_page_and_one_line_in_the_terminal(
    look: Callable[..., Screen], faulty: Server
) -> None:
    game = faulty.games[0]
    place = f"{game.removesuffix(':Dom')}, class Dom"
    raised = f"raised ValueError at line {RAISES} (oops), after moves"
    screen = look(at=faulty).open_game(faulty.game(game, (None, None), "7 3"))
    for _ in range(2):
        screen.page.click('.drawing-moves button:text-is("5")')
        screen.wait_until(f"{place}: apply(5) {raised} 7 3.", ".center .line.bad")
    assert not screen.violations()
    screen.page.click('.drawing-moves button:text-is("6")')
    screen.page.wait_for_selector('.play[data-ply="3"]')
    assert screen.page.locator(".center .line.bad").count() == 0

    screen.open_game(faulty.game(game, (RANDOM, None), "7"))
    screen.page.click('.drawing-moves button:text-is("4")')
    screen.wait_until("Random cannot move")
    screen.wait_until(f"{raised} 7 4.", ".center .line.bad")
    screen.page.keyboard.press("u")
    screen.wait_until("Your move")
    assert screen.page.locator(".center .line.bad").count() == 0
    screen.page.keyboard.press("n")
    screen.page.wait_for_selector('.play[data-status="ready"]')

    printed = (faulty.folder / "log.txt").read_text().splitlines()
    assert printed[0].startswith("Tabia is at ")
    # The search that warms up at the start may be the first to meet the mistake.
    assert len(printed) == 2
    assert re.fullmatch(rf"{re.escape(place)}: apply\(\d+\) {re.escape(raised)} 7 [34]\.", printed[1])
