"""Playing in the browser: whole games, every kind of input, and what happens when connections break."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from .conftest import ROOT, Screen, Server

Look = Callable[..., Screen]
RANDOM, PERFECT = "classical:random", "exact:perfect"
# Random games with a fixed seed (NumPy's default generator; 32 and 1), played with `tabia.games.session`.
OTHELLO = (
    "e6 f4 g3 d6 c4 d3 e2 b3 c6 d7 b5 f7 e8 d8 e7 b6 b7 f6 g8 g4 g5 b4 c7 a5 f5 g6 c3 c8 a4 e3 a2 c5 a6 a3 h6 c2 "
    "f2 a1 b8 h2 c1 h5 d2 a8 h4 b1 d1 h3 f3 h7 g7 h8 a7 f1 e1 g2 g1 h1 pass b2 pass f8"
)
CHECKERS = (
    "10-15 23-18 12-16 18-14 9x18 27-23 18x27 32x23 6-9 22-17 16-20 26-22 20x27 31x24 7-10 17-14 9x18 18x27 24-20 "
    "15-19 28-24 19x28 22-17 11-15 20-16 2-6 30-26 27-32 16-12 15-19 25-22 19-24 26-23 8-11 17-13 3-8 12x3 6-9 "
    "13x6 4-8 3x12 11-15 6-2 1-6 2x9 5x14 22-18 15x22 23-18 14x23 12-16 10-15 16-11 22-25 29x22 24-27 11x18 23-26 "
    "21-17 26-31 18-23 31-26 23x30 27-31 30-26 32-27 17-14 28-32 26-23 27x18 18x9 22-18 31-26 18-14 9x18"
)
# Every seat takes the move that brings a piece farthest; ties by chance, seed 0.
CHINESE_CHECKERS = (
    "b1-d4 f1-f3 g6-e2 b2-d3 g2-g4 f6-f4 c4-e4 e1-e3 e2-c2 d3-e2 f2-d5 f4-f2 c3-d2 g3-c3 g5-e1 e4-f4 g4-c6 f2-d1 "
    "e2-g4 d5-d6 e5-g3 f4-h1 c3-c4 e1-c1 c5-e1 e3-c7 g3-c3 e1-f2 g1-f1 f5-f4 d2-e1 f1-d2 g7-f6 e1-i1 f3-f5 f4-f3 "
    "g4-h2 c4-c5 f6-f4 a1-b1 d2-d3 f3-e2 b1-f3 d3-d5 f4-e3 f3-g3 f5-e5 e3-e1 d4-e3 pass e2-d2"
)


def test_one_click_starts_a_game_and_the_agent_answers(look: Look) -> None:
    screen = look().open("#/play?g=tictactoe")
    screen.wait_until("you are X · get three", ".status")
    assert screen.title == "Your move"
    screen.cell(4).click()
    screen.page.wait_for_selector('.play[data-ply="2"]')
    assert [move["seat"] for move in screen.state["moves"]] == [0, 1]
    assert screen.state["moves"][0]["move"] == "b2"
    assert "last move" in str(screen.page.get_attribute('[aria-label*="last move"]', "aria-label"))
    assert screen.page.locator(".last-cell").count() == 1 and screen.page.locator(".last").count() == 0


def test_connect4_won_then_rematch_with_sides_swapped(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("connect4", (None, RANDOM), "1 2 1 2 1 2"))
    screen.play("1")
    screen.wait_until("You won")
    assert screen.page.locator(".win").count() == 1
    assert "four" in screen.title or "4" in screen.title
    won = screen.id
    screen.page.click("text=Swap sides")
    screen.page.wait_for_function("id => document.querySelector('.play').dataset.game !== id", arg=won)
    screen.page.wait_for_selector('.play[data-ply="7"]')  # the agent may win with its first move
    assert [seat["kind"] for seat in screen.state["seats"]] == ["agent", "human"]
    assert len(screen.state["moves"]) == 7, "the same opening, then the agent's move"


def test_tictactoe_lost_to_a_double_threat(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("tictactoe", (PERFECT, None), "a1 b1 b2 c3 a3"))
    screen.play("a2")
    screen.wait_until("Perfect won")
    assert screen.state["result"]["winner"] == 0


def test_tictactoe_drawn_by_two_people_with_the_keyboard_only(look: Look, server: Server) -> None:
    screen = look().open("#/play?g=tictactoe")
    screen.page.click("text=Who plays, and from where")
    assert screen.page.locator(".level :checked").count() == 1 and "Medium" in screen.page.inner_text(".side.right")
    screen.page.click("text=Two people")
    screen.page.wait_for_selector(".level :checked", state="detached")
    screen.page.click('.level:has-text("Hard")')
    screen.page.wait_for_selector('.chip[aria-pressed="true"]:text-is("You and agents")')
    screen.page.click("text=Two people")
    screen.wait_until("Tic-tac-toe", ".side.right")
    assert not any(level in screen.page.inner_text(".side.right") for level in ("Medium", "Hard"))
    screen.page.focus("#main")
    for _ in range(20):
        screen.page.keyboard.press("Tab")
        if screen.page.evaluate("document.activeElement.getAttribute('role')") == "gridcell":
            break
    for move in ("b2", "a1", "c1", "a3", "a2", "c2", "b1", "b3", "c3"):
        column, row = "abc".index(move[0]), 3 - int(move[1])
        screen.page.keyboard.press("Home")
        for _ in range(3):
            screen.page.keyboard.press("ArrowUp")
        for key, times in (("ArrowDown", row), ("ArrowRight", column)):
            for _ in range(times):
                screen.page.keyboard.press(key)
        ply = int(str(screen.page.get_attribute(".play", "data-ply")))
        screen.page.keyboard.press("Enter")
        screen.page.wait_for_selector(f'.play[data-ply="{ply + 1}"]')
    screen.wait_until("Drawn")
    assert screen.page.locator(".level :checked").count() == 0, "nobody but the two people plays"
    assert "draw" in str(screen.page.inner_text("#announcer")).lower()


def test_othello_with_passes(look: Look, server: Server) -> None:
    moves = OTHELLO.split()
    screen = look().open_game(server.game("othello", (None, None), " ".join(moves[:57])))
    for move in moves[57:]:
        screen.play(move)
    screen.wait_until("won")
    assert screen.state["result"]["winner"] == 1
    assert [move["move"] for move in screen.state["moves"]] == moves


def test_checkers_with_a_jump_that_goes_on(look: Look, server: Server) -> None:
    moves = CHECKERS.split()
    screen = look().open_game(server.game("checkers", (None, None), " ".join(moves[:69])))
    screen.play(moves[69])
    assert screen.state["position"]["mover"] == 0
    assert screen.page.locator('[aria-selected="true"]').count() == 1, "the jumping piece stays chosen"
    for move in moves[70:]:
        screen.play(move)
    screen.wait_until("won")
    assert screen.state["result"]["winner"] == 0


def test_chinese_checkers_with_three_people_to_the_end(look: Look, server: Server) -> None:
    moves = CHINESE_CHECKERS.split()
    screen = look().open_game(server.game("chinese-checkers", (None, None, None), " ".join(moves[:46])))
    for move, corner in zip(moves[46:], ["c7", "c1", "i1"] * 2, strict=False):
        screen.wait_until(f"to the corner at {corner}", ".status")
        screen.play(move)
    screen.wait_until("won")
    assert screen.state["result"]["winner"] == 1


def test_chinese_checkers_against_two_agents_shows_the_way(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("chinese-checkers", (None, RANDOM, RANDOM)))
    names = screen.page.locator(".player b")
    assert names.all_inner_texts() == ["You", "Random (Yellow)", "Random (Green)"]
    assert names.evaluate_all("all => all.every(name => name.scrollWidth <= name.clientWidth)"), "no name is cut off"
    hop = next(entry for entry in screen.state["position"]["legal"] if entry["move"] == "b1-d4")
    screen.cell(hop["path"][0]).click()
    screen.cell(hop["path"][-1]).hover()
    assert screen.page.locator(".landing").count() == len(hop["path"]) - 1
    screen.cell(hop["path"][-1]).click()
    screen.page.wait_for_selector('.play[data-ply="3"]')
    assert [move["seat"] for move in screen.state["moves"]] == [0, 1, 2]


def test_a_piece_can_be_dragged(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("checkers", (None, None)))
    entry = next(entry for entry in screen.state["position"]["legal"] if entry["move"] == "10-15")
    start, end = (screen.cell(number).bounding_box() for number in (entry["path"][0], entry["path"][-1]))
    mouse = screen.page.mouse
    mouse.move(start["x"] + start["width"] / 2, start["y"] + start["height"] / 2)
    mouse.down()
    mouse.move(end["x"] + end["width"] / 2, end["y"] + end["height"] / 2, steps=5)
    mouse.up()
    screen.page.wait_for_selector('.play[data-ply="1"]')
    assert screen.state["moves"][0]["move"] == "10-15"


def colors(screen: Screen, theme: str) -> list[str]:
    """Background and text of a board that is text, then what the theme has for them."""
    screen.page.emulate_media(color_scheme=theme)
    screen.page.wait_for_selector(f'html[data-theme="{theme}"]')
    return screen.page.evaluate(
        """() => {
            const of = (element, name) => getComputedStyle(element)[name], card = document.querySelector(".card");
            const board = document.querySelector(".board.text"), line = board.querySelector("text");
            return [of(board, "backgroundColor"), of(line, "fill"), of(card, "backgroundColor"), of(card, "color")];
        }"""
    )


def test_an_own_game_is_played_with_buttons_and_text(look: Look, server: Server) -> None:
    game = next(entry["id"] for entry in server.get("catalog")["games"] if "nim.py" in entry["id"])
    assert str(ROOT) in game or "nim.py" in game
    screen = look().open_game(server.game(game, (None, None)))
    seen = {theme: colors(screen, theme) for theme in ("light", "dark")}
    assert all(background == surface and text == ink for background, text, surface, ink in seen.values())
    assert seen["light"] != seen["dark"] and not screen.violations()
    assert [icon.text_content().strip() for icon in screen.page.locator(".player .piece-icon").all()] == ["1", "2"]
    screen.page.click('.drawing-moves button:text-is("a3")')
    screen.page.wait_for_selector('.play[data-ply="1"]')
    screen.page.fill(".drawing-moves input", "b4")
    screen.page.keyboard.press("Enter")
    screen.page.wait_for_selector('.play[data-ply="2"]')
    screen.page.click('.drawing-moves button:text-is("c5")')
    screen.wait_until("won")


def test_undo_hint_level_and_resignation(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("tictactoe", (None, RANDOM)))
    screen.play("b2")
    screen.wait_for_turn()
    screen.page.keyboard.press("u")
    screen.page.wait_for_selector('.play[data-ply="0"]')
    screen.page.keyboard.press("h")
    screen.page.wait_for_selector(".board .hint", timeout=60_000)
    assert "Press Hint again" in screen.page.inner_text(".center .line")
    screen.page.keyboard.press("h")
    screen.wait_until(".", ".center .line")
    assert "Press Hint again" not in screen.page.inner_text(".center .line")
    screen.page.click('.level:has-text("Perfect")')
    screen.wait_until("Perfect", ".player")
    assert screen.state["seats"][1]["agent"] == PERFECT
    screen.page.click("text=Resign")
    screen.page.click("text=Really resign")
    screen.wait_until("resigned")
    assert screen.state["result"]["winner"] == 1
    screen.page.keyboard.press("e")
    screen.wait_until("Final score: You 0%", ".card")


def test_the_expected_score_says_what_it_waits_for(look: Look, server: Server) -> None:
    screen, held = look(), list[Any]()
    screen.page.route("**/api/v1/analyze?*", lambda request: held.extend([request]))
    screen.page.route_web_socket("**/live", lambda socket: None)  # the agent's moves are not heard of
    screen.open_game(server.game("tictactoe", (None, RANDOM)))

    def asked() -> Any:
        while not held:
            screen.page.wait_for_timeout(10)
        return held.pop()

    card = '.card:has-text("Show the expected score")'
    screen.page.click("text=Show the expected score")
    screen.wait_until("Computing", card)
    asked().fulfill(status=503, json={"detail": "No."})
    screen.wait_until("No estimate is available for this position.", card)
    screen.page.keyboard.press("e")
    screen.page.keyboard.press("e")
    screen.wait_until("Computing", card)
    asked().abort()
    screen.wait_until("No estimate is available for this position.", card)
    screen.cell(4).click()
    screen.page.wait_for_selector('.play[data-status="thinking"]')
    screen.wait_until("It appears at your next turn.", card)
    screen.page.reload()
    screen.page.wait_for_selector('.play[data-status="your move"]')
    screen.wait_until("Computing", card)
    asked().continue_()
    screen.page.locator(f"{card} .evalbar").wait_for()
    assert "%" in screen.page.inner_text(card)


def test_a_full_column_is_refused_with_the_reason(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("connect4", (None, None), "1 1 1 1 1 1"))
    screen.page.keyboard.press("1")
    screen.wait_until("Column 1 is full", ".center .line")
    assert len(screen.state["moves"]) == 6
    screen.page.keyboard.press("4")
    screen.page.wait_for_selector('.play[data-ply="7"]')


def test_reload_and_a_second_tab_show_the_same_game(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("tictactoe", (None, None)))
    screen.play("b2")
    screen.page.reload()
    screen.page.wait_for_selector('.play[data-ply="1"]')
    other = look(like=screen).open_game(screen.id)
    other.play("a1")
    screen.page.wait_for_selector('.play[data-ply="2"]')
    screen.page.goto(f"{server.url}/#/play")
    screen.page.wait_for_selector('.play[data-ply="2"]')


def test_the_game_of_the_command_line_opens_also_where_another_was_played(look: Look, server: Server) -> None:
    screen = look().open(server.printed)
    screen.page.wait_for_selector('[aria-label="Tic-tac-toe board"]')
    screen.cell(4).click()
    screen.page.wait_for_selector('.play[data-ply="2"]')
    tictactoe = screen.id
    screen.page.select_option("#game", "connect4")
    screen.page.wait_for_selector('[aria-label="Connect 4 board"]')
    screen.cell(3).click()
    screen.page.wait_for_selector('.play[data-ply="2"]')
    connect4 = screen.id

    again = look(like=screen).open()
    again.page.wait_for_selector(f'.play[data-game="{connect4}"]')  # the address alone remembers
    again = look(like=screen).open(server.printed)
    again.page.wait_for_selector(f'.play[data-game="{tictactoe}"]')
    assert again.page.input_value("#game") == "tictactoe"
    again.page.select_option("#game", "connect4")
    again.page.wait_for_selector(f'.play[data-game="{connect4}"]')


def test_a_board_that_is_set_up_late_does_not_call_the_reader_back(look: Look, server: Server) -> None:
    screen, held = look(), list[Any]()
    screen.page.route("**/api/v1/position?*", lambda request: held.extend([request]), times=1)
    screen.open("#/play?g=tictactoe")
    while not held:
        screen.page.wait_for_timeout(10)
    screen.page.evaluate("location.hash = '#/learn'")
    screen.page.wait_for_selector("tabia-learn h2")
    with screen.page.expect_response("**/api/v1/position?*") as answer:
        held[0].continue_()
    answer.value.finished()
    for _ in range(10):  # turns of the page's loop, in which it takes the answer
        screen.page.evaluate("new Promise(requestAnimationFrame)")
    assert screen.page.evaluate("location.hash") == "#/learn"


def test_a_failure_is_shown_until_there_is_something_else_to_say(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("tictactoe", (None, RANDOM)))
    failed = {"status": 500, "json": {"detail": "It failed."}}
    screen.page.route("**/moves", lambda request: request.fulfill(**failed), times=1)
    screen.cell(4).click()
    screen.wait_until("It failed.", ".center .line.bad")
    screen.page.keyboard.press("h")
    screen.wait_until("Look at", ".center .line")
    assert screen.page.locator(".center .line.bad").count() == 0
    screen.play("b2")
    screen.page.route("**/position?*", lambda request: request.fulfill(**failed), times=1)
    screen.page.keyboard.press("n")
    screen.wait_until("The board cannot be shown")
    assert screen.page.inner_text(".status .soft").strip() == "" == screen.page.inner_text(".main-actions").strip()


def test_a_lost_connection_is_made_again(look: Look, server: Server) -> None:
    screen, sockets, reachable = look(), list[Any](), True

    def connect(socket: Any) -> None:
        sockets.append(socket)
        if reachable:
            socket.connect_to_server()
        else:
            socket.close()

    screen.page.route_web_socket("**/live", connect)
    screen.open_game(server.game("tictactoe", (None, None)))
    screen.wait_for_turn()
    reachable = False
    sockets[0].close()
    screen.wait_until("Reconnecting", ".center .line.bad")
    server.post(f"games/{screen.id}/moves", {"ply": 0, "action": 4})  # meanwhile, on another screen
    reachable = True
    screen.page.wait_for_selector('.play[data-ply="1"]')
    screen.page.wait_for_selector(".center .line.blank")


@pytest.mark.long
def test_a_killed_server_continues_the_game(look: Look, tmp_path: Path) -> None:
    server = Server(tmp_path, games=("tictactoe",))
    try:
        screen = look(at=server).open_game(server.game("tictactoe", (None, RANDOM)))
        screen.play("b2")
        screen.wait_for_turn()
        server.kill()
        screen.wait_until("Reconnecting", ".center .line")
        server.start()
        screen.page.wait_for_selector(".center .line.blank")
        move = screen.state["position"]["legal"][0]["move"]
        screen.play(move)
        screen.wait_for_turn()
        assert screen.state["moves"][2]["move"] == move
    finally:
        server.stop()


def test_a_phone_needs_no_scrolling(look: Look, server: Server) -> None:
    screen = look(width=360, height=640, has_touch=True).open("#/play?g=connect4")
    screen.cell(3).tap()
    screen.page.wait_for_selector('.play[data-ply="2"]')
    wide = screen.page.evaluate("document.documentElement.scrollWidth")
    assert wide <= 360
    buttons = screen.page.locator(".main-actions button")
    boxes = [buttons.nth(index).bounding_box() for index in range(buttons.count())]
    top = screen.page.locator(".places").bounding_box()["y"]
    assert boxes and all(box["y"] + box["height"] <= top and box["height"] >= 44 for box in boxes)
    screen.page.click(".who")
    assert screen.page.locator(".side.sheet .level").first.is_visible()
    screen.page.keyboard.press("Escape")
    screen.page.wait_for_selector(".side.sheet", state="detached")


@pytest.mark.parametrize("game", ["tictactoe", "connect4", "othello", "chinese-checkers", "checkers"])
def test_a_laptop_shows_board_status_and_actions_at_once(look: Look, server: Server, game: str) -> None:
    seats = (None,) * (3 if game == "chinese-checkers" else 2)
    screen = look().open_game(server.game(game, seats))
    for selector in ("main h1", "svg.board", ".main-actions"):
        box = screen.page.locator(selector).first.bounding_box()
        assert box["y"] >= 0 and box["y"] + box["height"] <= 720, selector


PARTS = """async () => {
    const { render } = await import("/assets/vendor/lit/lit-html.js");
    const { scoreGraph } = await import("/assets/components/score-graph.js");
    const board = document.createElement("tabia-board"), graph = document.createElement("div");
    const legal = ["pass", "swap"].map((move, action) => ({ action, move, path: [] }));
    const cells = [{ x: 0.5, y: 0.5, label: "a1", row: 0, column: 0 }];
    Object.assign(board, { board: { width: 1, height: 1, style: "hex", cells }, interactive: true });
    document.body.append(board, graph);
    board.position = { pieces: [-1], legal, ply: 1, mover: 1 };
    await board.updateComplete;
    const counts = [1, 14, 15].map((known) => {
        const scores = Array.from({ length: 15 }, (_, ply) => (ply < known ? 0.5 : null));
        render(scoreGraph({ scores, plies: 14, current: 0, flaws: [], pick: () => {}, label: "" }), graph);
        return graph.querySelector("p")?.innerText ?? "";
    });
    return [[...board.querySelectorAll("button")].map((button) => button.innerText), counts];
}"""


def test_moves_without_a_cell_have_their_names_and_a_review_counts_moves(look: Look) -> None:
    names, counts = look().open("#/play?g=foo").page.evaluate(PARTS)
    assert names == ["Pass", "Swap"]
    assert counts == ["Looking at move 2 of 14 …", "Looking at move 14 of 14 …", ""]


def test_an_address_that_leads_nowhere_says_so(look: Look) -> None:
    screen = look()
    for place, text in {
        "#/play?g=foo": "There is no game foo here.",
        "#/nosuch": "There is no page nosuch here.",
        "#/explain?g=foo&m=4": "There is no game foo here.",
    }.items():
        screen.open(place).wait_until(text, ".line")


def test_space_presses_the_focused_button(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("connect4", (None, None), "4"))
    screen.page.focus('button:has-text("New game")')
    screen.page.keyboard.press("Space")
    screen.page.wait_for_selector('.play[data-status="ready"]')


def test_a_game_that_arrives_late_does_not_replace_a_new_one(look: Look, server: Server) -> None:
    screen, late = look(), server.game("connect4", (None, None), "4")
    waiting: list[Any] = []
    screen.page.route(f"**/api/v1/games/{late}", lambda request: waiting.extend([request]))
    screen.open(f"#/play/{late}")
    screen.page.keyboard.press("n")
    screen.page.wait_for_selector('.play[data-status="ready"][data-ply="0"]')
    assert waiting
    for request in waiting:
        request.continue_()
    screen.page.wait_for_load_state("networkidle")
    assert screen.page.get_attribute(".play", "data-status") == "ready"
    assert screen.id == ""


def test_letter_keys_can_be_switched_off(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("connect4", (None, None), "4"))
    screen.page.keyboard.press("?")
    assert screen.page.locator("dialog[open]").inner_text().count("Undo") == 1
    screen.page.click("dialog .check")
    screen.page.keyboard.press("Escape")
    screen.page.keyboard.press("1")
    screen.page.wait_for_timeout(200)
    assert len(screen.state["moves"]) == 1


def test_the_own_move_is_drawn_before_the_server_answers(look: Look, server: Server) -> None:
    screen, held = look().open_game(server.game("connect4", (None, None))), list[Any]()
    screen.page.route("**/api/v1/games/*/moves", lambda request: held.extend([request]))
    for ply in range(3):
        screen.cell(ply).click()
        screen.page.wait_for_function("ply => document.querySelectorAll('[data-piece]').length > ply", arg=ply)
        while not held:
            screen.page.wait_for_timeout(10)
        assert not screen.state["moves"][ply:]
        held.pop().continue_()
        screen.page.wait_for_selector(f'.play[data-ply="{ply + 1}"]')


@pytest.mark.long
def test_the_own_move_is_drawn_at_once(look: Look, server: Server) -> None:
    screen = look().open_game(server.game("connect4", (None, None)))
    times = []
    for ply in range(20):
        before = screen.page.locator("[data-piece]").count()
        screen.page.evaluate(
            """() => addEventListener("pointerup", () => {
                const start = performance.now(), seen = document.querySelectorAll("[data-piece]").length;
                const look = () => document.querySelectorAll("[data-piece]").length > seen
                    ? (window.drawn = performance.now() - start) : requestAnimationFrame(look);
                window.drawn = 0; look();
            }, { once: true, capture: true })"""
        )
        screen.cell(ply % 7).click()
        screen.page.wait_for_selector(f'.play[data-ply="{ply + 1}"]')
        assert screen.page.locator("[data-piece]").count() == before + 1
        times.append(screen.page.evaluate("() => window.drawn"))
    assert sorted(times)[18] < 50, times
