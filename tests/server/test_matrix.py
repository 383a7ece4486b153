"""Every route of a shared server for every role: who is refused, that foreign websites change nothing, and headers.

The routes come from the application's table. A route without a line in `POLICIES` fails, so that a new one is decided.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from tabia.server.accounts.operators import Operators
from tabia.server.web.security import HEADERS
from tests.server.shared import PASSWORD, Shared
from tests.server.test_security import FOREIGN, _flat

ROLES = ("stranger", "guest", "member", "reader", "bot", "operator")
"""Nobody yet; a guest; a member; a token that may only read; a bot's token; an operator. None has the private game."""
SEATS = [{"kind": "human"}, {"kind": "agent", "agent": "classical:random"}]
ENDLESS = {"/api/v1/events", "/api/v1/games/{id}/stream"}


@dataclass(frozen=True)
class Policy:
    """The statuses with which roles are refused; who is not named here passes."""

    refused: dict[str, set[int]]

    def allows(self, role: str, status: int) -> bool:
        if role in self.refused:
            return status in self.refused[role]
        return status not in (401, 403) and status < 500


EVERYONE = Policy({})
PLAYERS = Policy({"reader": {403}})
ASKERS = Policy({"reader": {403}})
KNOWN = Policy({"reader": {403}, "stranger": {401}})
SEATED = Policy(
    {role: {404} for role in ROLES} | {"stranger": {401, 404}, "reader": {403, 404}}
)  # a private game does not exist for others
SEEN = Policy({role: {404} for role in ROLES})
GUESTS = Policy({"stranger": {401}, "reader": {403}, "bot": {403}})
MEMBERS = Policy({"stranger": {401}, "guest": {403}, "reader": {403}, "bot": {403}})
OPERATORS = Policy({"stranger": {401}} | {role: {403} for role in ("guest", "member", "reader", "bot")})

POLICIES: dict[str, Policy] = {
    **{
        f"GET {path}": EVERYONE
        for path in (
            "/",
            "/sw.js",
            "/favicon.ico",
            "/assets/{path:path}",
            "/healthz",
            "/readyz",
            "/api/v1/openapi.json",
            "/api/v1/catalog",
            "/api/v1/games",
            "/api/v1/games/join",
            "/api/v1/account",
            "/api/v1/ratings",
            "/api/v1/ratings/me",
            "/api/v1/people/{name}",
            "/api/v1/agents",
            "/api/v1/agents/closest",
            "/api/v1/agents/{id}/versions",
            "/api/v1/position",
            "/api/v1/recipes",
            "/api/v1/runs",
            "/api/v1/runs/compare",
            "/api/v1/runs/{name}",
            "/api/v1/runs/{name}/live",
            "/api/v1/runs/{name}/games",
        )
    },
    "POST /api/v1/import": EVERYONE,
    "POST /api/v1/account": EVERYONE,
    "POST /api/v1/login": Policy({role: {401, 429} for role in ROLES}),  # the password is wrong
    "POST /api/v1/logout": EVERYONE,
    "POST /api/v1/games": PLAYERS,
    "POST /api/v1/rated": Policy({"reader": {403, 422}}),  # tic-tac-toe has no rated games
    "POST /api/v1/games/join": EVERYONE,  # the code of the link decides first
    "GET /api/v1/events": KNOWN,
    **{f"GET /api/v1/{name}": ASKERS for name in ("analyze", "review", "explain")},
    **{f"POST /api/v1/{name}": ASKERS for name in ("analyze", "choose")},
    **{
        f"POST /api/v1/games/{{id}}/{event}": SEATED
        for event in ("moves", "undo", "resign", "draw", "rematch", "level", "now")
    },
    "GET /api/v1/games/{id}/hint": SEATED,
    **{f"GET /api/v1/games/{{id}}{view}": SEEN for view in ("", "/record", "/stream")},
    "GET /api/v1/account/export": GUESTS,
    "DELETE /api/v1/account": GUESTS,
    "POST /api/v1/account/password": MEMBERS,
    **{f"GET /api/v1/account/{part}": MEMBERS for part in ("sessions", "tokens", "bots")},
    **{f"POST /api/v1/account/{part}": MEMBERS for part in ("tokens", "bots")},
    "DELETE /api/v1/account/sessions": MEMBERS,
    "DELETE /api/v1/account/sessions/{id}": MEMBERS,
    "DELETE /api/v1/account/tokens/{id}": MEMBERS,
    "DELETE /api/v1/account/bots/{name}": MEMBERS,
    "POST /api/v1/runs": OPERATORS,
    "GET /api/v1/runs/estimate": OPERATORS,
    "POST /api/v1/runs/{name}/stop": OPERATORS,
    "POST /api/v1/runs/{name}/resume": OPERATORS,
    "GET /api/v1/runs/{name}/proof": OPERATORS,
}
BODIES: dict[str, Any] = {
    "POST /api/v1/games": {"game": "tictactoe", "seats": SEATS},
    "POST /api/v1/games/join": {"code": "0123456789abcdef0123456789abcdef"},
    "POST /api/v1/rated": {"game": "tictactoe"},
    "POST /api/v1/import": {"game": "tictactoe", "text": "a1"},
    "POST /api/v1/choose": {"game": "tictactoe", "agent": "classical:random"},
    "POST /api/v1/analyze": {"game": "tictactoe", "agent": "classical:random"},
    "POST /api/v1/account": {"name": "Nobody", "password": "x"},
    "POST /api/v1/login": {"name": "Nobody", "password": "not the password"},
    "POST /api/v1/account/password": {"current": "not the password", "new": "another anchor sings"},
    "POST /api/v1/account/tokens": {"label": "a program", "scopes": ["read"]},
    "POST /api/v1/account/bots": {"name": "x"},
    "DELETE /api/v1/account": {"password": PASSWORD},
    "POST /api/v1/runs": {"game": "tictactoe", "recipe": "no such recipe"},
    "POST /api/v1/runs/{name}/resume": {},
    "POST /api/v1/games/{id}/moves": {"ply": 0, "action": 0},
    "POST /api/v1/games/{id}/level": {"seat": 1, "agent": "classical:random"},
    "POST /api/v1/games/{id}/rematch": {},
    **{f"POST /api/v1/games/{{id}}/{event}": {"ply": 0} for event in ("undo", "resign", "draw", "now")},
}
QUERIES: dict[str, dict[str, str]] = {
    "/api/v1/games/join": {"code": "0123456789abcdef0123456789abcdef"},
    "/api/v1/games/{id}/hint": {"ply": "0"},
    "/api/v1/runs/compare": {"a": "one", "b": "other"},
    "/api/v1/runs/estimate": {"game": "tictactoe", "recipe": "no such recipe"},
    "/api/v1/agents/closest": {"game": "tictactoe", "rating": "0"},
    "/api/v1/recipes": {"game": "tictactoe"},
    **{f"/api/v1/{name}": {"game": "tictactoe"} for name in ("ratings", "agents", "position", "agents/{id}/versions")},
    **{
        f"/api/v1/{name}": {"game": "tictactoe", "agent": "classical:random"}
        for name in ("analyze", "review", "explain")
    },
}


