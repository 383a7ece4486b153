"""Tabia as a GTP engine: a client plays and analyzes, transcripts, and input that makes no sense."""

from __future__ import annotations

import re
import subprocess
import sys

import jax
import numpy as np
import pytest

from tabia import games, players
from tabia.engine import Console, GtpEngine, clock, thinking
from tabia.engine.gtp_rules import _count_area
from tabia.games.protocols import gtp_game
from tabia.games.session import Session
from tabia.players import PlayerError
from tabia.search import SearchError

from .client import Broken, Client, Outside, compilations, transcript

GAME = games.make("othello:size=4")
SIMULATIONS = 256


def engine(console: Console, spec: str = "random") -> GtpEngine:
    return GtpEngine(players.make(spec, GAME), gtp_game(GAME), console)


@pytest.fixture(autouse=True)
def small_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Analyses with trees of the player's own size, so that both share one program."""
    for size in ("FIRST_TREE", "ENDLESS_TREE"):
        monkeypatch.setattr(thinking, size, SIMULATIONS)


def searching(console: Console) -> GtpEngine:
    return engine(console, f"mcts:simulations={SIMULATIONS}")


COMMANDS = b"""\
1 protocol_version
name
known_command genmove
known_command dance
boardsize 4
boardsize 19
komi 6.5
4 play black B1
play white A1  # the only corner that this move opens
play white C9
play black
reg_genmove red
showboard
undo
undo
undo
final_score
gogui-rules_game_id
gogui-rules_side_to_move
gogui-rules_legal_moves
gogui-rules_board
dance
quit
name
"""

# By GTP 2 and the rules of Othello on 4 x 4: white has B2 and C3 at the start, rows count from the top.
ANSWERS = """\
=1 2

= Tabia

= true

= false

=

? unacceptable size

=

=4

=

? illegal move: it is black's turn

? expected a color and a vertex, such as play black D3

? expected black or white, not 'red'

=
1 O X . .
2 . O X .
3 . X O .
4 . . . .
  a b c d

=

=

? cannot undo

= 0

= Othello

= black

= B1 A2 D3 C4

=
. . . .
. X O .
. O X .
. . . .

? unknown command

=

"""


def test_transcript() -> None:
    assert transcript(engine, COMMANDS) == ANSWERS


def test_a_client_plays_a_whole_game() -> None:
    """The client keeps its own game; the engine must play only what is legal there."""
    with Client(searching) as client:
        session, generator = Session.start(GAME), np.random.default_rng(0)
        while not session.over:
            if session.mover == 0:
                move = client.ask("genmove black").removeprefix("= ")
                session = session.play(move)
            else:
                move = generator.choice(session.legal_moves)
                session = session.play(move)
                assert client.ask(f"play white {move}") == "="
        lead = int((GAME.board(session.state) == 0).sum() - (GAME.board(session.state) == 1).sum())
        assert client.ask("final_score") == f"= {'0' if not lead else f'B+{lead}' if lead > 0 else f'W+{-lead}'}"
        assert client.ask("genmove black") == "= pass"


def test_analysis_streams_until_the_next_command() -> None:
    with Client(searching) as client:
        client.send("7 lz-analyze black 2")
        assert client.line() == "=7"
        seen = [client.line()]
        while sum(map(int, re.findall(r"visits (\d+)", seen[-1]))) < SIMULATIONS:
            seen.append(client.line())
        assert client.is_silent(0.2)  # the tree is full, and the analysis lasts until the next command
        client.send("undo")
        assert client.line() == "" and client.line() == "? cannot undo"
        for line in seen:
            moves = re.findall(r"info move (\S+) visits (\d+) winrate (\d+) prior (\d+) order (\d+) pv (\S+)", line)
            assert moves and all(move in ("B1", "A2", "D3", "C4") and move == first for move, *_, first in moves)
            assert [int(order) for *_, order, _ in moves] == list(range(len(moves)))
            assert {int(prior) for _, _, _, prior, *_ in moves} == {2500}  # rollouts prefer none of the four moves
        visits = [sum(map(int, re.findall(r"visits (\d+)", line))) for line in seen]
        assert visits == sorted(visits) and visits[-1] == SIMULATIONS


