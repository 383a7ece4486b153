"""Reviewing and explaining in the browser; the numbers are those of the analysis."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs

import pytest

from .conftest import Screen, Server

Look = Callable[..., Screen]
GAME = "a1 b2 c3 c1 a3 a2 b3"  # X wins with the third row after O failed to see it


def finished(server: Server) -> str:
    """A finished game: X has three in a row."""
    made = server.game("tictactoe", (None, None), " ".join(GAME.split()[:-1]))
    state = server.get(f"games/{made}")
    action = next(entry["action"] for entry in state["position"]["legal"] if entry["move"] == "b3")
    server.post(f"games/{made}/moves", {"ply": state["position"]["ply"], "action": action})
    return made


def at(screen: Screen) -> str:
    return str(screen.page.inner_text(".review .status .soft"))


def test_a_finished_game_is_listed_stepped_and_varied(look: Look, server: Server) -> None:
    played = finished(server)
    screen = look().open("#/review")
    screen.page.select_option("#game", "tictactoe")
    screen.page.click(f'a[href="#/review/{played}"]')
    screen.wait_until("Move 7 of 7", ".review .status")
    for key, text in (("Home", "Move 0"), ("ArrowRight", "Move 1"), ("End", "Move 7"), ("ArrowLeft", "Move 6")):
        screen.page.keyboard.press(key)
        screen.wait_until(f"{text} of 7", ".review .status")
    screen.page.fill('input[type="range"]', "2")
    screen.wait_until("Move 2 of 7", ".review .status")
    screen.page.wait_for_selector('[aria-label="column b, row 1, empty, plays b1"]')
    screen.page.click('[aria-label="column b, row 1, empty, plays b1"]')
    screen.wait_until("Variation", ".review .line")
    screen.page.keyboard.press("ArrowUp")
    screen.wait_until("Move 3 of 7", ".review .status")
    screen.page.keyboard.press("ArrowDown")
    screen.wait_until("Variation", ".review .line")
    screen.page.click("text=Back to the game")
    screen.wait_until("Move 2 of 7", ".review .status")


def test_mistakes_are_listed_and_the_better_line_is_shown(look: Look, server: Server) -> None:
    screen = look().open(f"#/review/{finished(server)}")
    screen.page.wait_for_selector(".moments li", timeout=90_000)
    assert 1 <= screen.page.locator(".moments li").count() <= 3
    assert screen.page.locator(".flaw-dot").count() == screen.page.locator(".moments li").count()
    screen.page.keyboard.press("Home")
    screen.page.keyboard.press("b")
    ply = int(at(screen).split()[1])
    screen.page.locator(".moments .step").first.click()
    screen.wait_until("Variation", ".review .line")
    assert int(at(screen).split()[1]) == ply + 1


@pytest.mark.parametrize(
    ("game", "moves"),
    [
        ("tictactoe", "a1 b2 c3"),
        pytest.param("connect4", "4 4 3", marks=pytest.mark.long),
        pytest.param("othello", "f5 d6 c3", marks=pytest.mark.long),
        pytest.param("chinese-checkers", "b1-d4 f1-f3 g6-e2", marks=pytest.mark.long),
    ],
)
def test_numbers_on_the_page_are_those_of_the_analysis(look: Look, server: Server, game: str, moves: str) -> None:
    screen = look().open(f"#/review?g={game}&m={moves}")
    found = server.get(f"analyze?game={game}&moves={moves.replace(' ', '+')}")
    expected = round(50 * (found["expected"][0] + 1))
    first = next(entry["seat_names"][0] for entry in server.get("catalog")["games"] if entry["id"] == game)
    screen.wait_until(f"Expected score {expected}% for {first}", ".review")
    label = screen.page.get_attribute(".score-graph", "aria-label")
    assert label == f"Expected score over the game: {expected}% after move 3"
    screen.page.keyboard.press("v")
    total = sum(found["visits"].values())
    likely = {move: visits for move, visits in found["visits"].items() if visits >= 0.1 * total}
    shown = dict(text.split() for text in screen.page.locator(".candidates li").all_inner_texts())
    assert likely.items() and all(shown[move] == f"{round(100 * n / total)}%" for move, n in list(likely.items())[:8])
    assert screen.page.locator(".hint-disc text").count() == screen.page.locator(".hint-disc:not(.faint)").count()


def test_exact_results_are_behind_a_switch(look: Look, server: Server) -> None:
    screen = look().open("#/review?g=tictactoe&m=a1 b2")
    screen.page.wait_for_selector('.chip:text-is("Search")')
    assert screen.page.locator('.chip:text-is("Exact")').count() == 0
    screen.page.click("text=Reveal exact results")
    found = server.get("analyze?game=tictactoe&moves=a1+b2&exact=1")["exact"]["outcome"]
    screen.page.wait_for_selector(".hint-disc.draw, .hint-disc.win", timeout=60_000)
    assert screen.page.locator(".hint-disc.loss").count() == sum(value == "loss" for value in found.values())


def test_share_link_import_export_and_play_on(look: Look, server: Server) -> None:
    screen = look(permissions=["clipboard-read", "clipboard-write"]).open(f"#/review/{finished(server)}")
    screen.page.click("text=Share")
    screen.wait_until("copied", ".review .line")
    link = screen.page.evaluate("navigator.clipboard.readText()")
    other = look()
    other.page.goto(link)
    other.wait_until("Move 7 of 7", ".review .status")
    with screen.page.expect_download() as download:
        screen.page.click("text=Save")
    text = download.value.path().read_text()
    other.open("#/review")
    other.page.fill("textarea", text)
    other.page.click('button:text-is("Open")')
    other.wait_until("Move 7 of 7", ".review .status")
    other.page.keyboard.press("Home")
    other.page.keyboard.press("ArrowRight")
    other.wait_until("Move 1 of 7", ".review .status")
    other.page.click("text=Play on from here")
    other.page.wait_for_selector('.play[data-ply="1"]')
    assert [move["move"] for move in other.state["moves"]] == ["a1"]


def test_a_text_that_is_no_game_gets_a_sentence(look: Look) -> None:
    screen = look().open("#/review")
    screen.page.fill("textarea", "xyzzy")
    screen.page.click('button:text-is("Open")')
    screen.page.wait_for_selector('[role="alert"]')
    assert "xyzzy" in screen.page.inner_text('[role="alert"]')


def test_explain_shows_network_search_and_truth(look: Look, server: Server) -> None:
    screen = look().open("#/explain?g=tictactoe&m=a1 b2")
    screen.page.wait_for_selector(".tree .node", timeout=90_000)
    visits = total(screen)
    assert visits == total_of(server, 64)
    screen.wait_until("After 64 simulations: the share of each move.", ".way-card")
    screen.page.fill('input[aria-label="Simulations"]', "3")
    wanted = total_of(server, 8)
    until = time.monotonic() + 120
    while total(screen) != wanted:
        assert time.monotonic() < until
        screen.page.wait_for_timeout(50)
    screen.page.click("text=Reveal the exact results")
    screen.page.wait_for_selector(".hint-disc.draw, .hint-disc.loss")
    assert screen.page.locator(".planes figure").count() >= 2
    screen.page.locator("tabia-board [data-cell]").nth(1).click()
    screen.wait_until("3 moves", ".explain .status")
    screen.page.keyboard.press("u")
    screen.wait_until("2 moves", ".explain .status")


def test_the_search_tree_fits_a_phone(look: Look) -> None:
    screen = look(width=360, height=640, has_touch=True).open("#/explain?g=tictactoe&m=a1 b2")
    screen.page.wait_for_selector(".tree ul ul .node", timeout=90_000)
    screen.page.click(".tree ul ul summary >> nth=0")  # three levels
    wide = "tree => [tree.scrollWidth - tree.clientWidth, tree.getBoundingClientRect().right - innerWidth]"
    too_wide, beyond = screen.page.eval_on_selector(".tree", wide)
    assert too_wide <= 0 and beyond < 0


def roots(screen: Screen) -> Any:
    return screen.page.locator(".tree > ul > li > details > summary .node, .tree > ul > li > .leaf .node")


def total(screen: Screen) -> int:
    texts = [roots(screen).nth(index).locator(".number").first.text_content() for index in range(roots(screen).count())]
    return sum(int("".join(filter(str.isdigit, text))) for text in texts)


def total_of(server: Server, simulations: int) -> int:
    found = server.get(f"explain?game=tictactoe&moves=a1+b2&simulations={simulations}")
    return sum(node["visits"] for node in found["tree"]["children"])


def test_the_example_of_moves_is_of_the_game_and_opens(look: Look) -> None:
    screen = look()
    for game in ("tictactoe", "connect4", "chinese-checkers"):
        screen.open(f"#/play?g={game}").open("#/review")
        screen.page.wait_for_selector('textarea:not([placeholder=""])')
        moves = str(screen.page.get_attribute("textarea", "placeholder"))
        screen.page.fill("textarea", moves)
        screen.page.click("text=Open")
        screen.wait_until("Move 2 of 2", ".review .status")
        assert parse_qs(screen.page.url.partition("?")[2]) == {"g": [game], "m": [moves]}
