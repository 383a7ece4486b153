"""Hostile requests, over every route there is: foreign websites, foreign names, and bodies of any kind."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from tabia.server.web.security import HEADERS, LARGEST_BODY, LARGEST_QUERY

FOREIGN: dict[str, dict[str, str]] = {
    "rebound name": {"host": "evil.example"},
    "rebound name with our port": {"host": "evil.example:8765"},
    "foreign origin": {"origin": "https://evil.example"},
    "another port of this computer": {"origin": "http://testserver:1234"},
    "opaque origin": {"origin": "null"},
    "cross-site": {"sec-fetch-site": "cross-site"},
    "same-site": {"sec-fetch-site": "same-site"},
    "cross-site script": {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "script"},
}
BODIES: dict[str, bytes] = {
    "empty": b"",
    "no JSON": b"\xff\xfe{",
    "null": b"null",
    "list": b"[]",
    "number": b"1e400",
    "text": b'"text"',
    "unknown field": b'{"ply": 0, "action": 0, "game": "tictactoe", "seats": [], "surprise": 1}',
    "wrong types": b'{"ply": "0", "action": [], "seat": {}, "game": 5, "seats": "x", "swap": 3, "text": null}',
    "huge numbers": b'{"ply": 99999999999999999999, "action": -1, "seat": -1}',
    "deep": b"[" * 10_000 + b"]" * 10_000,
    "long text": json.dumps({"game": "x" * 5000, "text": "\u0000\u001b[31m" * 3000, "agent": "y" * 5000}).encode(),
    "prototype": b'{"__proto__": {"ply": 0}, "constructor": 1}',
}


def _flat(routes: Any) -> Iterator[Any]:
    for route in routes:
        inner = getattr(route, "routes", None)
        if inner is None and hasattr(route, "original_router"):
            inner = route.original_router.routes
        if inner:
            yield from _flat(inner)
        else:
            yield route


def addresses(client: TestClient, game: str) -> list[tuple[str, str]]:
    """Every method and address of the application, with a real game where one is needed."""
    filled = {"{id}": game, "{name}": "nothing", "{path:path}": "app.js"}
    found = []
    for route in _flat(client.app.routes):  # type: ignore[attr-defined]
        path = getattr(route, "path", None)
        if path is None:
            continue
        for key, value in filled.items():
            path = path.replace(key, value)
        methods = ["WEBSOCKET"] if not getattr(route, "methods", None) else sorted(route.methods - {"HEAD"})
        found += [(method, path) for method in methods]
    return found


def test_the_table_of_routes_is_complete(client: TestClient, game: dict[str, Any]) -> None:
    found = addresses(client, game["id"])
    assert ("POST", "/api/v1/runs") in found and ("WEBSOCKET", f"/api/v1/games/{game['id']}/live") in found
    assert ("POST", f"/api/v1/games/{game['id']}/moves") in found and len(found) >= 30


@pytest.mark.parametrize("name", FOREIGN)
def test_no_route_answers_a_foreign_website(client: TestClient, game: dict[str, Any], name: str) -> None:
    for method, path in addresses(client, game["id"]):
        if method == "WEBSOCKET":
            with pytest.raises(WebSocketDisconnect) as closed, client.websocket_connect(path, headers=FOREIGN[name]):
                pass
            assert closed.value.code == 4403
            continue
        body = {"ply": 0, "action": 0, "seat": 0, "game": "tictactoe", "recipe": "tictactoe"}
        answer = client.request(method, path, json=body if method == "POST" else None, headers=FOREIGN[name])
        assert answer.status_code == 403, (method, path)
        assert set(answer.json()) == {"type", "title", "status", "detail"}
    assert client.get(f"/api/v1/games/{game['id']}").json() == game
    assert client.get("/api/v1/runs").json() == {"runs": []}


def test_the_page_itself_and_programs_are_answered(client: TestClient) -> None:
    own = {"origin": "http://testserver", "sec-fetch-site": "same-origin"}
    assert client.get("/api/v1/catalog", headers=own).status_code == 200
    assert client.get("/api/v1/catalog").status_code == 200
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert client.get("/", headers=link).status_code == 200
    assert client.get("/api/v1/catalog", headers=link).status_code == 403


def test_every_response_carries_the_headers(client: TestClient, game: dict[str, Any]) -> None:
    paths = [
        "/",
        "/assets/app.js",
        "/assets/nothing",
        "/api/v1/catalog",
        "/api/v1/nothing",
        f"/api/v1/games/{game['id']}",
    ]
    answers = [client.get(path) for path in paths]
    answers += [client.post("/api/v1/games", content=b"x"), client.get("/", headers={"host": "evil.example"})]
    for answer in answers:
        for key, value in HEADERS.items():
            assert answer.headers[key] == value
        assert answer.headers["cache-control"] in ("no-store", "no-cache")


@pytest.mark.parametrize("name", BODIES)
def test_a_bad_body_gets_a_sentence_and_changes_nothing(client: TestClient, game: dict[str, Any], name: str) -> None:
    for method, path in addresses(client, game["id"]):
        if method != "POST" or (name == "empty" and path.endswith("resume")):
            continue
        for kind in ("application/json", "text/plain"):
            answer = client.post(path, content=BODIES[name], headers={"content-type": kind})
            assert 400 <= answer.status_code < 500, (path, answer.status_code, answer.text)
            assert isinstance(answer.json()["detail"], str) and len(answer.json()["detail"]) < 1100
            assert answer.json()["detail"].isprintable()
    assert client.get(f"/api/v1/games/{game['id']}").json() == game


@pytest.mark.parametrize(
    "path",
    [
        "/api/v1/position?game=evil.py:Game",
        "/api/v1/position?game=tictactoe&moves=zz",
        "/api/v1/position?game=tictactoe&moves=%00%1b[31m",
        "/api/v1/position?game=tictactoe&moves=" + "b2+" * 2600,
        "/api/v1/position",
        "/api/v1/analyze?game=tictactoe&agent=az:/etc/passwd",
        "/api/v1/analyze?game=tictactoe&agent=level:best&simulations=3",
        "/api/v1/analyze?game=tictactoe&agent=level:best&simulations=100000000",
        "/api/v1/analyze?game=tictactoe&agent=exact:perfect&simulations=8",
        "/api/v1/analyze?game=tictactoe&exact=7",
        "/api/v1/explain?game=tictactoe&moves=b2+a2+a1+c1+c3",
        "/api/v1/review?game=tictactoe&agent=run:nothing@5",
        "/api/v1/runs/..",
        "/api/v1/runs/%2e%2e%2f%2e%2e%2fetc",
        "/api/v1/runs/nothing/games?checkpoint=-1",
        "/api/v1/runs/compare?a=x&b=../y",
        "/api/v1/runs/estimate?game=tictactoe&recipe=../../x",
        "/api/v1/recipes?game=none",
        "/api/v1/games?limit=0",
        "/api/v1/games?limit=99999999999",
        "/api/v1/games/" + "x" * 500,
        "/api/v1/games/..%2f..%2fetc",
        "/assets/..%2f..%2fapp.py",
        "/assets/../app.py",
        "/assets/%00",
        "/assets/" + "x" * 5000,
        "/nothing",
        "/docs",
        "/openapi.json",
    ],
)
def test_a_bad_address_gets_a_sentence(client: TestClient, path: str) -> None:
    answer = client.get(path)
    assert 400 <= answer.status_code < 500, answer.text[:300]
    assert answer.json()["detail"]


def test_large_bodies_and_queries_are_refused(client: TestClient, game: dict[str, Any]) -> None:
    path = f"/api/v1/games/{game['id']}/moves"
    large = b'{"ply": 0, "action": 0, "x": "' + b"y" * LARGEST_BODY + b'"}'
    answer = client.post(path, content=large, headers={"content-type": "application/json"})
    assert answer.status_code == 413
    assert client.get("/api/v1/position?game=tictactoe&moves=" + "x" * LARGEST_QUERY).status_code == 414
    assert client.post(path, content=b"{}", headers={"content-length": "abc"}).status_code in (400, 413)
    assert client.get(f"/api/v1/games/{game['id']}").json() == game


def test_wrong_methods_are_refused(client: TestClient, game: dict[str, Any]) -> None:
    for method, path in addresses(client, game["id"]):
        if method == "WEBSOCKET":
            continue
        answer = client.request("PUT", path)
        assert answer.status_code == 405 and answer.json()["detail"]


def test_assets_have_types_and_tags(client: TestClient) -> None:
    answer = client.get("/assets/app.js")
    assert answer.headers["content-type"].startswith("text/javascript")
    again = client.get("/assets/app.js", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304 and not again.content