def broken(console: Console) -> GtpEngine:
    return GtpEngine(Broken(GAME), gtp_game(GAME), console)


def test_an_error_is_one_response() -> None:
    lines = b"clear_board\n7 genmove b\n8 lz-analyze b\n9 kata-genmove_analyze b\nname\n"
    reason = "broken has no move,\nas always."
    assert transcript(broken, lines) == f"=\n\n?7 {reason}\n\n?8 {reason}\n\n?9 {reason}\n\n= Tabia\n\n"


@pytest.mark.parametrize("command", ["lz-analyze b", "kata-genmove_analyze b"])
def test_an_error_after_the_first_piece_ends_the_response(command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    steps, step = [0], thinking.Thinking.step

    def fails(self: thinking.Thinking) -> bool:
        steps[0] += 1
        if steps[0] == 2:
            raise SearchError("The network gave NaN.")
        return step(self)

    with Client(searching) as client:
        client.ask("clear_board")
        monkeypatch.setattr(thinking.Thinking, "step", fails)
        assert client.ask(f"7 {command}") == "=7\nThe network gave NaN."
        assert client.ask("name") == "= Tabia"


def test_outside_engines_are_refused() -> None:
    from typer.testing import CliRunner

    from tabia.cli.main import app

    with pytest.raises(PlayerError, match="outside is an engine itself"):
        transcript(lambda console: GtpEngine(Outside(GAME), gtp_game(GAME), console), b"")
    for spec in ("gtp:gtp-rhino", "uci:stockfish,nodes=1", "gnubg"):
        shown = CliRunner().invoke(app, ["gtp", "othello:size=4", "--player", spec])
        assert shown.exit_code == 2 and shown.stderr.startswith(f"tabia: {spec} is an engine itself;")


@pytest.mark.parametrize("before", ["clear_board", "boardsize 4", "time_settings 60 0 0"])
def test_genmove_compiles_nothing(before: str) -> None:
    jax.clear_caches()
    with Client(lambda console: engine(console, "mcts:simulations=24")) as client, compilations() as names:
        assert client.ask(before) == "=" and names
        names.clear()
        client.ask("genmove b")
        client.ask("kata-genmove_analyze w")
        assert not names


def test_an_illegal_move_is_reported_in_one_line() -> None:
    with Client(engine) as client:
        assert client.ask("play black A1") == "? illegal move: 'A1' is not legal here"


def test_genmove_with_analysis_plays_its_move() -> None:
    with Client(searching) as client:
        answer = client.ask("kata-genmove_analyze b 100").splitlines()
        winrates = [float(found) for found in re.findall(r"winrate (\S+)", answer[1])]
        assert answer[0] == "=" and all(0 <= winrate <= 1 for winrate in winrates)
        move = answer[-1].removeprefix("play ")
        assert client.ask("gogui-rules_side_to_move") == "= white"
        assert client.ask(f"play white {move}").startswith("? illegal move")  # it is on the board


def test_a_clock_shortens_the_search(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "_LEAST", 1e-9)  # shorter than any piece
    with Client(searching) as client:
        assert client.ask("time_settings 60 0 0") == client.ask("time_left b 0 0") == "="
        answer = client.ask("lz-genmove_analyze b 1000")
        assert sum(map(int, re.findall(r"visits (\d+)", answer))) == 1  # the first piece
        assert client.ask("time_left b soon 0") == "? expected a number, not soon"


def test_passes_that_a_program_leaves_out_are_played() -> None:
    moves = _game_with_a_pass()
    before = Session.from_moves(GAME, " ".join(moves[:-1]))
    assert before.legal_moves == ["pass"]
    color = ["black", "white"]
    with Client(engine) as client:
        for seat, move in zip(_seats(moves[:-1]), moves[:-1], strict=True):
            assert client.ask(f"play {color[seat]} {move}") == "="
        other = color[1 - before.mover]
        reply = before.play("pass").legal_moves[0]
        assert client.ask(f"play {other} {reply}") == "="  # without the pass before it
        assert client.ask("undo") == "="  # takes the pass back too
        assert client.ask("gogui-rules_side_to_move") == f"= {color[before.mover]}"
        assert client.ask(f"play {color[before.mover]} pass") == "="
        assert client.ask(f"play {other} {reply}") == "="


def _game_with_a_pass() -> tuple[str, ...]:
    for seed in range(200):
        generator, session = np.random.default_rng(seed), Session.start(GAME)
        while not session.over:
            session = session.play(str(generator.choice(session.legal_moves)))
            if session.last_move == "pass" and not session.over:
                return session.moves
    raise AssertionError("no game with a pass")


def _seats(moves: tuple[str, ...]) -> list[int]:
    session = Session.from_moves(GAME, " ".join(moves))
    return [int(position.mover) for position in session.positions[:-1]]


def test_area_scoring() -> None:
    """Tromp-Taylor: a region that touches both colors counts for neither."""
    rows = ["XX.OO", ".X.O.", "XX.OO", ".X.O.", "XX.OO"]
    board = np.array([["XO".find(mark) for mark in row] for row in rows])
    assert _count_area(board) == (8 + 2) - (8 + 2)
    board[0, 4] = -1
    assert _count_area(board) == 0  # still white's area
    board[:, 2] = 0
    assert _count_area(board) == 5
    assert _count_area(np.full((3, 3), -1)) == 0


def test_fuzz() -> None:
    """Every command with an id gets one response with that id; nothing raises."""
    generator = np.random.default_rng(7)
    words = [
        "play",
        "genmove",
        "undo",
        "b",
        "white",
        "A1",
        "C4",
        "pass",
        "komi",
        "boardsize",
        "1e999",
        "-1",
        "x" * 3000,
    ]
    words += [
        "time_left",
        "time_settings",
        "clear_board",
        "lz-analyze",
        "kata-genmove_analyze",
        "#",
        "\x00",
        "\x7f",
        "=",
        "é",
    ]
    words += ["final_score", "gogui-rules_board", "known_command", "reg_genmove", "set_game", "nan", "0", "interval"]
    lines = [f"{number} {' '.join(generator.choice(words, generator.integers(1, 5)))}" for number in range(1, 400)]
    raw = b"\xff\xfe\n\n  \n" + b"7" * 200_000 + b"\n" + "\n".join(lines).encode() + b"\n500 name\n500"
    answers = transcript(engine, raw)
    expected = [
        line.split()[0]
        for line in lines
        if len(line.partition("#")[0].replace("\x00", "").replace("\x7f", "").split()) > 1
    ]
    found = re.findall(r"^[=?](\d+)", answers, flags=re.MULTILINE)
    assert [number for number in found if number != "500"][-len(expected) :] == expected
    assert answers.rstrip().splitlines()[-1] in ("=500 Tabia", "? unknown command")


def test_games_without_vertices_are_refused() -> None:
    from typer.testing import CliRunner

    from tabia.cli.main import app

    shown = CliRunner().invoke(app, ["gtp", "connect4", "--player", "random"])
    assert shown.exit_code == 2 and "GTP has no notation for connect4" in shown.stderr


@pytest.mark.long
def test_the_command_ends_with_its_input() -> None:
    command = [sys.executable, "-m", "tabia", "gtp", "othello:size=4", "--player", "random"]
    done = subprocess.run(command, check=False, input=b"name\ngenmove b\n", capture_output=True, timeout=120)
    assert done.returncode == 0 and done.stdout.startswith(b"= Tabia\n\n= ") and done.stdout.endswith(b"\n\n")


@pytest.mark.long
@pytest.mark.parametrize("spec", ["az:othello,simulations=64", "network:othello"])
def test_an_agent_plays_on_the_full_board(spec: str) -> None:
    game = games.make("othello")
    with Client(lambda console: GtpEngine(players.make(spec, game), gtp_game(game), console)) as client:
        session, color = Session.start(game), ("black", "white")
        while not session.over:
            session = session.play(client.ask(f"genmove {color[session.mover]}").removeprefix("= "))
        assert session.ply > 40
