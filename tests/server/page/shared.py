"""A shared server as the page sees it: the local server's answers, changed on their way to the browser.

For what a real server does rarely or slowly: a clock that runs out, a login that has to wait, hostile names.
"""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import quote

from .conftest import Screen

NOW = "2026-11-16T17:00:00.000+00:00"


class SharedServer:
    """Answers of `/api/v1` by path; what is not listed comes from the local server."""

    def __init__(self, screen: Screen, *, role: str = "member", name: str = "Ada") -> None:
        self.screen, self.sockets = screen, []  # type: ignore[var-annotated]
        self.asked: list[tuple[str, str, Any]] = []
        self.answers: dict[str, Any] = {
            "GET account": {"name": None if role == "stranger" else name, "role": role, "created": NOW},
            "GET ratings/me": {"ratings": []},
        }
        self.catalog = {"mode": "shared", "runs_allowed": True, "sign_up": "open"}
        screen.page.route("**/api/v1/**", self._answer)
        screen.page.route_web_socket("**/api/v1/games/*/live", self._follow)

    def _answer(self, route: Any) -> None:
        request = route.request
        path = request.url.split("/api/v1/")[1].split("?")[0]
        if request.method != "GET":
            self.asked.append((request.method, path, json.loads(request.post_data or "{}")))
        found = self.answers.get(f"{request.method} {path}")
        if path == "catalog":
            route.fulfill(json=route.fetch().json() | self.catalog)
        elif found is None:
            route.continue_()
        elif isinstance(found, Refusal):
            headers = {"content-type": "application/problem+json", **found.headers}
            body = {"detail": found.detail, **found.more}
            route.fulfill(status=found.status, headers=headers, body=json.dumps(body))
        else:
            route.fulfill(json=found)

    def _follow(self, socket: Any) -> None:
        game = socket.url.split("/games/")[1].split("/")[0]
        self.sockets.append(socket)
        socket.send(json.dumps({"type": "state", "state": self.answers[f"GET games/{game}"]}))

    def show(self, state: dict[str, Any]) -> dict[str, Any]:
        """Make this the state of its game, for those who ask and those who follow."""
        self.answers[f"GET games/{state['id']}"] = state
        for socket in self.sockets:
            socket.send(json.dumps({"type": "state", "state": state}))
        return state

    def game(
        self, seats: list[dict[str, Any]], *, game: str = "connect4", moves: str = "", you: int = 0, **more: Any
    ) -> dict[str, Any]:
        """A game as a shared server describes it to one person; `more` changes any key."""
        line = self.screen.server.get(f"position?game={game}&moves={quote(moves)}")
        played = [{"move": move, "action": 0, "seat": ply % len(seats)} for ply, move in enumerate(moves.split())]
        blank = {"kind": "human", "agent": None, "elo": None, "error": None, "color": "", "about": ""}
        people = [{**blank, **seat} for seat in seats]
        waits = any(seat["kind"] == "open" for seat in people)
        status = "waiting" if waits else "your move" if line["position"]["mover"] == you else "their move"
        state = {
            "id": f"stub{len(self.answers)}",
            "game": game,
            "created": NOW,
            "seats": people,
            "moves": played,
            "position": line["position"],
            "version": 1,
            "thinking": None,
            "result": None,
            "opening_plies": 0,
            "problem": None,
            "you": [you],
            "status": status,
            "rated": False,
            "visibility": "link",
            "clock": None,
            "clocks": None,
            "running": None,
            "join": None,
            "ended_by": None,
            "waiting": None,
            "rematch": None,
            "presence": [True] * len(people),
            "away_ms": None,
            "draw_offer": None,
            "rating_change": None,
            "can": {"undo": False, "hint": False, "resign": True, "draw": True, "rematch": False},
        }
        return self.show(state | more)


class Refusal:
    """A problem."""

    def __init__(self, status: int, detail: str, *, retry_after: int | None = None, **more: Any) -> None:
        self.status, self.detail, self.more = status, detail, more
        self.headers = {} if retry_after is None else {"retry-after": str(retry_after)}
