"""`tabia games`, `show` and `check`: what they print, as text and as JSON, and how they refuse."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tabia import games
from tabia.cli.main import app


def tabia(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_games_lists_every_game_and_every_adapter() -> None:
    result = tabia("games")
    assert result.exit_code == 0
    for known in games.ids():
        assert any(line.split()[0] == known for line in result.stdout.splitlines() if line.strip())
    for adapter in ("pgx:", "spiel:", "file.py:"):
        assert adapter in result.stdout


def test_games_fits_eighty_columns_and_keeps_the_titles() -> None:
    """In a terminal of 80 columns."""
    lines = ["import sys, rich.console", "sys.stdout.isatty = lambda: True", "from tabia.cli.main import app"]
    command = [sys.executable, "-c", "; ".join([*lines, "app(['games'])"])]
    setting = {**os.environ, "COLUMNS": "80", "TERM": "dumb", "NO_COLOR": "1"}
    shown = subprocess.run(command, capture_output=True, check=True, text=True, env=setting).stdout
    assert max(map(len, shown.splitlines())) <= 80
    words = " ".join(shown.split())
    for known in games.ids():
        assert games.make(known).title in words


def test_games_as_json_describes_the_games() -> None:
    listed = json.loads(tabia("games", "--json").stdout)
    assert [game["id"] for game in listed["games"]] == games.ids()
    for row in listed["games"]:
        game = games.make(row["id"])
        assert row["num_actions"] == game.num_actions
        assert tuple(row["observation_shape"]) == game.observation_shape
        assert tuple(row["score_range"]) == game.score_range
        assert row["symmetries"] == len(game.symmetries)
    assert "chess" in listed["adapters"]["pgx"]


def test_show_draws_the_position_after_the_moves() -> None:
    # 4 4 5 3: X on 4 and 5 in the lowest row, O upon the first X and on 3.
    result = tabia("show", "connect4", "--moves", "4453")
    lines = result.stdout.splitlines()
    assert lines[:7] == [". . . . . . ."] * 4 + [". . . O . . .", ". . O X X . .", "1 2 3 4 5 6 7"]
    assert "Seat 1 to move." in lines
    assert "Legal moves: 1 2 3 4 5 6 7" in lines


@pytest.mark.parametrize("moves", ["1213141", "1 2 1 3 1 4 1", "1,2,1,3,1,4,1"])
def test_show_prints_the_scores_of_a_finished_game(moves: str) -> None:
    result = tabia("show", "connect4", "--moves", moves)
    assert "The game is over. Scores: seat 1 1, seat 2 -1." in result.stdout
    assert "Legal moves" not in result.stdout


def test_show_writes_svg(tmp_path: Path) -> None:
    picture = tmp_path / "board.svg"
    result = tabia("show", "connect4", "--moves", "4453", "--svg", str(picture))
    assert result.exit_code == 0
    assert str(picture) in result.stdout
    assert ElementTree.parse(picture).getroot().tag.endswith("svg")
    assert tabia("show", "connect4", "--moves", "4453", "--svg", "-").stdout == picture.read_text()


def test_check_prints_each_law_and_exits_with_zero() -> None:
    result = tabia("check", "tictactoe", "--games", "4")
    report = json.loads(tabia("check", "tictactoe", "--games", "4", "--json").stdout)
    assert result.exit_code == 0
    assert report["holds"] and report["game"] == "tictactoe"
    ticked = [line for line in result.stdout.splitlines() if line.startswith("✓")]
    assert [line.removeprefix("✓ ") for line in ticked] == [law["law"] for law in report["laws"]]
    assert f"keeps all {len(ticked)} laws" in result.stdout


BROKEN = '''
from dataclasses import dataclass

import jax.numpy as jnp

from tabia.games.tictactoe import TicTacToe


@dataclass(frozen=True)
class Greedy(TicTacToe):
    """Tic-tac-toe that gives both seats a point from the start."""

    name = "greedy"

    def scores(self, state):
        return jnp.ones(2)
'''


def test_check_of_a_broken_game_names_the_law_and_exits_with_one(tmp_path: Path) -> None:
    source = tmp_path / "greedy.py"
    source.write_text(BROKEN.replace("jnp.ones(2)", "jnp.full(2, 2.0)"))
    result = tabia("check", f"{source}:Greedy", "--games", "4")
    assert result.exit_code == 1
    assert "✗ Scores are finite and lie in score_range." in result.stdout
    result = tabia("check", f"{source}:Greedy", "--games", "4", "--json")
    assert result.exit_code == 1
    assert json.loads(result.stdout)["holds"] is False


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("show", "conect4"), "Did you mean connect4"),
        (("check", "otello"), "Did you mean othello"),
        (("show", "pgx:ches"), "chess"),
        (("show", "connect:rows=3,columns=3,line=5"), "expected 2 to 3"),
        (("show", "connect:colums=3"), "Did you mean columns"),
        (("show", "connect:rows=x"), "whole number"),
        (("show", "connect4", "--moves", "449"), "Legal moves: 1 2 3 4 5 6 7"),
        (("show", "connect4", "--moves", "4444444"), "Move 7: '4' is not legal here"),
        (("show", "tictactoe", "--moves", "a1 hello"), "'hello' is not legal here"),
        (("show", "tictactoe", "--svg", "/no/such/folder/x.svg"), "cannot be written"),
        (("check", "no_such_file.py:Nim"), "no_such_file.py"),
    ],
)
def test_refusals_are_sentences(words: tuple[str, ...], expected: str) -> None:
    result = tabia(*words)
    assert result.exit_code == 2
    assert result.stderr.startswith("tabia: ")
    assert expected in result.stderr
    assert "Traceback" not in result.stderr
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_a_user_file_that_fails_is_named_with_its_line_and_no_traceback(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text("import math\n\nhalf = math.haf(1)\n")
    result = tabia("check", f"{source}:Mine")
    assert result.exit_code == 2
    assert str(source) in result.stderr
    assert "line 3" in result.stderr or f"{source}:3" in result.stderr
    assert "Traceback" not in result.stderr
    assert "tabia/" not in result.stderr.replace(str(source), "")


def test_a_user_file_with_a_syntax_error_is_named_with_its_line(tmp_path: Path) -> None:
    source = tmp_path / "mine.py"
    source.write_text("def half(:\n    return 1\n")
    result = tabia("check", f"{source}:Mine")
    assert result.exit_code == 2
    assert str(source) in result.stderr
    assert "line 1" in result.stderr or f"{source}:1" in result.stderr


def test_a_class_that_is_not_in_the_file_gets_the_nearest(tmp_path: Path) -> None:
    source = tmp_path / "greedy.py"
    source.write_text(BROKEN)
    result = tabia("check", f"{source}:Gredy")
    assert result.exit_code == 2
    assert "Greedy" in result.stderr


NIM = '''
class Nim:
    """Take one, two or three of seven sticks; the seat that takes the last one wins."""

    num_players, num_actions, max_moves = 2, 3, 7

    def __init__(self):
        self.sticks, self.seat = 7, 0

    def legal_moves(self):
        return [move for move in range(3) if move < self.sticks]

    def apply(self, move):
        self.sticks -= move + 1
        self.seat = 1 - self.seat

    def mover(self):
        return self.seat

    def is_over(self):
        return self.sticks == 0

    def scores(self):
        return [1, -1] if self.seat == 1 else [-1, 1]
'''


def test_a_plain_python_game_is_checked_and_shown(tmp_path: Path) -> None:
    source = tmp_path / "nim.py"
    source.write_text(NIM)
    assert tabia("check", f"{source}:Nim", "--games", "2").exit_code == 0
    # 3 + 3 + 1 sticks: the first seat takes the last one.
    result = tabia("show", f"{source}:Nim", "--moves", "2 2 0")
    assert "The game is over. Scores: seat 1 1, seat 2 -1." in result.stdout


def test_a_plain_python_game_that_fails_while_played_is_named_with_its_line(tmp_path: Path) -> None:
    source = tmp_path / "nim.py"
    source.write_text(NIM.replace("self.seat = 1 - self.seat", "self.seat = 1 - self.seet"))
    result = tabia("show", f"{source}:Nim", "--moves", "2")
    line = 1 + NIM.splitlines().index("        self.seat = 1 - self.seat")
    assert result.exit_code == 2
    assert str(source) in result.stderr and f"line {line}" in result.stderr
    assert "Traceback" not in result.stderr
