"""A real server and a real browser for the tests of the page: `tabia play` and Chromium, driven by Playwright."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright import sync_api as playwright

from tests.server.running import free_port

BROWSERS = ("chromium-headless-shell", "chromium", "chromium-browser")  # the first takes a quarter of the time
CHROMIUM = next(filter(None, map(shutil.which, BROWSERS)), None)
ROOT = Path(__file__).parents[3]
GAMES = ("tictactoe", "connect4", "othello", "chinese-checkers", "checkers", str(ROOT / "examples" / "nim.py") + ":Nim")
SECONDS = 120.0  # far more than anything takes, for busy machines


class Server:
    """`tabia play` as a process; it can be killed and started again with the same data."""

    def __init__(self, folder: Path, games: tuple[str, ...] = GAMES) -> None:
        self.folder, self.port, self.games = folder, free_port(), games
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def command(self) -> list[str]:
        return ["play", *self.games, "--no-browser"]

    def start(self) -> None:
        options = ["--port", str(self.port), "--data", str(self.folder / "data"), "--runs", str(self.folder / "runs")]
        log = (self.folder / "log.txt").open("ab")
        command = [sys.executable, "-m", "tabia", *self.command(), *options]
        self.process = subprocess.Popen(command, stdout=log, stderr=log, env=os.environ | {"JAX_PLATFORMS": "cpu"})
        log.close()
        until = time.monotonic() + SECONDS
        while time.monotonic() < until:
            if self.process.poll() is not None:
                raise AssertionError(f"The server stopped: {(self.folder / 'log.txt').read_text()}")
            try:
                self.get("catalog")
                return
            except OSError:
                time.sleep(0.1)
        raise AssertionError("The server did not answer.")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(60)
        except subprocess.TimeoutExpired:
            self.kill()

    def get(self, path: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/api/v1/{path}", timeout=SECONDS) as answer:
            return json.load(answer)

    def post(self, path: str, body: dict[str, Any]) -> Any:
        headers = {"content-type": "application/json", "origin": self.url}
        request = urllib.request.Request(f"{self.url}/api/v1/{path}", json.dumps(body).encode(), headers, method="POST")
        with urllib.request.urlopen(request, timeout=SECONDS) as answer:
            return json.load(answer)

    @property
    def printed(self) -> str:
        """The address in the terminal, without that of the server."""
        found = re.search(rf"Tabia is at {self.url}/(\S*)", (self.folder / "log.txt").read_text())
        assert found is not None
        return found[1]

    def game(self, game: str, agents: tuple[str | None, ...], moves: str = "") -> str:
        """Start a game; None is a person. Returns its id."""
        seats = [{"kind": "human"} if agent is None else {"kind": "agent", "agent": agent} for agent in agents]
        return str(self.post("games", {"game": game, "seats": seats, "moves": moves})["id"])


class Screen:
    """A person in front of the page: opens addresses, plays moves by clicking cells, reads what is shown."""

    def __init__(self, page: Any, server: Server) -> None:
        self.page, self.server = page, server
        self.errors: list[str] = []
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda message: self.errors.append(message.text) if message.type == "error" else None)

    def open(self, place: str = "") -> Screen:
        """Open an address of the page and wait until a board or a list is there."""
        self.page.goto(f"{self.server.url}/{place}")
        self.page.wait_for_selector("main h1")
        return self

    def open_game(self, id: str) -> Screen:
        self.open(f"#/play/{id}")
        self.page.wait_for_selector(f'.play[data-game="{id}"]')
        return self

    @property
    def id(self) -> str:
        return str(self.page.get_attribute(".play", "data-game"))

    @property
    def title(self) -> str:
        return str(self.page.inner_text("main h1"))

    @property
    def state(self) -> dict[str, Any]:
        return dict(self.server.get(f"games/{self.id}"))

    def cell(self, number: int) -> Any:
        return self.page.locator(f'tabia-board [data-cell="{number}"]').first

    def play(self, move: str) -> None:
        """Play a legal move by its name as people do: click its cells, or press Pass."""
        position = self.state["position"]
        entry = next(entry for entry in position["legal"] if entry["move"] == move)
        if not entry["path"]:
            self.page.click(".board-choices button")
        elif len(entry["path"]) == 1:
            self.cell(entry["path"][0]).click()
        else:
            if self.cell(entry["path"][0]).get_attribute("aria-selected") != "true":
                self.cell(entry["path"][0]).click()
            self.cell(entry["path"][-1]).click()
            if self.page.locator(".board-choices button", has_text=move).count():
                self.page.locator(".board-choices button", has_text=move).click()
        self.page.wait_for_function("ply => +document.querySelector('.play').dataset.ply > ply", arg=position["ply"])

    def wait_for_turn(self) -> None:
        self.page.wait_for_selector('.play[data-status="your move"], .play[data-status="over"]', timeout=SECONDS * 1000)

    def violations(self) -> list[str]:
        """What axe finds wrong with what is shown."""
        from axe_playwright_python import sync_playwright as axe

        found = axe.Axe().run(self.page).response["violations"]
        return [f"{entry['id']}: {entry['nodes'][0]['html'][:200]}" for entry in found]

    def wait_until(self, text: str, selector: str = "main h1") -> None:
        """Wait until an element says this."""
        self.page.locator(selector, has_text=text).first.wait_for(timeout=SECONDS * 1000)


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    found = Server(tmp_path_factory.mktemp("server"))
    yield found
    found.stop()


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    if CHROMIUM is None:
        pytest.fail("The tests of the page need Chromium; install it with your system's package manager.")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def look(browser: Any, server: Server) -> Iterator[Callable[..., Screen]]:
    """Make screens: `look()` on a laptop, `look(width=360, height=640, has_touch=True)` on a phone."""
    contexts: list[Any] = []
    screens: list[Screen] = []

    def make(
        *, width: int = 1280, height: int = 720, at: Server = server, like: Screen | None = None, **options: Any
    ) -> Screen:
        if like is not None:
            context = like.page.context
        else:
            size = {"width": width, "height": height}
            context = browser.new_context(viewport=size, reduced_motion="reduce", service_workers="block", **options)
            context.set_default_timeout(1000 * SECONDS)
            contexts.append(context)
        screens.append(Screen(context.new_page(), at))
        return screens[-1]

    yield make
    for context in contexts:
        context.close()
    failures = [error for screen in screens for error in screen.errors if not expected(error)]
    assert not failures, failures


def expected(error: str) -> bool:
    """Refusals of the server and connections lost on purpose appear in the console too."""
    return "Failed to load resource" in error or "WebSocket" in error or "ERR_CONNECTION" in error
