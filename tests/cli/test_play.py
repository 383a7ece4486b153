"""`tabia play`: a whole game through a pipe, its commands, and that nothing is lost."""

from __future__ import annotations

import builtins
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.evaluation import records


@pytest.fixture(autouse=True)
def _own_state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))


def play(*words: str, says: str = "") -> Result:
    return CliRunner().invoke(app, ["play", "--terminal", *words], input=says)


PEOPLE = ("tictactoe", "--against", "human")


ENDED = re.compile(r"^(Seat \d \(.\) won|Draw): .*\.$", re.MULTILINE)


def test_the_first_screen_says_who_you_are_what_to_do_and_how_to_get_help() -> None:
    """An option of the terminal implies it."""
    for words in (("tictactoe",), ("tictactoe", "--terminal")):
        screen = CliRunner().invoke(app, ["play", *words, "--against", "random"]).stdout
        assert "Seat 1 (X): you\nSeat 2 (O): random\n" in screen
        assert "Goal: Get three of your marks in a row" in screen
        assert "? for help" in screen


@pytest.mark.parametrize(
    ("seat", "moves", "message"),
    [
        (1, "b2 a2 a1 c1 c3", "You won: X has three in a row."),
        (2, "b2 a2 a1 c1 c3", "You lost: X has three in a row."),
        (2, "b2 a1 a3 c1 b1 b3 c2 a2 c3", "Draw: the board is full."),
    ],
)
def test_the_result_is_yours_with_its_reason_and_the_line_is_marked(seat: int, moves: str, message: str) -> None:
    """The board marks the line without color, and no score has to be read."""
    screen = play("tictactoe", "--seat", str(seat), "--against", "random", "--moves", moves).stdout
    assert f"\n{message}\n" in screen and "Scores" not in screen
    line = "3 . .[X]\n2 O[X].\n1[X]. O\n  a b c\n"
    assert (line in screen) == ("three" in message)


def test_with_three_seats_you_come_second_and_see_your_corner_and_the_moves_left() -> None:
    """The game is one of three Greedy players; seat 1 wins it, seat 2 comes second."""
    moves = (
        "b1-d2 f1-f3 g6-c2 b2-d5 f2-f4 g5-e3 c3-d3 g2-c6 e3-c1 c5-g5 g3-c7 e5-c3 c4-g4 g1-g2 g7-c5 d3-e2 e1-e3 f5-e4 "
        "g4-h2 f3-d6 c5-c4 g5-i1 e3-e5 f6-f5 d2-f3 g2-f2 f5-d4 e2-g4 f4-f5 e4-e3 d5-h1 f2-d5 d4-d3 a1-b2 d5-c5 d3-d2 "
        "b2-f4 c5-d5 e3-d3 f3-g3 d5-c5 d3-d1 f4-g5 e5-d5 c4-d3 pass"
    )
    words = ("chinese-checkers", "--seat", "2", "--against", "random", "--moves", moves)
    screen = play(*words, says="f5-e5\n").stdout
    assert "Goal: Be the first to bring all your pieces to the corner at c7:" in screen
    assert "Moves left: 74, 25 of them by Seat 2 (O)." in screen  # 46 of 120 moves have been played
    assert "You came second: X was home first." in screen
    assert "Scores: Seat 1 (X) 3, Seat 2 (O) 1, Seat 3 (+) 0." in screen


def test_a_limit_on_moves_without_progress_is_named() -> None:
    """In checkers a man's move is progress; the limit on all moves is far away."""
    screen = play("checkers", "--against", "human", says="10-15\n").stdout
    assert screen.count("Moves left without progress: 80, 40 of them by Seat") == 2 and "Moves left:" not in screen


def test_the_opponent_is_the_best_agent_unless_a_level_or_a_player_is_named() -> None:
    """Connect3 has an agent and no ladder, othello on 6 x 6 has neither."""
    assert "Seat 2 (O): az:connect3\n" in play("connect3").stdout
    assert "Seat 2 (O): mcts:simulations=10\n" in play("connect3", "--level", "easy").stdout
    assert "Seat 2 (O): mcts:simulations=400\n" in play("othello:size=6").stdout


def test_two_people_play_to_the_end() -> None:
    result = play(*PEOPLE, says="b2\na2\na1\nc1\nc3\n")
    assert result.exit_code == 0
    assert "Seat 1 (X) plays c3" in result.stdout
    assert "Seat 1 (X) won: X has three in a row." in result.stdout


def test_help_lists_the_legal_moves_and_the_commands() -> None:
    result = play(*PEOPLE, says="b2\n?\n")
    assert "Legal moves: a3 b3 c3 a2 c2 a1 b1 c1" in result.stdout
    for word in ("undo", "hint", "replay", "save FILE", "quit"):
        assert word in result.stdout


def test_an_illegal_move_and_a_misspelled_command_change_nothing() -> None:
    result = play(*PEOPLE, says="b2\nb2\nudno\nc3\n")
    assert "'b2' is not legal here. Legal moves: a3 b3 c3 a2 c2 a1 b1 c1." in result.stdout
    assert "Did you mean undo?" in result.stdout
    assert "Seat 2 (O) plays c3" in result.stdout


