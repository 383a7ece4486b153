"""A plain Python game whose rules raise in one line: one sentence on the screens, one line in the log, no traceback."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from tabia.games import Session, make
from tabia.games.adapters.host import HostGame
from tabia.games.errors import RulesError
from tabia.players import make as make_player
from tabia.server import faults
from tabia.server.accounts.accounts import AccountOptions
from tabia.server.analysis.programs import Kind
from tabia.server.analysis.worker import Worker
from tabia.server.web.app import create_app
from tabia.server.web.context import Context, make_context
from tests.server.conftest import HOST, play, start
from tests.server.faulty import RAISES, RULES
from tests.server.shared import CHEAP

SEARCH, RANDOM = "classical:mcts-100", "classical:random"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("rules") / "rare.py"
    found.write_text(RULES, encoding="utf-8")
    return found


@pytest.fixture(scope="module")
def rare(file: Path) -> str:
    """The id of the game."""
    return f"{file}:Dom"


@pytest.fixture(scope="module")
def line(file: Path) -> str:
    """What there is to say about action 5 after moves 7 and 3."""
    return f"{file}, class Dom: apply(5) raised ValueError at line {RAISES} (oops), after moves 7 3."


@pytest.fixture(scope="module")
def parts(rare: str, tmp_path_factory: pytest.TempPathFactory) -> Context:
    folder = tmp_path_factory.mktemp("faults")
    return make_context((rare,), data=folder / "data", runs=folder / "runs", sizes=(1,))


@pytest.fixture(scope="module")
def client(parts: Context, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """A browser on the computer of the game's author; an error without a handler would be raised here."""
    with TestClient(create_app(parts, hosts=(HOST,), page=tmp_path_factory.mktemp("page"))) as found:
        yield found
    parts.worker.join()


@pytest.fixture(autouse=True)
def nothing_logged() -> None:
    faults._logged.clear()


def logged(caplog: pytest.LogCaptureFixture) -> list[str]:
    """What the terminal shows."""
    shown = [record for record in caplog.records if record.levelno >= logging.WARNING]
    assert all(record.exc_info is None for record in shown)
    return [record.getMessage() for record in shown]


def moved(client: TestClient, state: dict[str, Any], action: int) -> Any:
    return client.post(f"/api/v1/games/{state['id']}/moves", json={"ply": state["position"]["ply"], "action": action})


