"""Playing over HTTP: the contract, stale and illegal moves, undo, resignation, rematch, levels, screens."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from tabia.core.errors import TabiaError
from tabia.games import Game, make
from tabia.players import perfect
from tabia.server.catalog.catalog import Catalog
from tabia.server.catalog.names import names_of
from tabia.server.web.context import Context
from tests.server.conftest import play, start, wait

STATE_KEYS = {"id", "game", "created", "seats", "moves", "position", "status"}
STATE_KEYS |= {"version", "thinking", "can", "result", "opening_plies"}
SEAT_KEYS = {"kind", "name", "agent", "elo", "error", "color", "about"}


def test_the_catalog_lists_games_with_boards_levels_and_openings(client: TestClient) -> None:
    found = client.get("/api/v1/catalog").json()
    assert found["default"] == "tictactoe" and found["mode"] == "local" and found["runs_allowed"] is True
    games = {game["id"]: game for game in found["games"]}
    assert {"connect4", "othello", "checkers", "chinese-checkers", "tictactoe"} <= set(games)
    connect = games["connect4"]
    assert connect["seat_names"] == ["Red", "Yellow"] and len(connect["board"]["cells"]) == 42
    assert sum(level["default"] for level in connect["levels"]) == 1
    assert {level["group"] for level in connect["levels"]} == {"levels", "classical", "exact"}
    ratings = [level["elo"] for level in connect["levels"] if level["group"] == "levels"]
    assert ratings == sorted(ratings) and len({level["id"] for level in connect["levels"]}) == len(connect["levels"])
    hexagons, star = games["pgx:hex"], games["chinese-checkers"]
    assert hexagons["goals"] == ["Join the top and the bottom edge.", "Join the left and the right edge."]
    assert [re.search(r"corner at (\w+)", goal)[1] for goal in star["goals"]] == ["i1", "c7", "c1"]  # type: ignore[index]
    assert "swap" in hexagons["note"]
    for game in found["games"]:
        assert len(game["goals"]) == game["seats"]
        assert game["analyst"] in {level["id"] for level in game["levels"]}
        for opening in game["openings"]:
            answer = client.get("/api/v1/position", params={"game": game["id"], "moves": opening["moves"]})
            assert answer.status_code == 200 and not answer.json()["position"]["over"]


EXAMPLES = Path(__file__).parents[2] / "examples"
RACE = EXAMPLES / "race.py"


def test_no_two_games_have_the_same_name(tmp_path: Path) -> None:
    kayles = f"{EXAMPLES / 'kayles.py'}:Kayles"
    files = [tmp_path / name for name in ("my/a.py", "my/b.py", "your/b.py")]
    for file in files:
        file.parent.mkdir(exist_ok=True)
        file.write_text((EXAMPLES / "nim.py").read_text())
    own = [f"{kayles}:pins=5", f"{kayles}:pins=9", f"{RACE}:Race", *(f"{file}:Nim" for file in files)]
    found = names_of(map(make, ["othello", "othello:size=6", "pgx:hex", "pgx:go_9x9", "pgx:go_19x19", *own]))
    assert list(found.values()) == [
        *("Othello", "Othello, size=6", "Hex", "Go from pgx, go_9x9", "Go from pgx, go_19x19"),
        *("Kayles, pins=5", "Kayles, pins=9", "Race"),
        *("Nim, a.py", f"Nim, {files[1]}", f"Nim, {files[2]}"),
    ]


def test_a_faulty_game_is_left_out_and_named(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, good = f"{tmp_path / 'faulty.py'}:Race", make(f"{RACE}:Race").id
    (tmp_path / "faulty.py").write_text(RACE.read_text().replace("{self.target}.", "{1 / 0}."))

    def broken(game: Game) -> bool:
        if game.id == "othello":
            raise RuntimeError("no such board")
        return False

    monkeypatch.setattr(perfect, "is_quick", broken)
    catalog = Catalog((name, good))
    assert [game["id"] for game in catalog.to_dict(lambda game, spec: True)] == list(catalog.entries)
    assert catalog.default == good and "connect4" in catalog.entries
    assert not {name, "othello"} & set(catalog.entries)
    warnings = [record.getMessage() for record in caplog.records if record.name == "tabia.server"]
    assert [warning.split(" is left out: ")[0] for warning in warnings] == [name, "othello"]
    assert "ZeroDivisionError" in warnings[0] and "faulty.py, line" in warnings[0] and "no such board" in warnings[1]
    with pytest.raises(TabiaError, match="ZeroDivisionError"):
        Catalog((name,))


def test_two_people_play_a_game_to_its_end(client: TestClient, game: dict[str, Any]) -> None:
    assert set(game) >= STATE_KEYS and all(set(seat) == SEAT_KEYS for seat in game["seats"])
    assert [seat["name"] for seat in game["seats"]] == ["X", "O"]
    end = play(client, game, "b2", "a2", "a1", "c1", "c3")
    assert end["status"] == "over" and end["position"]["line"] == [2, 4, 6]
    assert end["result"]["text"] == "X won with three in a row"
    assert end["version"] == game["version"] + 5
    assert client.get(f"/api/v1/games/{game['id']}").json() == end
    listed = client.get("/api/v1/games", params={"finished": True, "game": "tictactoe"}).json()["games"]
    summary = next(entry for entry in listed if entry["id"] == game["id"])
    assert summary["plies"] == 5 and summary["result"]["text"] == end["result"]["text"]


def test_an_agent_answers_and_the_result_names_you_and_it(client: TestClient) -> None:
    state = start(client, "tictactoe", None, "exact:perfect")
    assert [seat["name"] for seat in state["seats"]] == ["You", "Perfect"]
    while state["status"] != "over":
        assert state["status"] == "your move"
        state = play(client, state, state["position"]["legal"][0]["move"])
        if state["status"] == "thinking":
            assert state["thinking"]["seat"] == 1 and state["thinking"]["limit_ms"] >= 1000
            state = wait(client, state["id"])
    assert state["result"]["winner"] in (1, None)
    assert state["result"]["text"] in ("Perfect won with three in a row", "Drawn: the board is full")


def test_a_stale_move_gets_the_state_and_changes_nothing(client: TestClient, game: dict[str, Any]) -> None:
    after = play(client, game, "b2")
    answer = client.post(f"/api/v1/games/{game['id']}/moves", json={"ply": 0, "action": 0})
    assert answer.status_code == 409 and answer.json()["state"] == after
    assert answer.json()["detail"].startswith("The game is at move 1, not 0")


@pytest.mark.parametrize("action", [4, 9, 10_000_000])
def test_an_illegal_move_is_refused_in_one_sentence(client: TestClient, game: dict[str, Any], action: int) -> None:
    after = play(client, game, "b2")
    answer = client.post(f"/api/v1/games/{game['id']}/moves", json={"ply": 1, "action": action})
    assert answer.status_code == 422 and answer.json()["detail"].count("\n") == 0
    if action == 4:
        assert answer.json()["detail"] == "'b2' is not legal here. Legal moves: a3 b3 c3 a2 c2 a1 b1 c1."
    assert client.get(f"/api/v1/games/{game['id']}").json() == after


def test_undo_goes_back_to_the_turn_of_a_person(client: TestClient) -> None:
    state = start(client, "tictactoe", None, "classical:random")
    assert state["can"]["undo"] is False
    played = play(client, state, "b2")
    played = wait(client, state["id"]) if played["status"] == "thinking" else played
    assert played["position"]["ply"] == 2
    back = client.post(f"/api/v1/games/{state['id']}/undo", json={"ply": 2}).json()
    assert (
        back["position"]["ply"] == 0 and back["position"]["pieces"] == [-1] * 9 and back["version"] > played["version"]
    )
    answer = client.post(f"/api/v1/games/{state['id']}/undo", json={"ply": 0})
    assert answer.status_code == 422 and "take back" in answer.json()["detail"]


def test_undo_stops_at_the_opening_and_takes_back_a_resignation(client: TestClient) -> None:
    state = start(client, "tictactoe", moves="b2 a1")
    assert state["opening_plies"] == 2 and state["can"]["undo"] is False
    resigned = client.post(f"/api/v1/games/{state['id']}/resign", json={"ply": 2, "seat": 0}).json()
    assert (resigned["status"], resigned["result"]["text"], resigned["result"]["winner"]) == ("over", "X resigned", 1)
    back = client.post(f"/api/v1/games/{state['id']}/undo", json={"ply": 2}).json()
    assert back["status"] == "your move" and back["position"]["ply"] == 2


def test_rematch_keeps_the_opening_and_swaps_the_seats(client: TestClient) -> None:
    state = start(client, "tictactoe", None, "classical:random", moves="b2 a1")
    answer = client.post(f"/api/v1/games/{state['id']}/rematch", json={"swap": True})
    new = answer.json()
    assert answer.status_code == 201 and new["id"] != state["id"] and new["opening_plies"] == 2
    assert [seat["kind"] for seat in new["seats"]] == ["agent", "human"]
    assert wait(client, new["id"])["position"]["ply"] == 3


def test_the_level_changes_in_mid_game(client: TestClient) -> None:
    state = start(client, "tictactoe", None, "classical:random")
    changed = client.post(f"/api/v1/games/{state['id']}/level", json={"seat": 1, "agent": "exact:perfect"})
    assert changed.json()["seats"][1]["name"] == "Perfect"
    for seat, agent in ((0, "exact:perfect"), (7, "exact:perfect")):
        answer = client.post(f"/api/v1/games/{state['id']}/level", json={"seat": seat, "agent": agent})
        assert answer.status_code == 422
    answer = client.post(f"/api/v1/games/{state['id']}/level", json={"seat": 1, "agent": "az:/etc/passwd"})
    assert answer.status_code == 404


def test_three_seats_play_and_nobody_can_resign(client: TestClient) -> None:
    state = start(client, "chinese-checkers", None, "classical:random", "classical:greedy")
    assert [seat["name"] for seat in state["seats"]] == ["You", "Random", "Greedy"]
    assert state["can"]["resign"] is False
    hop = max(state["position"]["legal"], key=lambda entry: len(entry["path"]))
    play(client, state, hop["move"])
    after = wait(client, state["id"])
    assert after["position"]["ply"] == 3 and after["status"] == "your move"
    answer = client.post(f"/api/v1/games/{state['id']}/resign", json={"ply": 3, "seat": 0})
    assert answer.status_code == 422


def test_a_screen_hears_every_change_and_a_second_one_the_same(client: TestClient, game: dict[str, Any]) -> None:
    address = f"/api/v1/games/{game['id']}/live"
    with client.websocket_connect(address) as one, client.websocket_connect(address) as other:
        assert one.receive_json() == other.receive_json() == {"type": "state", "state": game}
        after = play(client, game, "b2")
        assert one.receive_json()["state"] == other.receive_json()["state"] == after
        one.send_text("anything")
        again = play(client, after, "a1")
        assert one.receive_json()["state"] == again


def test_a_screen_of_an_unknown_game_is_closed(client: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect) as closed, client.websocket_connect("/api/v1/games/nothing/live"):
        pass
    assert closed.value.code == 4404


def test_a_hint_says_what_the_solver_knows(client: TestClient) -> None:
    state = start(client, "tictactoe", moves="b2 a2")
    found = client.get(f"/api/v1/games/{state['id']}/hint", params={"ply": 2}).json()
    # X threatens, O must block, X has two threats at once: the third stone from here wins.
    assert found["text"] == "Keeps the win in 3 moves." and found["path"] == [found["action"]]
    assert client.get(f"/api/v1/games/{state['id']}/hint", params={"ply": 1}).status_code == 409


def test_a_record_reads_back_to_the_same_game(client: TestClient, game: dict[str, Any]) -> None:
    play(client, game, "b2", "a1", "c3")
    record = client.get(f"/api/v1/games/{game['id']}/record")
    assert "attachment" in record.headers["content-disposition"]
    found = client.post("/api/v1/import", json={"text": record.text})
    assert found.json() == {"game": "tictactoe", "moves": "b2 a1 c3"}
    assert client.post("/api/v1/import", json={"text": "b2a1c3"}).json() == {"game": "tictactoe", "moves": "b2 a1 c3"}
    assert client.post("/api/v1/import", json={"text": "4453", "game": "connect4"}).json()["moves"] == "4 4 5 3"
    for text in ("zz", "tabia games 1\n\nbroken", record.text.replace("tictactoe", "evil.py:Game")):
        answer = client.post("/api/v1/import", json={"text": text})
        assert 400 <= answer.status_code < 500 and answer.json()["detail"]


def test_a_game_continues_at_the_same_ply_after_a_restart(parts: Context, client: TestClient) -> None:
    state = start(client, "tictactoe", None, "classical:random")
    play(client, state, "b2")
    before = wait(client, state["id"])
    parts.hub.games.memory.games.clear()  # what a new process knows
    after = client.get(f"/api/v1/games/{state['id']}").json()
    assert after == before
    assert play(client, after, after["position"]["legal"][0]["move"])["position"]["ply"] == 3
