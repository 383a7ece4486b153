"""`tabia play --terminal`: a whole game through a pipe, its commands, and that nothing is lost."""

from __future__ import annotations

import builtins
import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.evaluation import records


@pytest.fixture(autouse=True)
def _keep_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def play(*words: str, says: str = "") -> Result:
    return CliRunner().invoke(app, ["play", *words], input=says)


PEOPLE = ("tictactoe", "--terminal", "--against", "human")


def test_two_people_play_to_the_end() -> None:
    result = play(*PEOPLE, says="b2\na2\na1\nc1\nc3\n")
    assert result.exit_code == 0
    assert "seat 1 plays c3" in result.stdout
    assert "The game is over. Scores: seat 1 1, seat 2 -1." in result.stdout


def test_help_lists_the_legal_moves_and_the_commands() -> None:
    result = play(*PEOPLE, says="b2\n?\n")
    assert "Legal moves: a3 b3 c3 a2 c2 a1 b1 c1" in result.stdout
    for word in ("undo", "hint", "replay", "save FILE", "quit"):
        assert word in result.stdout


def test_an_illegal_move_and_a_misspelt_command_change_nothing() -> None:
    result = play(*PEOPLE, says="b2\nb2\nudno\nc3\n")
    assert "'b2' is not legal here. Legal moves: a3 b3 c3 a2 c2 a1 b1 c1." in result.stdout
    assert "Did you mean undo?" in result.stdout
    assert "seat 2 plays c3" in result.stdout


def test_undo_takes_back_the_answer_too() -> None:
    perfect = ("tictactoe", "--terminal", "--against", "perfect")
    result = play(*perfect, says="undo\nb2\nundo\na1\nquit\n")
    assert "There is no move of yours to take back." in result.stdout
    assert result.stdout.count("seat 1 plays") == 2
    last = result.stdout.split("seat 1 plays a1")[1].splitlines()
    assert sum(line.count("X") for line in last[1:4]) == 1


def test_undo_works_after_the_end() -> None:
    result = play(*PEOPLE, says="b2\na2\na1\nc1\nc3\nc2\nundo\nb3\n")
    assert "'c2' can no longer be played." in result.stdout
    assert "seat 1 plays b3" in result.stdout


def test_saved_games_go_on_and_read_back_as_records(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    result = play(*PEOPLE, says=f"b2\na2\nsave\nsave {file}\nsave {tmp_path}/no/such\nquit\n")
    assert f"Saved in {file}." in result.stdout.replace("\n", "")
    assert "Where to? save FILE" in result.stdout and "cannot be written" in result.stdout
    record = records.read(file).records[0]
    assert (record.game, record.players, record.moves) == ("tictactoe", ("human", "human"), ("b2", "a2"))
    result = play("--terminal", "--load", str(file), says="replay\na1\n")
    assert "1. seat 1 plays b2" in result.stdout and "2. seat 2 plays a2" in result.stdout
    assert "seat 1 plays a1" in result.stdout


def test_a_hint_names_a_move() -> None:
    result = play("tictactoe", "--terminal", "--against", "human", "--hint", "perfect", says="b2\na2\nhint\n")
    assert "perfect would play " in result.stdout and "(worth +1.00 to you)" in result.stdout


def test_seats_and_moves() -> None:
    result = play("tictactoe", "--terminal", "--seat", "2", "--against", "random", "--moves", "b2 a1", says="quit\n")
    assert result.stdout.startswith("seat 1: random\nseat 2: human\n")
    assert "2 . X .\n1 O . .\n" in result.stdout and result.stdout.count("seat 1 plays") == 1


def test_players_alone_can_be_watched_and_shown_again(tmp_path: Path) -> None:
    result = play("tictactoe", "--terminal", "--seat", "0", "--against", "perfect", "--against", "random")
    assert "The game is over." in result.stdout and "seat 2 plays" in result.stdout
    again = play("--terminal", "--load", str(tmp_path / "state" / "tabia" / "last-game.txt"))
    assert "1. seat 1 plays" in again.stdout and "The game is over." in again.stdout


@pytest.mark.parametrize("stop", [KeyboardInterrupt, EOFError])
def test_leaving_loses_nothing(stop: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    said = iter(["b2", "a2"])

    def answer(*_: object) -> str:
        try:
            return next(said)
        except StopIteration:
            raise stop from None

    monkeypatch.setattr(builtins, "input", answer)
    result = CliRunner().invoke(app, ["play", *PEOPLE])
    kept = tmp_path / "state" / "tabia" / "last-game.txt"
    assert result.exit_code == 0
    assert f"tabia play --terminal --load {kept}" in result.stdout.replace("\n", "")
    assert records.read(kept).records[0].moves == ("b2", "a2")


def test_a_game_that_cannot_be_kept_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert "Its moves so far: b2 a2" in play(*PEOPLE, says="b2\na2\n").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["connect4"], "add --terminal"),
        (["--terminal"], "Which game?"),
        (["connect4", "--terminal", "--seat", "3"], "has the seats 1 to 2"),
        (["connect4", "--terminal", "--against", "mtcs"], "Did you mean mcts?"),
        (["chinese-checkers", "--terminal", *["--against", "random"] * 3], "2 seats are free"),
        (["connect4", "--terminal", "--moves", "9"], "'9' is not legal here"),
        (["--terminal", "--load", "x", "--moves", "44"], "leave --moves out"),
        (["--terminal", "--load", "/no/such/file"], "cannot be read"),
    ],
)
def test_refusals(words: list[str], told: str) -> None:
    result = play(*words)
    assert result.exit_code == 2
    assert told in result.stderr


def test_colours_on_a_terminal_only(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from tabia.cli.main import run; run()", "play", *PEOPLE]

    def told(**settings: str) -> bytes:
        setting = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
        run = subprocess.run(command, input=b"b2\n", capture_output=True, check=True, env={**setting, **settings})
        return run.stdout

    assert b"\x1b" not in told()
    assert b"\x1b[" in told(FORCE_COLOR="1", TERM="xterm-256color")
