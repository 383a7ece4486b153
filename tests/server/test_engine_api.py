"""Programs ask agents: the list, versions, the closest agent, moves in any position, and streamed analyses."""

from __future__ import annotations

import json
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tabia import __version__
from tabia.games import make
from tabia.games.session import Session
from tabia.players import Analysis
from tabia.server.analysis import katago
from tabia.server.catalog.catalog import Catalog
from tabia.server.errors import Busy
from tabia.server.learn.runs import Runs
from tabia.server.play.lines import player_name
from tabia.server.web import engine_answers
from tabia.server.web.context import Context
from tests.server.test_analysis import printed
from tests.server.test_runs import make_run
from tests.server.test_worker import searching


def post(client: TestClient, route: str, **body: Any) -> Any:
    return client.post(f"/api/v1/{route}", json=body)


def lines(client: TestClient, **body: Any) -> list[dict[str, Any]]:
    answer = post(client, "analyze", **body)
    assert answer.status_code == 200, answer.text
    assert answer.headers["content-type"] == "application/x-ndjson"
    found = [json.loads(line) for line in answer.text.splitlines()]
    for line in found:
        engine_answers.AnalysisLine.model_validate(line)
    return found


# Agents.


def test_agents_are_listed_with_shipped_networks(client: TestClient) -> None:
    found = client.get("/api/v1/agents", params={"game": "connect4"}).json()
    agents = {agent["id"]: agent for agent in found["agents"]}
    assert engine_answers.AgentsAnswer.model_validate(found)
    assert agents["level:summit"]["elo"] == 1401 and agents["classical:random"]["elo"] is None
    assert {"shipped:connect4", "shipped:connect4-laptop"} <= set(agents) and "shipped:tictactoe" not in agents
    assert client.get("/api/v1/agents", params={"game": "none"}).status_code == 404


@pytest.mark.parametrize(
    ("rating", "expected", "higher"), [(-5, 0, True), (832, 832, True), (832.5, 996, True), (5000, 1401, False)]
)
def test_the_closest_agent_is_the_smallest_at_or_above(
    client: TestClient, rating: float, expected: float, higher: bool
) -> None:
    """The ladder of Connect 4; r = min {x in E | x >= e} of Wandhoven 2022, or the strongest."""
    found = client.get("/api/v1/agents/closest", params={"game": "connect4", "rating": rating}).json()
    assert engine_answers.ClosestAnswer.model_validate(found)
    assert (found["rating"], found["higher"]) == (expected, higher)
    unrated = client.get("/api/v1/agents/closest", params={"game": "tictactoe", "rating": 0})
    assert unrated.status_code == 422 and "no ladder" in unrated.json()["detail"]
    assert client.get("/api/v1/agents/closest", params={"game": "connect4", "rating": "nan"}).status_code == 422


def test_versions_of_shipped_networks_and_of_tabias_own_agents(client: TestClient) -> None:
    def versions(agent: str, game: str = "connect4") -> Any:
        answer = client.get(f"/api/v1/agents/{agent}/versions", params={"game": game})
        return engine_answers.VersionsAnswer.model_validate(answer.json()).versions if answer.is_success else None

    laptop = versions("shipped:connect4-laptop")
    assert [version.version for version in laptop] == ["6", "12", "24", "54", "114", "216", "660", "740"]
    assert [version.version for version in laptop if version.best] == ["740"]
    assert laptop[4].agent == "shipped:connect4-laptop@114" and laptop[4].elo > laptop[3].elo
    assert [version.version for version in versions("level:summit")] == [__version__]
    assert [version.best for version in versions("shipped:connect4")] == [True]
    assert versions("shipped:connect4-laptop@114") == laptop
    for unknown in ("shipped:none", "shipped:tictactoe", "run:none", "level:none", "..", "shipped:../connect4"):
        assert versions(unknown) is None