class Town:
    """A shared server with one visitor of every role, and somebody with a private game."""

    def __init__(self, server: Shared) -> None:
        self.server, self._numbers = server, itertools.count()
        self.owner = server.member("Owner")
        state = self.owner.post("/api/v1/games", json={"game": "tictactoe", "seats": SEATS})
        assert state.status_code == 201, state.text
        self.game = state.json()["id"]
        self.visitors = {role: self.visitor(role) for role in ROLES}

    def visitor(self, role: str) -> TestClient:
        """A browser, or a program with a token."""
        if role in ("stranger", "guest"):
            return self.server.browser() if role == "stranger" else self.server.guest()
        name = f"{role}-{next(self._numbers)}"
        member = self.server.member(name)
        if role == "operator":
            Operators(self.server.accounts.database, self.server.clock).promote(name)
        if role not in ("reader", "bot"):
            return member
        path, body = (
            ("tokens", {"label": "reads", "scopes": ["read"]})
            if role == "reader"
            else ("bots", {"name": f"{name}-bot"})
        )
        token = member.post(f"/api/v1/account/{path}", json=body).json()["token"]
        program = self.server.browser()
        program.headers["authorization"] = f"Bearer {token}"
        return program

    def routes(self) -> Iterator[tuple[str, str]]:
        """Every method and template of the application."""
        for route in _flat(self.server.app.routes):
            methods = sorted((getattr(route, "methods", None) or {"WEBSOCKET"}) - {"HEAD"})
            yield from ((method, route.path) for method in methods)

    def path(self, template: str) -> str:
        """An address of a template, with the private game."""
        known = "classical:random" if "/agents/" in template else self.game
        filled = template.replace("{id}", known).replace("{path:path}", "app.js")
        return re.sub(r"\{\w+\}", "nothing", filled)

    def ask(self, client: TestClient, method: str, template: str, **headers: str) -> Any:
        body = BODIES.get(f"{method} {template}")
        return client.request(
            method, self.path(template), json=body, params=QUERIES.get(template), headers=headers or None
        )


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Town]:
    folder = tmp_path_factory.mktemp("town")
    server = Shared(folder, folder / "data")
    yield Town(server)
    server.close()


def test_every_route_is_decided(town: Town) -> None:
    found = {f"{method} {path}" for method, path in town.routes() if method != "WEBSOCKET"}
    assert found == set(POLICIES)


