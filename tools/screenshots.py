"""Pictures of every view of the page, laptop and phone, light and dark: `python tools/screenshots.py OUT [--url URL]`.

Needs a running `tabia play` (by default at port 8765), Playwright and Chromium. Makes games by the server's own API, so
the pictures show real positions and real analyses.
"""

from __future__ import annotations

import argparse
import json
import shutil
import urllib.request
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

SIZES = {"laptop": (1280, 720), "phone": (360, 640)}
THEMES = ("light", "dark")
LOST = "4 4 3 2 5 6 3 3 4 5 5 3 2 2 5 5 6 6 6 6 4"  # Connect 4, red to move, about even
RANDOM = "classical:random"
BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")


class Server:
    """The running server."""

    def __init__(self, url: str) -> None:
        self.url = url.rstrip("/")

    def ask(self, path: str, body: dict[str, Any] | None = None) -> Any:
        headers = {"content-type": "application/json", "origin": self.url}
        content = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(f"{self.url}/api/v1/{path}", content, headers)) as answer:
            return json.load(answer)

    def game(self, game: str, *agents: str | None, moves: str = "") -> str:
        seats = [{"kind": "human"} if agent is None else {"kind": "agent", "agent": agent} for agent in agents]
        return str(self.ask("games", {"game": game, "seats": seats, "moves": moves})["id"])

    def move(self, id: str, move: str) -> None:
        position = self.ask(f"games/{id}")["position"]
        action = next(entry["action"] for entry in position["legal"] if entry["move"] == move)
        self.ask(f"games/{id}/moves", {"ply": position["ply"], "action": action})


def views(server: Server) -> dict[str, tuple[str, str, str]]:
    """The name of each picture with its address, what to wait for, and keys to press."""
    default = next(level["id"] for level in server.ask("catalog")["games"][0]["levels"] if level["default"])
    won = server.game("connect4", None, default, moves="1 2 1 2 1 2")
    server.move(won, "1")
    stars = server.game("chinese-checkers", None, RANDOM, RANDOM, moves="b1-d4 f1-f3 g6-e2 b2-d3 g2-g4 f6-f4")
    found = {
        "play": ("#/play?g=connect4", "svg.board", ""),
        "play-middle": (f"#/play/{server.game('connect4', None, default, moves=LOST[:23])}", "svg.board", ""),
        "play-won": (f"#/play/{won}", ".win-ring", ""),
        "play-three-seats": (f"#/play/{stars}", "svg.board", ""),
        "play-checkers": (f"#/play/{server.game('checkers', None, RANDOM)}", "svg.board", ""),
        "play-othello": (f"#/play/{server.game('othello', None, RANDOM, moves='f5 d6 c3 d3')}", "svg.board", ""),
        "review-list": ("#/review", ".game-list, .empty", ""),
        "review": (f"#/review?g=connect4&m={LOST.replace(' ', '')}&ply=12", ".moments li", "v"),
        "learn-list": ("#/learn", ".run-list, .empty", ""),
        "explain": ("#/explain?g=connect4&m=44325", ".tree", ""),
        "keys": ("#/play?g=connect4", "svg.board", "?"),
    }
    runs = [run["name"] for run in server.ask("runs")["runs"] if run["iteration"]]
    if runs:
        found["learn"] = (f"#/learn/{runs[0]}", ".u-over", "")
    if len(runs) > 1:
        found["learn-compare"] = (f"#/learn/compare?a={runs[0]}&b={runs[1]}", ".u-over", "")
    return found


def take(page: Page, url: str, place: tuple[str, str, str], path: Path) -> None:
    """One picture."""
    address, selector, keys = place
    page.goto("about:blank")  # a change of the hash alone would keep an open dialog
    page.goto(f"{url}/{address}")
    page.wait_for_selector(selector, timeout=120_000)
    page.wait_for_timeout(1500)
    if keys:
        page.keyboard.press(keys)
        page.wait_for_timeout(500)
    page.screenshot(path=path)


def main() -> None:
    """Take them all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=Path)
    parser.add_argument("--url", default="http://127.0.0.1:8765")
    parser.add_argument("--only", default="", help="pictures whose name contains this")
    options = parser.parse_args()
    server = Server(options.url)
    places = {name: place for name, place in views(server).items() if options.only in name}
    options.out.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as driver:
        browser = driver.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, BROWSERS)), None), args=["--no-sandbox"]
        )
        for size, (width, height) in SIZES.items():
            for theme in THEMES:
                viewport = {"width": width, "height": height}
                context = browser.new_context(viewport=viewport, color_scheme=theme, has_touch=size == "phone")  # type: ignore[arg-type]
                page = context.new_page()
                for name, place in places.items():
                    take(page, server.url, place, options.out / f"{name}-{size}-{theme}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main()
