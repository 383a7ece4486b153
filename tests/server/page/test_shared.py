"""People on one server: accounts, rated games, the leaderboard, and two people by link in two browsers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from .conftest import Screen, Server

Look = Callable[..., Screen]
PASSWORD = "four stones in a row"


class Club(Server):
    """`tabia serve` with the two weakest agents of Connect 4."""

    def command(self) -> list[str]:
        return ["serve", "--games", "connect4", "--agents", "level:first-steps", "--agents", "level:learner"]


@pytest.fixture(scope="module")
def club(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Club]:
    found = Club(tmp_path_factory.mktemp("club"))
    yield found
    found.stop()


def ask(screen: Screen, path: str) -> Any:
    """What the API answers to the person at this screen; as fast as the tests are, it may ask to wait."""
    for _ in range(5):
        answer = screen.page.request.get(f"{screen.server.url}/api/v1/{path}")
        if answer.status != 429:
            break
        screen.page.wait_for_timeout(1000 * int(answer.headers["retry-after"]))
    assert answer.ok, answer.text()
    return answer.json()


def sign_up(screen: Screen, name: str) -> None:
    screen.page.click(".sign-in-button")
    screen.page.click("dialog >> text=Create an account")
    screen.page.fill("#sign-name", name)
    screen.page.fill("#sign-password", PASSWORD)
    screen.page.keyboard.press("Enter")
    screen.wait_until(name, ".reader")


def drop(screen: Screen, column: str) -> None:
    """Play a column with the keyboard and wait until the server has the move."""
    ply = int(str(screen.page.get_attribute(".play", "data-ply")))
    screen.page.keyboard.press(column)
    screen.page.wait_for_function("ply => +document.querySelector('.play').dataset.ply > ply", arg=ply)


def play_to_the_end(screen: Screen) -> dict[str, Any]:
    """Build towers of one's own stones, one after the other, until the game is over."""
    own = "1"
    while True:
        screen.wait_for_turn()
        if screen.page.get_attribute(".play", "data-status") == "over":
            return dict(ask(screen, f"games/{screen.id}"))
        moves = screen.page.locator(".moves .move").all_inner_texts()
        if moves and (moves[-1] == own or moves.count(own) == 6):
            own = min("1234567", key=moves.count)
        drop(screen, own)


def rating_at(screen: Screen, seat: int) -> str:
    return str(screen.page.locator(f'.players [data-seat="{seat}"] .rank').inner_text())


def test_sign_up_placement_new_rating_leaderboard_and_deletion(look: Look, club: Club) -> None:
    screen = look(at=club).open("#/play?g=connect4")
    sign_up(screen, "Ada")
    screen.wait_until("3 to 5 games", ".placement")
    screen.page.click("text=Play a rated game")
    screen.page.wait_for_selector(".play.fair")
    state = play_to_the_end(screen)
    (seat,) = state["you"]
    change = state["rating_change"][seat]
    screen.page.locator(f'.players [data-seat="{seat}"] .change').wait_for()
    assert rating_at(screen, seat).startswith(f"{change['after']}?"), "one game is not enough to be sure"
    shown = screen.page.locator(f'.players [data-seat="{seat}"] .change').inner_text()
    assert int(shown.removeprefix("Change:").replace("\N{MINUS SIGN}", "-")) == change["after"] - change["before"]
    (own,) = ask(screen, "ratings/me")["ratings"]
    assert round(own["rating"]) == change["after"] and own["placement"]["played"] == 1
    screen.wait_until("1 of 3 to 5 games", ".placement")

    screen.page.click(".main-actions >> text=Next rated game")
    screen.page.wait_for_selector('.play.fair[data-status="your move"]')
    second = ask(screen, f"games/{screen.id}")
    (seat,) = second["you"]
    assert rating_at(screen, seat) == f"{second['seats'][seat]['elo']}?" == f"{change['after']}?"
    screen.page.click(".main-actions >> text=Resign")
    screen.page.click("text=Really resign")
    screen.wait_until("You resigned")
    change = ask(screen, f"games/{screen.id}")["rating_change"][seat]

    screen.page.click("text=Leaderboard")
    row = screen.page.locator(".leaderboard tr.you")
    row.wait_for()
    assert row.locator("td").all_inner_texts()[1:3] == ["Ada you", f"{change['after']}?"]
    row.locator("a").click()
    screen.wait_until("Ada")
    assert screen.page.locator(".games tbody tr").count() == 2

    screen.open("#/account").page.click("text=Delete the account")
    screen.page.fill("#delete-password", PASSWORD)
    screen.page.click("text=Delete for good")
    screen.page.locator(".sign-in-button").wait_for()
    screen.wait_until("Your account is deleted", "main .note")
    assert ask(screen, "account")["role"] == "stranger"
    assert ask(screen, "ratings?game=connect4")["people"] == []


def test_two_people_by_link(look: Look, club: Club) -> None:
    ben, guest = look(at=club), look(at=club, width=390, height=844, has_touch=True)
    ben.open("#/play?g=connect4")
    sign_up(ben, "Ben")
    ben.page.click("text=Play a friend")
    ben.page.click(".friend-card >> text=3+2")
    ben.page.click(".friend-card >> text=First")
    ben.page.click("text=Make a link")
    ben.wait_until("Waiting for an opponent")
    link = ben.page.input_value(".invitation input")

    guest.open(link.removeprefix(f"{club.url}/"))
    guest.wait_until("Ben invites you to Connect 4")
    assert ask(guest, "account")["role"] == "stranger", "to look at a link changes nothing"
    guest.page.click("text=Join the game")
    guest.wait_until("Ben is to move")
    ben.wait_until("Your move")
    drop(ben, "4")
    guest.wait_until("Your move")
    guest.page.locator('tabia-board [data-cell="0"]').first.click()
    ben.wait_until("Your move")
    assert [move["move"] for move in ask(ben, f"games/{ben.id}")["moves"]] == ["4", "1"]
    assert guest.page.locator(".strip .clock").count() == 2

    ben.page.click("text=Offer a draw")
    guest.wait_until("Ben offers a draw", ".line")
    drop(ben, "4")
    guest.wait_until("Your move")
    guest.page.click(".main-actions >> text=Resign")
    guest.page.click("text=Really resign")
    ben.wait_until("You won")
    guest.wait_until("You resigned")
    ben.page.click("text=Offer a rematch")
    guest.page.click("text=Accept the rematch")
    guest.page.wait_for_selector('.play[data-status="your move"]')
    ben.wait_until("is to move")
    assert ben.id == guest.id, "one game for both, with sides changed"
    ben.open("#/review").page.click(".calls >> text=Go there")
    ben.page.wait_for_selector(f'.play[data-game="{guest.id}"]')
    ben.page.click(".reader")
    ben.page.click(".reader-panel >> text=Sign out")
    ben.page.wait_for_selector('.play[data-status="ready"]')  # the next one at this screen does not see the game
    assert ben.page.locator(".sign-in-button").count() == 1
