"""The page for everybody: axe on every view in both themes, names of cells, the offline shell."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Screen, Server

Look = Callable[..., Screen]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(look: Look, server: Server, theme: str) -> None:
    screen = look(color_scheme=theme)
    won = server.game("connect4", (None, None), "1 2 1 2 1 2")
    action = server.get(f"games/{won}")["position"]["legal"][0]["action"]
    server.post(f"games/{won}/moves", {"ply": 6, "action": action})
    places = {
        "#/play?g=connect4": "svg.board",
        f"#/play/{won}": ".win-ring",
        f"#/play/{server.game('chinese-checkers', (None, None, None))}": "svg.board",
        f"#/play/{server.game('checkers', (None, None))}": "svg.board",
        "#/review": ".game-list, .empty",
        f"#/review/{won}": ".moments, .score-graph",
        "#/learn": ".run-list, .empty",
        "#/explain?g=tictactoe&m=a1 b2": ".tree",
    }
    found = {}
    for place, selector in places.items():
        screen.open(place)
        screen.page.wait_for_selector(selector, timeout=90_000)
        if problems := screen.violations():
            found[place] = problems
    assert not found, found


def test_cells_have_names_and_moves_are_spoken(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("connect4", (None, None), "4 4"))
    cells = screen.page.locator('[role="gridcell"]')
    assert cells.count() == 42
    assert screen.page.locator('[role="gridcell"][tabindex="0"]').count() == 1
    assert screen.page.locator('[aria-label^="column 4, row 2, yellow, last move"]').count() == 1
    screen.page.keyboard.press("3")
    screen.wait_until("3", "#announcer")


def test_one_person_at_this_computer_sees_nothing_of_accounts(look: Look, server: Server) -> None:
    screen = look()
    asked: list[str] = []
    screen.page.on("request", lambda request: asked.append(request.url))
    for place in ("#/play?g=connect4", "#/leaderboard", "#/account", "#/people/ada", "#/play?join=abc"):
        screen.open(place).page.wait_for_selector("svg.board")
        assert screen.page.locator(".places a").all_inner_texts() == ["Play", "Review", "Learn", "Explain"]
        assert screen.page.locator("tabia-reader, tabia-sign-in, .rated-card, .friend-card").count() == 0
    paths = {url.split("/api/v1/")[1].split("?")[0] for url in asked if "/api/v1/" in url}
    assert paths <= {"catalog", "position"}, paths


def test_nothing_comes_from_elsewhere(look: Look, server: Server) -> None:
    screen = look()
    asked: list[str] = []
    screen.page.on("request", lambda request: asked.append(request.url))
    for place in ("#/play", "#/review", "#/learn", "#/explain"):
        screen.open(place)
    assert asked and all(url.startswith((server.url, "data:")) for url in asked)


def test_the_shell_opens_without_a_server(browser: Any, server: Server) -> None:
    context = browser.new_context()
    page = context.new_page()
    page.goto(server.url)
    page.wait_for_selector("svg.board")
    page.evaluate("navigator.serviceWorker.ready.then(() => true)")
    page.wait_for_function("() => caches.open('tabia-shell').then(c => c.keys()).then(k => k.length > 30)")
    context.set_offline(True)
    page.reload()
    page.locator("text=The server does not answer").wait_for()
    assert page.locator(".wordmark").is_visible()
    context.close()
