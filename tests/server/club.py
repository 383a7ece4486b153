"""A shared server for tests, with a clock that tests move by hand, and the browsers of its people."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from starlette.testclient import TestClient

from tabia.server.accounts.accounts import AccountOptions
from tabia.server.clock import ManualClock
from tabia.server.web.answers import StateAnswer
from tabia.server.web.app import create_app
from tabia.server.web.context import make_context
from tests.server.conftest import HOST, make_page

ME, OPEN = {"kind": "human"}, {"kind": "open"}
AGENT = {"kind": "agent", "agent": "classical:random"}


class Person:
    """A browser with its own cookies; all browsers of a club share one event loop, as they share one server."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def get(self, path: str, **query: Any) -> Any:
        return self.client.get(f"/api/v1/{path}", params=query or None)

    def post(self, path: str, **body: Any) -> Any:
        return self.client.post(f"/api/v1/{path}", json=body)

    def state(self, path: str, status: int = 200, **body: Any) -> dict[str, Any]:
        """The state that a request is answered with, checked against its description."""
        answer = self.post(path, **body)
        assert answer.status_code == status, answer.text
        StateAnswer.model_validate(answer.json(), strict=True)
        return answer.json()

    def start(self, *seats: dict[str, Any], game: str = "tictactoe", **more: Any) -> dict[str, Any]:
        return self.state("games", 201, game=game, seats=list(seats), **more)

    def move(self, id: str, ply: int, action: int) -> Any:
        return self.post(f"games/{id}/moves", ply=ply, action=action)

    def see(self, id: str) -> dict[str, Any]:
        answer = self.get(f"games/{id}")
        assert answer.status_code == 200, answer.text
        return answer.json()

    def screen(self, id: str) -> Any:
        return self.client.websocket_connect(f"/api/v1/games/{id}/live")


class Club:
    """A shared server."""

    def __init__(self, folder: Path, **parts: Any) -> None:
        self.clock = ManualClock()
        self.parts = make_context(
            ("tictactoe",),
            data=folder / "data",
            runs=folder / "runs",
            sizes=(1, 4),
            people=AccountOptions(secure=False),
            clock=self.clock,
            **parts,
        )
        self.app = create_app(self.parts, hosts=(HOST,), page=make_page(folder / "page"))
        self.server = TestClient(self.app)

    @contextmanager
    def running(self) -> Iterator[Club]:
        with self.server:
            yield self
        self.parts.worker.join()

    def person(self) -> Person:
        browser = TestClient(self.app)
        browser.portal = self.server.portal
        return Person(browser)

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """Run something in the event loop of the server."""
        assert self.server.portal is not None
        return self.server.portal.call(function, *arguments)

    def advance(self, seconds: float) -> None:
        """Let time pass, and let the server look at its clocks."""
        self.clock.advance(seconds)
        self.call(self.parts.hub.games.tick)

    def restart(self) -> None:
        """Forget everything that is in memory, as a new process does."""
        for opened in self.parts.hub.games.memory.games.values():
            if opened.timer is not None:
                self.call(opened.timer.cancel)
        self.parts.hub.games.memory.games.clear()


def pair(club: Club, **more: Any) -> tuple[Person, Person, str]:
    """Two people in a game by link."""
    ann, ben = club.person(), club.person()
    state = ann.start(ME, OPEN, **more)
    ben.state("games/join", code=state["join"]["code"])
    return ann, ben, state["id"]


def lines(text: str) -> list[dict[str, Any]]:
    """The messages of a stream of JSON lines."""
    return [json.loads(line) for line in text.splitlines() if line.strip()]