@pytest.mark.parametrize("role", ROLES)
def test_a_role_gets_what_it_may_have(town: Town, role: str) -> None:
    before = town.owner.get(f"/api/v1/games/{town.game}").json()
    last = ["DELETE /api/v1/account", "POST /api/v1/logout"]  # they end the session
    for key in [*(key for key in POLICIES if key not in last), *last]:
        method, template = key.split(" ")
        policy = POLICIES[key]
        if template in ENDLESS and role not in policy.refused:
            continue
        if role == "stranger":
            town.visitors[role].cookies.clear()  # it became a guest
        answer = town.ask(town.visitors[role], method, template)
        assert policy.allows(role, answer.status_code), f"{role}: {key} got {answer.status_code} {answer.text[:300]}"
        if answer.status_code >= 400:
            assert set(answer.json()) >= {"type", "title", "status", "detail"}
    assert town.owner.get(f"/api/v1/games/{town.game}").json() == before
    town.visitors[role] = town.visitor(role)


@pytest.mark.parametrize("role", ROLES)
def test_nobody_else_watches_a_private_game(town: Town, role: str) -> None:
    path = f"/api/v1/games/{town.game}/live"
    with pytest.raises(WebSocketDisconnect) as closed, town.visitors[role].websocket_connect(path):
        pass
    assert closed.value.code == 4404
    with town.owner.websocket_connect(path) as live:
        assert live.receive_json()["state"]["id"] == town.game


@pytest.mark.parametrize("name", FOREIGN)
def test_a_foreign_website_cannot_use_the_cookie_of_a_visitor(town: Town, name: str) -> None:
    before = town.owner.get(f"/api/v1/games/{town.game}").json()
    for method, template in town.routes():
        if method == "WEBSOCKET":
            path = town.path(template)
            with (
                pytest.raises(WebSocketDisconnect) as closed,
                town.owner.websocket_connect(path, headers=FOREIGN[name]),
            ):
                pass
            assert closed.value.code == 4403
        else:
            answer = town.ask(town.owner, method, template, **FOREIGN[name])
            assert answer.status_code == 403, (method, template)
    assert town.owner.get(f"/api/v1/games/{town.game}").json() == before
    assert town.owner.get("/api/v1/account").json()["name"] == "Owner"


UNREADABLE = {
    "a form": ({"content-type": "application/x-www-form-urlencoded"}, b"ply=0&action=0"),
    "text, as a foreign form can send it": ({"content-type": "text/plain"}, b'{"ply": 0, "action": 0}'),
    "no type": ({}, b'{"ply": 0, "action": 0}'),
    "two types": ({"content-type": "application/json, text/plain"}, b"{}"),
    "compressed": ({"content-type": "application/json", "content-encoding": "gzip"}, b"\x1f\x8b"),
}


@pytest.mark.parametrize("name", UNREADABLE)
def test_bodies_are_plain_json(town: Town, name: str) -> None:
    headers, content = UNREADABLE[name]
    for method, template in town.routes():
        if method in ("POST", "DELETE"):
            answer = town.owner.request(method, town.path(template), content=content, headers=headers)
            assert answer.status_code == 415, (method, template)


def test_every_answer_carries_the_headers(town: Town) -> None:
    for method, template in town.routes():
        if method == "WEBSOCKET" or template in ENDLESS:
            continue
        answer = town.ask(town.visitors["stranger"], method, template)
        for key, value in HEADERS.items():
            assert answer.headers[key] == value, (method, template)
        assert answer.headers["cache-control"] in ("no-store", "no-cache")
        if template.startswith("/api"):
            assert answer.headers["cache-control"] == "no-store"
    town.visitors["stranger"].cookies.clear()


def test_only_the_seat_to_move_moves(town: Town) -> None:
    """Two people by link: each may move only in turn, and a third one not at all."""
    one, two, third = town.server.member("One"), town.server.member("Two"), town.server.member("Three")
    new = {"game": "tictactoe", "seats": [{"kind": "human"}, {"kind": "open"}]}
    state = one.post("/api/v1/games", json=new).json()
    path = f"/api/v1/games/{state['id']}/moves"
    assert two.post("/api/v1/games/join", json={"code": state["join"]["code"]}).status_code == 200
    assert two.post(path, json={"ply": 0, "action": 0}).status_code == 422
    assert third.post(path, json={"ply": 0, "action": 0}).status_code in (403, 404)
    assert one.post(path, json={"ply": 0, "action": 0}).status_code == 200
    assert one.post(path, json={"ply": 1, "action": 1}).status_code == 422
    assert two.post(path, json={"ply": 1, "action": 1}).status_code == 200
    assert one.post(path, json={"ply": 0, "action": 5}).status_code == 409
    assert PASSWORD not in one.get(f"/api/v1/games/{state['id']}").text
