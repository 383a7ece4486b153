"""One server for all quick tests: small games, small batches, a page of one file."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tabia.server.web.app import create_app
from tabia.server.web.context import Context, make_context

from .databases import Postgres
from .shared import Shared

HOST = "testserver"


def make_page(folder: Path) -> Path:
    """A page of one file, so that tests do not depend on the real one."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "index.html").write_text("<!doctype html><title>Tabia</title>", encoding="utf-8")
    (folder / "app.js").write_text("export {};", encoding="utf-8")
    return folder


@pytest.fixture(scope="session")
def parts(tmp_path_factory: pytest.TempPathFactory) -> Context:
    folder = tmp_path_factory.mktemp("server")
    return make_context(("tictactoe",), data=folder / "data", runs=folder / "runs", sizes=(1, 4))


@pytest.fixture(scope="session")
def client(parts: Context, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    app = create_app(parts, hosts=(HOST,), page=make_page(tmp_path_factory.mktemp("page")))
    with TestClient(app) as found:
        yield found
    parts.worker.join()


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """A PostgreSQL server without fsync."""
    server = Postgres()
    yield server
    server.close()


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Path | str:
    """Where an empty database is: a directory, or the URL of a PostgreSQL database."""
    if request.param == "sqlite":
        return tmp_path / "database"
    return request.getfixturevalue("postgres").create()


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def shared_server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shared]:
    """A server for several people."""
    folder = tmp_path_factory.mktemp("shared")
    is_file = request.param == "sqlite"
    server = Shared(folder, folder / "data" if is_file else request.getfixturevalue("postgres").create())
    yield server
    server.close()


@pytest.fixture
def shared(shared_server: Shared) -> Shared:
    """A server for several people that nobody has visited yet."""
    shared_server.clean()
    return shared_server


@pytest.fixture
def game(client: TestClient) -> dict[str, Any]:
    """A game of two people."""
    return start(client)


def start(client: TestClient, game: str = "tictactoe", *agents: str | None, moves: str = "") -> dict[str, Any]:
    """A new game; None is a person, and two people are the default."""
    seats = [
        {"kind": "human"} if agent is None else {"kind": "agent", "agent": agent} for agent in agents or (None, None)
    ]
    found = client.post("/api/v1/games", json={"game": game, "seats": seats, "moves": moves})
    assert found.status_code == 201, found.text
    return found.json()


def play(client: TestClient, state: dict[str, Any], *moves: str) -> dict[str, Any]:
    """Play moves by name, as people."""
    for move in moves:
        action = next(entry["action"] for entry in state["position"]["legal"] if entry["move"] == move)
        answer = client.post(
            f"/api/v1/games/{state['id']}/moves", json={"ply": state["position"]["ply"], "action": action}
        )
        assert answer.status_code == 200, answer.text
        state = answer.json()
    return state


def wait(client: TestClient, id: str, *, seconds: float = 300.0) -> dict[str, Any]:
    """The game once no agent is thinking."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        state = client.get(f"/api/v1/games/{id}").json()
        if state["status"] != "thinking":
            return state
        time.sleep(0.02)
    raise AssertionError("The agent did not move.")