def test_versions_of_a_run_are_its_checkpoints(tmp_path: Path) -> None:
    make_run(tmp_path, "first")
    catalog = Catalog(("tictactoe",), runs=Runs(tmp_path))
    game = catalog.game("tictactoe").game
    assert "run:first" in [agent.id for agent in catalog.families(game)]
    found = catalog.versions(game, "run:first")
    assert [(version.version, version.agent) for version in found] == [("1", "run:first@1"), ("2", "run:first@2")]
    assert [version.best for version in found] == [False, True]
    (tmp_path / "first" / "best").write_text("1", encoding="utf-8")
    assert catalog.choose(game, "run:first", None).agent.id == "run:first@1"
    assert catalog.choose(game, "run:first@2", None).agent.id == "run:first@2"
    unknown = catalog.choose(game, "run:first", "77")
    assert unknown.agent.id == "run:first@1" and unknown.note is not None


# Moves.


def test_a_move_is_that_of_the_agent(client: TestClient) -> None:
    """Tic-tac-toe's perfect player blocks; the answer says who moved."""
    found = post(client, "choose", game="tictactoe", moves="a1 b2 a2", agent="exact:perfect").json()
    assert engine_answers.ChoiceAnswer.model_validate(found)
    assert found["move"] == "a3" and (found["agent"], found["version"]) == ("exact:perfect", __version__)
    session = Session.from_moves(make("tictactoe"), "a1 b2 a2")
    assert session.play(found["action"]).moves[-1] == "a3"


def test_an_unknown_version_is_answered_by_the_best_one_which_is_said(client: TestClient) -> None:
    body = {"game": "tictactoe", "moves": "b2", "agent": "shipped:tictactoe", "simulations": 4}
    best, unknown = post(client, "choose", **body).json(), post(client, "choose", **body, version="99").json()
    assert best["note"] is None and "the best one answered" in unknown.pop("note")
    assert {**best, "note": None} == {**unknown, "note": None}
    again = post(client, "choose", **body, version=best["version"]).json()
    assert again == best  # the same question has the same answer
    assert again["move"] == printed("tictactoe", "az:tictactoe,simulations=4", "b2")["move"]


def test_the_same_request_gets_the_same_answer_while_games_keep_the_queue_busy(
    client: TestClient, parts: Context
) -> None:
    """Requests and a game that waits for the same agent gather while another game is searched."""
    body = {"game": "tictactoe", "agent": "classical:random"}
    alone, again = post(client, "choose", **body).json(), 5
    worker, name = parts.worker, player_name("tictactoe", "random")
    with ThreadPoolExecutor(again) as pool, searching(worker, name, "first"):
        live = worker.choose(name, Session.start(make("tictactoe"), seed=1), owner="second")
        answers = [pool.submit(post, client, "choose", **body) for _ in range(again)]
        until = time.monotonic() + 60
        while len(worker._waiting) <= again and time.monotonic() < until:
            time.sleep(0.001)
    assert [answer.result().json() for answer in answers] == [alone] * again
    assert live.result(timeout=60).move is not None


def test_the_reference_lists_the_fields_of_a_choice() -> None:
    text = Path(__file__).parents[2].joinpath("docs/reference/http-api.md").read_text(encoding="utf-8")
    row = next(line for line in text.splitlines() if line.startswith("| `POST /api/v1/choose`"))
    listed = re.findall(r"`(\w+)`", row.split("|")[3])
    assert listed == list(engine_answers.ChoiceAnswer.model_fields)


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({"game": "none"}, 404),
        ({"game": "tictactoe", "agent": "level:none"}, 404),
        ({"game": "tictactoe", "moves": "a1 a1"}, 422),
        ({"game": "tictactoe", "moves": "a1 b1 a2 b2 a3"}, 422),  # over
        ({"game": "tictactoe", "simulations": 3}, 422),
        ({"game": "tictactoe", "simulations": 100_000}, 422),
        ({"game": "tictactoe", "agent": "classical:random", "simulations": 8}, 404),
        ({"game": "tictactoe", "version": ""}, 422),
        ({"game": "tictactoe", "agent": "shipped:tictactoe@../x"}, 200),  # an unknown version
        ({"game": "tictactoe", "other": 1}, 422),
        ({}, 422),
    ],
)
def test_a_question_that_makes_no_sense_is_refused_in_one_sentence(
    client: TestClient, body: dict[str, Any], status: int
) -> None:
    answer = post(client, "choose", **body)
    assert answer.status_code == status, answer.text
    if status != 200:
        assert answer.headers["content-type"] == "application/problem+json" and len(answer.json()["detail"]) > 10