def test_undo_takes_back_the_reply_too() -> None:
    perfect = ("tictactoe", "--against", "perfect")
    result = play(*perfect, says="undo\nb2\nundo\na1\nquit\n")
    assert "You have no move to take back." in result.stdout
    assert result.stdout.count("You play") == 2
    board = re.findall(r"^[321] .*$", result.stdout, re.MULTILINE)[-3:]
    assert sum(line.count("X") for line in board) == 1


def test_undo_works_after_the_end() -> None:
    result = play(*PEOPLE, says="b2\na2\na1\nc1\nc3\nc2\nundo\nb3\n")
    assert "'c2' cannot be played: the game is over." in result.stdout
    assert "Seat 1 (X) plays b3" in result.stdout


def test_saved_games_continue_and_read_back_as_records(tmp_path: Path) -> None:
    file = tmp_path / "game.txt"
    result = play(*PEOPLE, says=f"b2\na2\nsave\nsave {file}\nsave {tmp_path}/no/such\nquit\n")
    assert f"Saved in {file}." in result.stdout.replace("\n", "")
    assert "Give a file name: save FILE" in result.stdout and "cannot be written" in result.stdout
    record = records.load(file).records[0]
    assert (record.game, record.players, record.moves) == ("tictactoe", ("human", "human"), ("b2", "a2"))
    result = play("--load", str(file), says="replay\na1\n")
    assert "1. Seat 1 (X) plays b2" in result.stdout and "2. Seat 2 (O) plays a2" in result.stdout
    assert "Seat 1 (X) plays a1" in result.stdout


def test_a_hint_names_a_move() -> None:
    result = play("tictactoe", "--against", "human", "--hint", "perfect", says="b2\na2\nhint\n")
    assert "perfect suggests " in result.stdout and "(worth +1.00 to you)" in result.stdout
    result = play("tictactoe", "--against", "random", says="hint\n")
    assert "az:tictactoe suggests " in result.stdout, "the best agent, not the opponent"


def test_seats_and_moves() -> None:
    result = play("tictactoe", "--seat", "2", "--against", "random", "--moves", "b2 a1", says="quit\n")
    assert "Seat 1 (X): random\nSeat 2 (O): you\n" in result.stdout
    assert "2 . X .\n1 O . .\n" in result.stdout and result.stdout.count("Seat 1 (X) plays") == 1


def test_players_alone_can_be_watched_and_shown_again(tmp_path: Path) -> None:
    result = play("tictactoe", "--seat", "0", "--against", "perfect", "--against", "random")
    assert ENDED.search(result.stdout) and "Seat 2 (O) plays" in result.stdout
    again = play("--load", str(tmp_path / "state" / "tabia" / "last-game.txt"))
    assert "1. Seat 1 (X) plays" in again.stdout and ENDED.search(again.stdout)


@pytest.mark.parametrize("stop", [KeyboardInterrupt, EOFError])
def test_leaving_loses_nothing(stop: type[BaseException], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    typed = iter(["b2", "a2"])

    def answer(*_: object) -> str:
        try:
            return next(typed)
        except StopIteration:
            raise stop from None

    monkeypatch.setattr(builtins, "input", answer)
    result = CliRunner().invoke(app, ["play", *PEOPLE])
    kept = tmp_path / "state" / "tabia" / "last-game.txt"
    assert result.exit_code == 0
    assert f"tabia play --load {kept}" in result.stdout.replace("\n", "")
    assert records.load(kept).records[0].moves == ("b2", "a2")


def test_a_game_that_cannot_be_saved_is_reported(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    assert "Its moves so far: b2 a2" in play(*PEOPLE, says="b2\na2\n").stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "Which game?"),
        (["connect4", "--seat", "3"], "has the seats 1 to 2"),
        (["connect4", "--against", "mtcs"], "Did you mean mcts?"),
        (["chinese-checkers", *["--against", "random"] * 3], "2 seats are free"),
        (["connect4", "--moves", "9"], "'9' is not legal here"),
        (["--load", "x", "--moves", "44"], "remove --moves and --level"),
        (["--load", "/no/such/file"], "cannot be read"),
        (["--load", "x", "--level", "easy"], "remove --moves and --level"),
        (["connect4", "--level", "medum"], "Did you mean medium?"),
        (["connect4", "--level", "easy", "--against", "random"], "give only one of them"),
    ],
)
def test_refusals(words: list[str], message: str) -> None:
    result = play(*words)
    assert result.exit_code == 2
    assert message in result.stderr


def test_colors_on_a_terminal_only(tmp_path: Path) -> None:
    command = [sys.executable, "-c", "from tabia.cli.main import run; run()", "play", *PEOPLE]

    def output(**settings: str) -> bytes:
        setting = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "FORCE_COLOR")}
        run = subprocess.run(command, input=b"b2\n", capture_output=True, check=True, env={**setting, **settings})
        return run.stdout

    assert b"\x1b" not in output()
    assert b"\x1b[" in output(FORCE_COLOR="1", TERM="xterm-256color")
