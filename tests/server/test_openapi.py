"""The description of the API: complete, and true. Schemathesis asks every operation for what the description allows.

An answer must have a status, a type and a body as described, and never a status of 500.
"""

from __future__ import annotations

import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
import uvicorn
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as some

from tabia.server.accounts.accounts import AccountOptions
from tabia.server.catalog.catalog import Allowed
from tabia.server.launch import Server
from tabia.server.web.app import create_app
from tabia.server.web.context import make_context
from tabia.server.web.openapi import PATH, description
from tests.server.conftest import make_page
from tests.server.shared import CHEAP

ENDLESS = ("/api/v1/events", "/api/v1/games/{id}/stream", "/api/v1/runs/{name}/live")
"""Streams without an end; tests/server/test_events.py reads them."""


@dataclass(frozen=True)
class Running:
    """A shared server in a thread, its description, and somebody who has started a game there."""

    url: str
    described: dict[str, Any]
    cookie: str
    game: str


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("api")
    parts = make_context(
        ("tictactoe",),
        data=folder / "data",
        runs=folder / "runs",
        sizes=(1, 4),
        people=AccountOptions(secure=False, hashing=CHEAP),
        allowed=Allowed(shown=False, agents=("classical:random", "classical:mcts-100")),
    )
    app = create_app(parts, page=make_page(folder / "page"))
    server = Server(uvicorn.Config(app, log_level="error", access_log=False, ws="websockets-sansio"))
    listening = socket.create_server(("127.0.0.1", 0))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    port = listening.getsockname()[1]
    cookie, game = _guest(port)
    yield Running(f"http://127.0.0.1:{port}", description(app), cookie, game)
    server.should_exit = True
    thread.join()
    parts.worker.join()


def _guest(port: int) -> tuple[str, str]:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    body = json.dumps(
        {"game": "tictactoe", "seats": [{"kind": "human"}, {"kind": "agent", "agent": "classical:random"}]}
    )
    connection.request("POST", "/api/v1/games", body, {"content-type": "application/json"})
    answer = connection.getresponse()
    state = json.loads(answer.read())
    assert answer.status == 201, state
    cookie = answer.headers["set-cookie"].partition(";")[0]
    connection.close()
    return cookie, state["id"]


def test_every_route_of_the_api_is_described_with_its_answer(running: Running) -> None:
    paths = running.described["paths"]
    assert {"/healthz", "/readyz", "/api/v1/catalog", "/api/v1/games/{id}/moves"} <= set(paths)
    assert not any(path.startswith(("/assets", "/sw.js")) or path == "/" for path in paths)
    for path, operations in paths.items():
        for method, operation in operations.items():
            good = {status: found for status, found in operation["responses"].items() if status.startswith("2")}
            assert good, (method, path)
            for status, found in good.items():
                schemas = [content.get("schema") for content in found.get("content", {}).values()]
                assert (schemas and all(schemas)) or status == "204", (
                    f"{method} {path} answers something that is not described"
                )
            refused = operation["responses"]["4XX"]
            assert refused == {"$ref": "#/components/responses/Refused"}
    assert "HTTPValidationError" not in running.described["components"]["schemas"]


def test_the_description_is_served(running: Running) -> None:
    with_host = running.url.removeprefix("http://")
    connection = http.client.HTTPConnection(with_host, timeout=120)
    connection.request("GET", PATH)
    answer = connection.getresponse()
    assert answer.status == 200 and json.loads(answer.read()) == running.described
    connection.close()


def ask_everything(running: Running, examples: int) -> int:
    """Ask every operation for up to so many generated cases; returns how many were answered."""
    import schemathesis
    from schemathesis.checks import not_a_server_error
    from schemathesis.specs.openapi import checks

    conform = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_schema_conformance,
        checks.response_headers_conformance,
    ]
    schema, asked = schemathesis.openapi.from_dict(running.described), 0
    operations = [found.ok() for found in schema.get_all_operations()]
    for operation in operations:
        if operation.path in ENDLESS:
            continue

        @settings(
            max_examples=examples,
            deadline=None,
            derandomize=True,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(case=operation.as_strategy(), known=some.booleans())
        def check(case: Any, known: bool) -> None:
            nonlocal asked
            if known:
                _name_what_exists(case, running)
            headers = {"cookie": running.cookie}
            case.call_and_validate(base_url=running.url, headers=headers, checks=conform, timeout=120)
            asked += 1

        check()
    return asked


def _name_what_exists(case: Any, running: Running) -> None:
    """Use the game that exists, so that requests get past the first refusal."""
    known = {"id": running.game, "game": "tictactoe", "agent": "classical:random", "moves": ""}
    parts = [case.path_parameters, case.query, case.body if isinstance(case.body, dict) else None]
    for part in filter(None, parts):
        part.update({name: value for name, value in known.items() if name in part})


def test_answers_are_as_described(running: Running) -> None:
    assert ask_everything(running, examples=2) > 100


@pytest.mark.long
def test_answers_are_as_described_for_long(running: Running) -> None:
    assert ask_everything(running, examples=300) > 5000