def test_the_move_is_refused_in_one_line_and_the_game_goes_on(
    client: TestClient, rare: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    before = play(client, start(client, rare), "7", "3")
    for _ in range(3):
        answer = moved(client, before, 5)
        assert answer.status_code == 500 and answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["detail"] == line
    assert logged(caplog) == [line]
    assert client.get(f"/api/v1/games/{before['id']}").json() == before
    assert play(client, before, "6")["position"]["ply"] == 3
    back = client.post(f"/api/v1/games/{before['id']}/undo", json={"ply": 3}).json()
    back = client.post(f"/api/v1/games/{before['id']}/undo", json={"ply": back["position"]["ply"]}).json()
    assert play(client, back, "0")["position"]["ply"] == 2
    assert play(client, start(client, rare), "7")["status"] == "your move"


def test_a_line_of_moves_a_search_and_a_review_say_the_same(
    client: TestClient, rare: str, line: str, caplog: pytest.LogCaptureFixture
) -> None:
    into = {"game": rare, "moves": "7 3 5"}
    searched = {"game": rare, "moves": "7 3", "agent": SEARCH}
    answers = [
        client.get("/api/v1/position", params=into),
        client.post("/api/v1/import", json={"text": into["moves"], "game": rare}),
        client.post("/api/v1/games", json={**into, "seats": [{"kind": "human"}] * 2}),
        client.get("/api/v1/analyze", params=searched),
        client.post("/api/v1/choose", json=searched),
    ]
    assert [(answer.status_code, answer.json()["detail"]) for answer in answers] == [(500, line)] * 5
    lines = client.post("/api/v1/analyze", json={**searched, "id": "one"}).text
    assert json.loads(lines.splitlines()[-1]) == {"id": "one", "error": line}
    *_, name, content = client.get("/api/v1/review", params=searched).text.splitlines()[:-1]
    found = json.loads(content.removeprefix("data: "))["error"]  # of the first position whose search meets one
    assert name == "event: error" and found.startswith(line[: line.index("apply")]) and "(oops), after moves 7" in found
    assert logged(caplog) == [line]


@pytest.mark.parametrize(("agent", "reply"), [(SEARCH, 3), (RANDOM, 4)], ids=["a search", "a move"])
def test_an_agent_that_runs_into_it_says_so_on_the_screen(
    client: TestClient, rare: str, line: str, caplog: pytest.LogCaptureFixture, agent: str, reply: int
) -> None:
    state = start(client, rare, agent, None, moves="7")
    with client.websocket_connect(f"/api/v1/games/{state['id']}/live") as screen:
        assert screen.receive_json()["state"]["problem"] is None
        assert moved(client, state, reply).json()["status"] == "thinking"
        while (shown := screen.receive_json()["state"])["problem"] is None:
            pass
        found = shown["problem"]
        assert found == line if agent == SEARCH else found.endswith(f"at line {RAISES} (oops), after moves 7 4.")
        assert shown["status"] == "thinking" and shown["can"]["undo"]
        back = client.post(f"/api/v1/games/{state['id']}/undo", json={"ply": 2}).json()
        assert back["problem"] is None and back["status"] == "your move" and back["position"]["ply"] == 1
        after = moved(client, back, 0).json()
        while after["status"] == "thinking":
            after = screen.receive_json()["state"]
        assert after["position"]["ply"] in (1, 3)
    assert len(logged(caplog)) == 1


def test_a_stored_game_that_new_rules_cannot_replay_is_explained(
    client: TestClient, parts: Context, rare: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    state = play(client, start(client, rare), "7")
    broken(monkeypatch, parts.catalog.game(rare).game, [])
    parts.hub.games.memory.games.clear()  # what a new process knows
    answer = client.get(f"/api/v1/games/{state['id']}")
    assert answer.status_code == 500 and "apply(7) raised ValueError" in answer.json()["detail"]
    with pytest.raises(WebSocketDisconnect) as closed, client.websocket_connect(f"/api/v1/games/{state['id']}/live"):
        pass
    assert closed.value.code == 4500 and answer.json()["detail"].startswith(closed.value.reason)
    assert logged(caplog) == [answer.json()["detail"]]


def test_a_warm_up_that_runs_into_it_leaves_the_player_able_to_move(
    rare: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    game = make(rare)
    broken(monkeypatch, game, [0])
    worker = Worker(lambda spec: make_player(spec, game), sizes=(1,))
    try:
        for future in worker.warm("mcts:simulations=16", (1, Kind.ANALYSIS)):
            future.result(timeout=300)
        assert len(logged(caplog)) == 1 and logged(caplog)[0].endswith(", after moves 0.")
        elsewhere = worker.choose("mcts:simulations=16", Session.from_moves(game, "1 2"), owner="game")
        assert elsewhere.result(timeout=300).move is not None
    finally:
        worker.close()
        worker.join()


def broken(monkeypatch: pytest.MonkeyPatch, game: Any, taken: list[int]) -> None:
    """The rules of a game raise after these moves, and nothing is remembered of them."""
    assert isinstance(game, HostGame)

    def apply(self: Any, move: int) -> None:
        if self.taken == taken:
            raise ValueError("broken")
        self.taken.append(move)

    monkeypatch.setattr(game.rules, "apply", apply)
    game.objects._kept.clear()


def test_a_mistake_is_logged_once_also_where_its_line_is_cut_off(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for first in (1, 2):
        faults.report(RulesError(f"rare.py, class Dom: apply(5) raised, after moves {first}{' 3' * 1000}."))
    assert len(logged(caplog)) == 1
    faults.report(RulesError("rare.py, class Dom: is_over() raised, after moves 1."))
    assert len(logged(caplog)) == 2


def test_a_server_for_several_people_does_not_name_the_file(
    rare: str, line: str, file: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    people = AccountOptions(secure=False, hashing=CHEAP)
    parts = make_context((rare,), data=tmp_path / "data", runs=tmp_path / "runs", sizes=(1,), people=people)
    with TestClient(create_app(parts, hosts=(HOST,), page=tmp_path)) as guest:
        state = play(guest, start(guest, rare, None, RANDOM, moves="7 3"))
        answers = [
            moved(guest, state, 5),
            guest.get("/api/v1/position", params={"game": rare, "moves": "7 3 5"}),
            guest.post("/api/v1/games", json={"game": rare, "seats": [{"kind": "human"}] * 2, "moves": "7 3 5"}),
        ]
        assert [(answer.status_code, answer.json()["detail"]) for answer in answers] == [(500, faults.HIDDEN)] * 3
        state = start(guest, rare, RANDOM, None, moves="7")
        with guest.websocket_connect(f"/api/v1/games/{state['id']}/live") as screen:
            moved(guest, state, 4)
            while (shown := screen.receive_json()["state"])["problem"] is None:
                pass
        assert shown["problem"] == faults.HIDDEN
    parts.worker.join()
    assert logged(caplog) == [line], "in other positions it is the same mistake"
