"""`tabia analyze`: single positions and files, as text and as JSON; bad lines do not stop the others."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.games import make
from tabia.players import ladder


def analyze(*words: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["analyze", *words], input=stdin)


def test_a_position_as_text(tmp_path: Path) -> None:
    picture = tmp_path / "tree.svg"
    spec = "mcts:simulations=32"
    result = analyze("connect3", "--player", spec, "--moves", "1 2", "--tree", str(picture))
    lines = result.stdout.splitlines()
    assert result.exit_code == 0
    assert lines[:4] == [". . . .", ". . . .", "X O . .", "1 2 3 4"]
    assert any(line.startswith(f"{spec} plays ") for line in lines)
    heading = next(index for index, line in enumerate(lines) if line.split() == ["move", "policy", "visits", "value"])
    rows = [line.split() for line in lines[heading + 1 : heading + 5]]
    assert sorted(row[0] for row in rows) == ["1", "2", "3", "4"]
    visits = [int(row[2]) for row in rows]
    assert sum(visits) == 32 and visits == sorted(visits, reverse=True)
    assert any(line.startswith("Main line: ") for line in lines)
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")


def test_a_position_as_json() -> None:
    answer = json.loads(analyze("connect3", "--player", "mcts:simulations=32", "--moves", "1 2", "--json").stdout)
    assert answer["move"] == max(answer["visits"], key=answer["visits"].get)
    assert sum(answer["visits"].values()) == 32 and sum(answer["policy"].values()) == pytest.approx(1, abs=1e-3)
    assert answer["mover"] == 0 and answer["line"][0] == answer["move"]
    assert sum(answer["expected"]) == pytest.approx(0, abs=1e-3)


def test_the_best_agent_is_asked_by_default() -> None:
    answer = json.loads(analyze("connect3", "--moves", "1 2", "--json").stdout)
    assert answer["player"] == ladder.opponent(make("connect3")) and answer["player"].startswith("az:connect3")


def test_perfect_reports_exact_scores() -> None:
    # X in the center, O on an edge: X wins with its third or fourth mark after any move except the opposite edge.
    answer = json.loads(analyze("tictactoe", "--player", "perfect", "--moves", "b2 a2", "--json").stdout)
    assert {move for move, score in answer["scores"].items() if score == 0} == {"c2"}
    assert answer["scores"][answer["move"]] == max(answer["scores"].values()) == 2
    assert answer["expected"] == [1.0, -1.0]


def test_a_file_of_positions_with_bad_lines(tmp_path: Path) -> None:
    file = tmp_path / "positions.txt"
    file.write_text("b2 a2\n\nb2 b2\nzz\na3a2b3b2c3\nb2a2\n")
    result = analyze("tictactoe", "--player", "perfect", "--positions", str(file), "--json")
    assert result.exit_code == 1
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["line"] for answer in answers] == [1, 2, 3, 4, 5, 6]
    assert answers[0]["moves"] == "b2 a2" and answers[1]["moves"] == ""
    assert answers[0]["scores"] == answers[5]["scores"] and set(answers[1]["scores"].values()) == {0}
    assert answers[0]["move"] in answers[0]["policy"] and answers[1]["move"] in answers[1]["policy"]
    for answer, text in ((answers[2], "b2"), (answers[3], "zz")):
        assert answer["move"] is None and repr(text) in answer["error"]
    assert answers[2]["legal"] == ["a3", "b3", "c3", "a2", "c2", "a1", "b1", "c1"]
    assert len(answers[3]["legal"]) == 9
    assert answers[4]["move"] is None and answers[4]["final"] == [1.0, -1.0]
    assert "line 3, 'b2 b2': Move 2: 'b2' is not legal here" in result.stderr
    assert "Legal moves: a3 b3 c3 a2 c2 a1 b1 c1" in result.stderr


def test_positions_from_standard_input_as_text() -> None:
    result = analyze("tictactoe", "--player", "perfect", "--positions", "-", stdin="b2 a2 a1 c3 a3\n\n")
    assert result.exit_code == 0
    first, second = result.stdout.splitlines()
    assert first == "1: b2 a2 a1 c3 a3 -> " + first.split()[-1] and second.startswith("2: (start) -> ")


def test_batches_give_one_answer_per_line(tmp_path: Path) -> None:
    file = tmp_path / "positions.txt"
    file.write_text("1\n2\n3\n4\n12\n")
    result = analyze("connect3", "--player", "random", "--positions", str(file), "--json", "--batch", "2")
    assert [json.loads(line)["moves"] for line in result.stdout.splitlines()] == ["1", "2", "3", "4", "12"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["connect3", "--player", "mtcs"], "Did you mean mcts?"),
        (["conect3", "--player", "random"], "Did you mean connect3"),
        (["connect3", "--player", "random", "--moves", "9"], "'9' is not legal here"),
        (["connect3", "--player", "random", "--positions", "/no/such/file"], "cannot be read"),
        (["connect3", "--player", "random", "--tree", "t.svg"], "has no search tree"),
        (["connect3", "--player", "random", "--positions", "-", "--moves", "1"], "cannot be combined with --moves"),
        (["othello", "--player", "perfect"], "too large for perfect play"),
    ],
)
def test_refusals(words: list[str], sentence: str) -> None:
    result = analyze(*words)
    assert result.exit_code == 2
    assert sentence in result.stderr


def test_a_finished_game_shows_its_scores() -> None:
    result = analyze("tictactoe", "--player", "perfect", "--moves", "a3a2b3b2c3")
    assert result.exit_code == 0
    assert "The game is over. Scores: seat 1 1, seat 2 -1." in result.stdout
