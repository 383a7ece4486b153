"""Learning in the browser: a run is started, watched, played and stopped; a damaged one is listed with its problem."""

from __future__ import annotations

import json
import re
from collections.abc import Callable

from .conftest import Screen, Server

Look = Callable[..., Screen]


def test_a_run_is_started_watched_played_and_stopped(look: Look, server: Server) -> None:
    screen, refused = look(), list[str]()
    screen.page.on("response", lambda answer: refused.extend([answer.url] if answer.status == 404 else []))
    screen.open("#/learn").page.select_option("#game", "tictactoe")
    screen.wait_until("Tic-tac-toe", "form")
    minutes = screen.page.get_by_label("Minutes")
    for wrong in ("soon", "0", "10001"):
        minutes.fill(wrong)
        screen.page.click("text=Start learning")
        screen.wait_until("at most 10,000", "form .wrong")
    minutes.fill("30")
    screen.page.click("text=Start learning")
    screen.page.wait_for_selector(".run .state")
    name = screen.page.evaluate("location.hash.split('/')[2]")
    screen.page.wait_for_selector(".u-over", timeout=120_000)
    screen.page.wait_for_selector(".stats dd")
    assert not refused, "nothing is missing while the run starts"
    screen.page.click("text=Stop and save")
    screen.page.wait_for_selector('button:has-text("Resume"), .state.finished', timeout=90_000)
    screen.page.wait_for_selector('button:has-text("Play this version")')
    run = server.get(f"runs/{name}")
    assert run["state"] in ("stopped", "finished") and run["settings"]["minutes"] == 30
    screen.page.wait_for_selector("tabia-selfplay svg.board, tabia-selfplay p")
    for theme in ("light", "dark"):
        screen.page.emulate_media(color_scheme=theme)
        assert not screen.violations()
    screen.page.click("text=Play this version")
    screen.page.wait_for_selector('.play[data-status="your move"]')
    assert screen.state["seats"][1]["agent"].startswith(f"run:{name}@")
    screen.play("b2")
    screen.page.wait_for_selector('.play[data-ply="2"]', timeout=60_000)
    version = screen.state["seats"][1]["agent"]
    chosen = screen.page.locator(".level:has(:checked)")
    for _ in range(2):
        assert chosen.is_visible() and chosen.locator("input").get_attribute("value") == version
        screen.page.keyboard.press("n")
        screen.page.wait_for_selector('.play[data-status="ready"][data-ply="0"]')
        screen.cell(4).click()
        screen.page.wait_for_selector('.play[data-ply="2"]')
        assert screen.state["seats"][1]["agent"] == version, "also in the next game"
        screen.page.reload()
        screen.page.wait_for_selector(".level:has(:checked)")
    screen.open(f"#/learn/compare?a={name}&b={name}")
    screen.wait_until("differ only in chance", ".compare")
    assert screen.page.locator(".u-over").count() >= 1


def test_a_run_says_which_player_was_measured(look: Look, server: Server) -> None:
    for name, simulations, player in (
        ("alone", 0, "The network alone, without search"),
        ("searching", 32, "The network with 32 simulations per move"),
    ):
        folder = server.folder / "runs" / name
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "config.toml").write_text(
            f'game = "tictactoe"\n[search]\nsimulations = 16\n[evaluation]\nsimulations = {simulations}\n'
        )
        score = {"score": 0.79, "low": 0.66, "high": 0.88, "games": 40}
        match = dict.fromkeys(("random", "mcts:simulations=200", "minimax:depth=4", "mcts:c=2"), score)
        measured = {"agreement_network": 0.9, "agreement_search": 1.0, "matches": match}
        (folder / "metrics.jsonl").write_text(json.dumps({"iteration": 40, "seconds": 9.0, **measured}) + "\n")
        screen = look().open("#/learn")
        screen.page.select_option("#game", "connect4")
        screen.open(f"#/learn/{name}").wait_until("79%", ".strength")
        assert screen.page.input_value("#game") == "tictactoe", "the game of the run"
        assert f"{player}, at iteration 40." in screen.page.inner_text(".strength")
        opponents = screen.page.locator(".strength td:first-child").all_inner_texts()
        assert opponents == ["Random", "MCTS(200)", "Minimax(4)", "mcts:c=2"]
        screen.wait_until("against MCTS(200)", ".chart-card")
        screen.wait_until(f"{player}, in games that start", ".chart-card")
        screen.wait_until(f"a search of {simulations or 16} simulations", ".chart-card")
        assert "agrees with perfect play, with search" in screen.page.inner_text(".stats")
        screen.page.select_option("#game", "connect4")
        screen.wait_until("with search 100.0% agreement with perfect play", ".run-row")
    screen.open("#/learn/compare?a=alone&b=searching").wait_until("evaluation.simulations", ".compare table")
    chart = screen.page.locator(".chart-card", has_text="Score against opponents")
    markers = chart.locator(".u-series:not(.band-edge) .u-marker")
    lines = markers.evaluate_all("all => all.slice(1).map(marker => marker.style.background)")
    colors = [re.findall(r"rgb\([^)]*\)", line)[0] for line in lines]
    assert len(set(lines)) == 8, "a line for each opponent and run"
    assert len(set(colors[:4])) == len(set(colors[4:])) == 1 and colors[0] != colors[4], "a color for each run"


def test_a_damaged_run_is_listed_with_its_problem(look: Look, server: Server) -> None:
    folder = server.folder / "runs" / "damaged"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.toml").write_text("game = [")
    screen = look().open("#/learn")
    screen.wait_until("damaged", ".run-row .state")
    assert "config.toml" in screen.page.inner_text(".run-row .problem")