# Analyses.


def test_an_analysis_has_the_numbers_of_the_command(client: TestClient) -> None:
    """Visits, values, policy and main line of `tabia analyze`, in KataGo's fields."""
    body = {"game": "tictactoe", "moves": "b2 a2", "agent": "shipped:tictactoe", "simulations": 4}
    (found,) = lines(client, id="q1", **body)
    wanted = printed("tictactoe", "az:tictactoe,simulations=4", "b2 a2")
    assert (found["id"], found["turnNumber"], found["isDuringSearch"]) == ("q1", 2, False)
    moves = found["moveInfos"]
    assert {move["move"]: move["visits"] for move in moves} == wanted["visits"]
    assert {move["move"]: move["policy"] for move in moves} == wanted["policy"]
    assert [move["order"] for move in moves] == list(range(len(moves)))
    assert [move["visits"] for move in moves] == sorted((move["visits"] for move in moves), reverse=True)
    assert moves[0]["move"] == wanted["move"] and moves[0]["pv"] == wanted["line"]
    assert moves[0]["winrate"] == pytest.approx((wanted["values"][wanted["move"]] + 1) / 2, abs=1e-4)
    root = found["rootInfo"]
    assert root["visits"] == 4 and root["currentPlayer"] == 0
    assert root["winrate"] == pytest.approx((wanted["expected"][0] + 1) / 2, abs=1e-4)


def test_turns_come_in_the_order_asked_for_and_the_end_has_no_moves(client: TestClient) -> None:
    found = lines(client, game="tictactoe", moves="a1 b1 a2 b2 a3", agent="exact:perfect", analyzeTurns=[5, 3, 0])
    assert [line["turnNumber"] for line in found] == [5, 3, 0]
    over, before = found[0], found[1]
    assert over["moveInfos"] == [] and over["rootInfo"]["over"] and over["rootInfo"]["expected"] == [1.0, -1.0]
    assert before["rootInfo"]["currentPlayer"] == 1
    assert all(move["scoreLead"] == 0 for move in found[2]["moveInfos"])  # the game is a draw, whatever the first move
    refused = post(client, "analyze", game="tictactoe", moves="a1", analyzeTurns=[2])
    assert refused.status_code == 422 and "from 0 to 1" in refused.json()["detail"]


def test_a_search_is_reported_on_its_way(client: TestClient, parts: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Smaller searches of the same agent come first; each would be a program of its own, so none is run here."""

    def asked(name: str, session: Session) -> Future[Analysis]:
        answer: Future[Analysis] = Future()
        answer.set_result(Analysis(move="b2", mover=0, visits={"b2": int(name.rpartition("=")[2])}))
        return answer

    monkeypatch.setattr(parts.worker, "analyze", asked)
    for size, wanted in ((256, [16, 128, 256]), (32, [16, 32]), (16, [16])):
        found = lines(client, game="tictactoe", agent="shipped:tictactoe", simulations=size, reportDuringSearch=True)
        assert [line["rootInfo"]["visits"] for line in found] == wanted
        assert [line["isDuringSearch"] for line in found] == [True] * (len(wanted) - 1) + [False]


def test_a_failure_ends_the_stream_with_a_line(
    client: TestClient, parts: Context, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_: Any, **__: Any) -> Any:
        raise Busy("Too many positions are waiting.")

    monkeypatch.setattr(parts.worker, "analyze", busy)
    answer = post(client, "analyze", id="q", game="tictactoe")
    assert json.loads(answer.text) == {"id": "q", "error": "Too many positions are waiting."}


def test_players_without_a_tree_have_no_visits() -> None:
    session = Session.start(make("tictactoe"))
    found = Analysis(move="b2", mover=0, policy={"a1": 0.25, "b2": 0.75})
    shown = katago.line("", session, found, during_search=False)
    assert [(move["move"], move["visits"], move["winrate"]) for move in shown["moveInfos"]] == [
        ("b2", 0, None),
        ("a1", 0, None),
    ]
    assert shown["rootInfo"]["winrate"] is None
