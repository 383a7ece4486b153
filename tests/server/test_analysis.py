"""Numbers of Review and Explain are those of `tabia analyze --json`; the moves that mattered; the truth."""

from __future__ import annotations

import json
from typing import Any

import pytest
from starlette.testclient import TestClient
from typer.testing import CliRunner

from tabia.cli.main import app as command
from tabia.games import make
from tabia.games.session import Session
from tabia.players import Analysis
from tabia.server.analysis.review import Turn, mattered
from tabia.server.web.context import Context

LINES = {
    "connect4": "4 4 5 3",
    "othello": "f5 d6",
    "chinese-checkers": "",
}


def printed(game: str, spec: str, moves: str) -> dict[str, Any]:
    """What the command prints, without the heading."""
    answer = CliRunner().invoke(command, ["analyze", game, "--player", spec, "--moves", moves, "--json"])
    assert answer.exit_code == 0, answer.output
    found = json.loads(answer.stdout)
    return {key: value for key, value in found.items() if key not in ("game", "player", "moves")}


def events(text: str) -> list[tuple[str, dict[str, Any]]]:
    found = []
    for block in text.strip().split("\n\n"):
        name, content = block.split("\n")
        found.append((name.removeprefix("event: "), json.loads(content.removeprefix("data: "))))
    return found


def line(game: str) -> str:
    """A line of the game; for Chinese checkers the middle moves of the first plies."""
    if LINES[game]:
        return LINES[game]
    session = Session.start(make(game))
    for _ in range(2):
        session = session.play(session.legal_moves[len(session.legal_moves) // 2])
    return session.text


@pytest.mark.parametrize(
    "game", [game if game == "chinese-checkers" else pytest.param(game, marks=pytest.mark.long) for game in LINES]
)
def test_analyses_and_reviews_equal_the_command(client: TestClient, parts: Context, game: str) -> None:
    entry, moves = parts.catalog.game(game), line(game)
    spec = entry.agents[entry.analyst].spec
    assert spec.startswith("az:") and spec.endswith("simulations=64")
    words = moves.split()
    wanted = {ply: printed(game, spec, " ".join(words[:ply])) for ply in (0, len(words) - 1, len(words))}
    found = client.get("/api/v1/analyze", params={"game": game, "moves": moves}).json()
    assert found == wanted[len(words)]
    positions = [content for name, content in events(review(client, game, moves)) if name == "position"]
    assert [position["ply"] for position in positions] == list(range(len(words) + 1))
    for ply, analysis in wanted.items():
        assert positions[ply]["analysis"] == analysis
        assert positions[ply]["expected"] == analysis["expected"]


@pytest.mark.parametrize(
    "game", ["connect4", *(pytest.param(game, marks=pytest.mark.long) for game in ("othello", "chinese-checkers"))]
)
def test_explanations_equal_the_command(client: TestClient, parts: Context, game: str) -> None:
    entry, moves = parts.catalog.game(game), line(game)
    wanted = printed(game, entry.agents[entry.analyst].spec, moves)
    shown = client.get("/api/v1/explain", params={"game": game, "moves": moves, "simulations": 64}).json()
    assert shown["search"] == wanted
    assert sum(child["visits"] for child in shown["tree"]["children"]) <= 64
    legal = client.get("/api/v1/position", params={"game": game, "moves": moves}).json()["position"]["legal"]
    actions = {entry["move"]: entry["action"] for entry in legal}
    assert all(child["action"] == actions[child["move"]] for child in shown["tree"]["children"])
    assert shown["tree"]["value"] == shown["search"]["expected"][shown["search"]["mover"]]
    rows, columns, planes = make(game).observation_shape
    assert len(shown["planes"]) == planes
    assert all(len(plane["values"]) == rows and len(plane["values"][0]) == columns for plane in shown["planes"])


def review(client: TestClient, game: str, moves: str) -> str:
    answer = client.get("/api/v1/review", params={"game": game, "moves": moves})
    assert answer.status_code == 200 and answer.headers["content-type"].startswith("text/event-stream")
    return answer.text


def test_a_review_finds_the_losing_move_of_tic_tac_toe(client: TestClient) -> None:
    """O answers the center with an edge, which loses by force; a corner would draw."""
    found = events(review(client, "tictactoe", "b2 a2 a1 c3 c1 a3 b1"))
    summary = next(content for name, content in found if name == "summary")["mattered"]
    assert found[-1] == ("end", {})
    first = summary[0]
    assert (first["ply"], first["seat"], first["played"]) == (1, 1, "a2")
    assert first["exact"] == "A draw became a loss" and first["better"] in ("a1", "a3", "c1", "c3")
    assert first["line"][0] == first["better"] and first["text"].startswith("A draw became a loss. O played a2;")


def test_the_truth_comes_with_an_analysis_when_asked(client: TestClient) -> None:
    params = {"game": "tictactoe", "moves": "b2", "exact": 1}
    found = client.get("/api/v1/analyze", params=params).json()["exact"]
    corners = {"a1", "a3", "c1", "c3"}
    assert {move for move, word in found["outcome"].items() if word == "draw"} == corners
    assert all(found["outcome"][move] == "loss" for move in set(found["outcome"]) - corners)
    assert all(score == 0 for move, score in found["scores"].items() if move in corners)


def test_explain_shows_the_network_the_search_and_the_truth(client: TestClient) -> None:
    shown = client.get("/api/v1/explain", params={"game": "tictactoe", "moves": "b2", "simulations": 4}).json()
    assert shown["network"] == printed("tictactoe", "network:tictactoe", "b2")
    assert shown["search"] == printed("tictactoe", "az:tictactoe,simulations=4", "b2")
    assert sum(shown["search"]["visits"].values()) == 4
    assert shown["exact"]["outcome"]["a1"] == "draw"
    assert [plane["name"] for plane in shown["planes"]] == ["pieces of the mover", "pieces of the opponent"]


def test_only_costly_moves_matter_and_lost_results_come_first() -> None:
    def thought(move: str, *expected: float) -> Analysis:
        return Analysis(move=move, mover=0, expected=list(expected))

    def truth(**scores: int) -> Analysis:
        return Analysis(move="a", mover=0, scores=scores)

    def turn(ply: int, played: str, before: float, after: float, known: Analysis | None = None) -> Turn:
        return Turn(ply, 0, played, thought("a", before, -before), thought("c", after, -after), known)

    turns = [
        turn(0, "a", 0.9, -0.9),  # what the analyst plays too, so nobody knew better
        turn(2, "b", 0.2, 0.1),  # within what a search can tell
        turn(4, "b", 0.8, -0.1),
        turn(6, "b", 0.1, 0.0, truth(a=0, b=-1)),
        turn(8, "b", 0.5, 0.1),
        turn(9, "b", 0.9, -0.9, truth(a=5, b=3)),  # it still wins, so it is no mistake, whatever a search expects
        turn(10, "b", 0.5, 0.2),
    ]
    assert [found.ply for found in mattered(turns)] == [4, 6, 8]
    assert [found.ply for found in mattered(turns, most=1)] == [6]
