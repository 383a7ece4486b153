"""What only a shared server shows, with answers that are rare: waits, refusals, absence, hostile names."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Screen
from .shared import Refusal, SharedServer

Look = Callable[..., Screen]
HOSTILE = "<img src=x onerror=alert(1)>"
ADA = {"name": "Ada", "elo": 1208.4, "error": 82.2}
BEN = {"name": "Ben", "elo": 1033.0, "error": 140.0}
CLOCK = {"initial_s": 300, "increment_s": 3}


def person(rank: int, name: str, rating: float) -> dict[str, Any]:
    known = {"deviation": 80.0, "error": 156.8, "provisional": False, "games": 9, "you": False}
    return {"rank": rank, "name": name, "rating": rating, **known}


def open_dialog(screen: Screen) -> None:
    screen.open("#/play?g=connect4").page.click(".sign-in-button")
    screen.page.fill("#sign-name", "Ada")
    screen.page.fill("#sign-password", "correct horse battery")


def test_a_refusal_is_shown_at_its_input_and_a_wait_in_words(look: Look) -> None:
    screen = look()
    shared = SharedServer(screen, role="stranger")
    shared.answers["POST login"] = Refusal(429, "Too many tries.", retry_after=1)
    shared.answers["POST account"] = Refusal(409, "This name is taken.", field="name")
    open_dialog(screen)
    screen.page.keyboard.press("Enter")
    screen.wait_until("Try again in 1 second", "dialog [type=submit]")
    assert screen.page.locator("dialog [role=alert]").inner_text() == "Too many tries."
    screen.page.click("dialog >> text=Create an account")
    screen.page.locator("dialog [type=submit]", has_text="Create account").click()  # after the wait
    screen.wait_until("This name is taken.", "#name-about")
    assert screen.page.get_attribute("#sign-name", "aria-invalid") == "true"
    assert screen.page.evaluate("document.activeElement.id") == "sign-name"
    assert shared.asked[-1] == ("POST", "account", {"name": "Ada", "password": "correct horse battery"})
    screen.page.keyboard.press("Escape")
    screen.page.click(".sign-in-button")
    assert screen.page.input_value("#sign-password") == "", "a password does not outlive its dialog"


def test_an_invitation_spares_the_wait_of_a_class(look: Look) -> None:
    screen = look()
    shared = SharedServer(screen, role="stranger")
    shared.answers["POST account"] = Refusal(429, "Too many attempts.", retry_after=3000)
    open_dialog(screen)
    screen.page.click("dialog >> text=Create an account")
    screen.page.click("dialog [type=submit]")
    screen.wait_until("With an invitation you need not wait.", "dialog [role=alert]")
    assert screen.page.is_disabled("dialog [type=submit]")
    screen.page.click("dialog >> text=I have an invitation")
    screen.page.fill("#sign-invite", "an-invitation")
    screen.page.click("dialog [type=submit]")
    screen.wait_until("Try again in", "dialog [type=submit]")
    assert shared.asked[-1][2]["invite"] == "an-invitation"


def test_a_first_move_that_is_refused_asks_to_sign_up_and_leaves_the_board(look: Look) -> None:
    screen = look()
    shared = SharedServer(screen, role="stranger")
    shared.answers["POST games"] = Refusal(401, "Sign in to play games.")
    screen.open("#/play?g=connect4").cell(38).click()
    screen.wait_until("Sign in to play games.", "dialog.sign-in")
    screen.page.wait_for_function("document.querySelector('tabia-board').pending === null")


def test_clocks_count_down_and_absence_is_shown(look: Look) -> None:
    screen = look(width=390, height=844)
    shared = SharedServer(screen)
    state = shared.game([ADA, BEN], moves="4 4 3", you=0, clock=CLOCK, clocks=[187_000, 9_000], running=1, rated=True)
    screen.open_game(state["id"])
    own, other = (screen.page.locator(f'.strip [data-seat="{seat}"]') for seat in (0, 1))
    assert own.locator(".clock").inner_text() == "3:07"
    assert "1208 ± 82" in own.inner_text() and "1033?" in other.inner_text()
    screen.page.wait_for_function(
        "() => parseFloat(document.querySelector('.strip .running').innerText.slice(2)) < 8.8"
    )
    shared.show(state | {"version": 2, "presence": [True, False], "away_ms": [None, 42_000]})
    screen.wait_until("away, loses in 42 s", ".strip")
    assert screen.page.locator(".main-actions button").all_inner_texts() == ["Offer a draw", "Resign"]
    assert screen.page.evaluate("document.documentElement.scrollWidth <= innerWidth")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_names_are_text_and_axe_finds_nothing(look: Look, theme: str) -> None:
    screen = look(color_scheme=theme)
    shared = SharedServer(screen, name=HOSTILE)
    shared.answers["GET ratings"] = {"game": "connect4", "people": [person(1, HOSTILE, 900.0)], "agents": []}
    shared.answers["GET games"] = {"games": []}
    shared.answers["GET games/join"] = {"game": "connect4", "by": HOSTILE, "clock": CLOCK, "rated": True, "seat": 1}
    for kind in ("sessions", "tokens", "bots"):
        shared.answers[f"GET account/{kind}"] = {kind: []}
    state = shared.game([ADA, {**BEN, "name": HOSTILE}], moves="4 4 3", clock=CLOCK, clocks=[9_000, 9_000], running=1)
    places = {
        "#/play?g=connect4": ".rated-card",
        f"#/play/{state['id']}": ".play.fair .clock >> visible=true",
        "#/play?join=abc": ".join .facts",
        "#/leaderboard": ".leaderboard",
        "#/account": ".account",
    }
    found = {}
    for place, selector in places.items():
        screen.open(place)
        screen.page.locator(selector).first.wait_for()
        assert screen.page.get_by_text(HOSTILE).count() >= 1
        if problems := screen.violations():
            found[place] = problems
    assert not found, found
    assert screen.page.locator("img[src=x]").count() == 0


def test_only_operators_start_and_stop_runs(look: Look) -> None:
    run = {"name": "a-run", "game": "tictactoe", "recipe": "tictactoe", "state": "stopped", "iteration": 3}
    detail = {**run, "settings": {}, "series": {}, "checkpoints": [], "strength": []}
    for role, allowed in (("member", 0), ("operator", 1)):
        screen = look()
        shared = SharedServer(screen, role=role)
        shared.answers |= {"GET runs": {"runs": [run]}, "GET runs/a-run": detail}
        screen.open("#/learn").page.wait_for_selector(".run-list")
        assert screen.page.locator("form.card").count() == allowed
        screen.open("#/learn/a-run").wait_until("a-run")
        assert screen.page.locator("text=Resume").count() == allowed


def test_the_numbers_of_the_page_are_those_of_the_api(look: Look) -> None:
    """A rating is rounded once, halves up; a clock never shows more than there is."""
    screen = look()
    SharedServer(screen)
    screen.open()
    draw = random.Random(0)
    rated = [(draw.uniform(-200, 2800), draw.uniform(30, 350)) for _ in range(300)] + [(1499.5, 110.0), (-0.5, 110.5)]
    shown = screen.page.evaluate(
        "async list => { const { personRating } = await import('/assets/words.js');"
        " return list.map(([rating, deviation]) => personRating({ rating, deviation })); }",
        rated,
    )

    def whole(number: float) -> int:
        return math.floor(number + 0.5)

    expected = [f"{whole(r)}?" if d > 110 else f"{whole(r)} ± {whole(d)}" for r, d in rated]
    assert shown == expected
    left = [draw.uniform(0, 4_000_000) for _ in range(300)] + [draw.uniform(0, 12_000) for _ in range(100)]
    clocks = screen.page.evaluate(
        "async list => { const { clockText } = await import('/assets/words.js'); return list.map(clockText); }", left
    )
    for ms, text in zip(left, clocks, strict=True):
        read = sum(float(part) * 60**power for power, part in enumerate(reversed(text.split(":"))))
        assert 0 <= ms / 1000 - read < (0.1 + 1e-9 if ms < 10_000 else 1)
