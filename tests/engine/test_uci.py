"""Tabia as a UCI engine: python-chess as the client, transcripts, stopping, and input that makes no sense."""

from __future__ import annotations

import asyncio
import re
import sys
import time
from collections.abc import Iterator

import chess
import chess.engine
import numpy as np
import pytest

import tabia
from tabia import games, players
from tabia.engine import Console, UciEngine, thinking
from tabia.games.game import State
from tabia.games.protocols import ProtocolError, UciGame, uci_game
from tabia.games.protocols.fen import state_from_fen
from tabia.games.protocols.uci import Limits, parse_go
from tabia.games.session import Session
from tabia.players import PlayerError

from .client import Broken, Client, Outside, compilations, transcript

GAME = games.make("tictactoe")
SIMULATIONS = 256
CHESS = [sys.executable, "-m", "tabia", "uci", "pgx:chess", "--player", "random"]


class Notation(UciGame):
    """Tic-tac-toe in the syntax of UCI, because its programs compile in no time."""

    def text(self, action: int, state: State) -> str:
        return self.game.move_name(action) * 2


@pytest.fixture(autouse=True)
def small_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endless searches with trees of the player's own size, so that all share one program."""
    for size in ("FIRST_TREE", "ENDLESS_TREE"):
        monkeypatch.setattr(thinking, size, SIMULATIONS)


@pytest.fixture
def python_chess() -> Iterator[None]:
    """python-chess replaces asyncio's policy for the whole process, and other tests need the usual one."""
    before = asyncio.get_event_loop_policy()
    yield
    asyncio.set_event_loop_policy(before)


def engine(console: Console, spec: str = "random") -> UciEngine:
    make = None if spec == "random" else lambda count: players.make(f"mcts:simulations={count}", GAME)
    return UciEngine(players.make(spec, GAME), Notation(GAME, "tictactoe"), console, make=make)


def searching(console: Console) -> UciEngine:
    return engine(console, f"mcts:simulations={SIMULATIONS}")


def test_transcript() -> None:
    commands = b"""\
uci
isready
setoption name MultiPV value 2
setoption name MultiPV value many
setoption name Hash value 16
setoption name UCI_Variant value tictactoe
setoption name UCI_Variant value chess
position startpos moves b2b2 a1a1
position startpos moves b2b2 b2b2
position fen 8/8 w - - 0 1
d
position startpos moves a1a1 b1b1 a2a2 b2b2 a3a3
go nodes 10
joho isready
dance
quit
isready
"""
    assert (
        transcript(engine, commands)
        == f"""\
id name Tabia {tabia.__version__} random
id author the Tabia contributors
option name MultiPV type spin default 1 min 1 max 256
option name UCI_Variant type combo default tictactoe var tictactoe
uciok
readyok
info string expected a whole number from 1 to 256, not 'many'
info string no such option: 'Hash'
info string this engine plays tictactoe, not 'chess'
info string 'b2b2' is not legal here: 3 . . . 2 . X . 1 . . . a b c Legal moves: a3 b3 c3 a2 c2 a1 b1 c1
info string tictactoe has no FEN here; set up positions by moves from the start.
3 . . .
2 . X .
1 O . .
  a b c
info string the game is over
bestmove (none)
readyok
info string unknown command 'dance'
"""
    )


def test_searches_are_bounded_and_described() -> None:
    with Client(searching) as client:
        client.send("uci", "isready", "position startpos moves b2b2 c2c2")
        options = client.until("readyok")
        assert f"option name Simulations type spin default {SIMULATIONS} min 1 max 1000000" in options
        legal = Session.from_moves(GAME, "b2 c2").legal_moves
        for command, nodes in (("go", SIMULATIONS), ("go nodes 100", 100), ("go nodes 0", 1), ("go movetime 1", None)):
            client.send(command)
            *_, last, best = client.until("bestmove")
            found = re.fullmatch(
                r"info depth (\d+) multipv 1 score cp -?\d+ nodes (\d+) nps \d+ time \d+ pv ((?:\w+ ?)+)", last
            )
            assert found is not None and (nodes is None or int(found[2]) == nodes)
            line = found[3].split()
            assert len(line) == int(found[1]) and line[0][:2] in legal
            assert best.split()[:2] == ["bestmove", line[0]] and best.split()[3:] == line[1:2]
        client.send("setoption name MultiPV value 3", "go nodes 200")
        *_, third, _ = client.until("bestmove")
        assert " multipv 3 " in third
        client.send("go depth 3")
        assert int(client.until("bestmove")[-2].split()[2]) >= 1


def test_stop_is_answered_at_once_and_an_infinite_search_waits_for_it() -> None:
    with Client(searching) as client:
        client.send("isready", "position startpos", "go infinite")
        client.until("readyok")
        client.until("info depth")
        while f" nodes {SIMULATIONS} " not in client.line():
            pass
        assert client.is_silent(0.2)  # the tree is full
        client.send("isready")
        assert client.line() == "readyok"
        started = time.perf_counter()
        client.send("stop")
        assert client.line().startswith("bestmove ") and time.perf_counter() - started < 30.0
        client.send("go infinite", "stop")
        client.until("bestmove")
        client.send("go infinite", "position startpos moves b2b2", "go nodes 5")  # ends the first, then answers
        client.until("bestmove")
        assert client.until("bestmove")[-1].split()[1] != "b2b2"
        client.send("go infinite")  # the end of the input ends it too


def test_nothing_is_compiled_after_readyok(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the limits, and if the player's own tree has another size."""
    for size in ("FIRST_TREE", "ENDLESS_TREE"):
        monkeypatch.setattr(thinking, size, 64)
    with Client(lambda console: engine(console, "mcts:simulations=24")) as client, compilations() as names:
        client.send("isready")
        client.until("readyok")
        assert names
        names.clear()
        for limits in ("", "nodes 1", "nodes 64", "depth 2", "movetime 1", "wtime 1000 btime 1000", "wtime -5"):
            client.send("position startpos moves b2b2 a1a1", f"go {limits}")
            client.until("bestmove")
        client.send("setoption name MultiPV value 3", "go infinite", "stop")
        client.until("bestmove")
        assert not names


def test_errors_are_reported_and_answered() -> None:
    """A program waits for `readyok` and `bestmove`, whatever happens."""
    lines = b"isready\nposition startpos\ngo nodes 5\ngo infinite\nquit\n"
    answers = transcript(lambda console: UciEngine(Broken(GAME), Notation(GAME, "tictactoe"), console), lines)
    reason = "info string broken has no move, as always."
    assert answers.splitlines() == [reason, "readyok", reason, "bestmove (none)", reason, "bestmove (none)"]


def test_outside_engines_are_refused() -> None:
    with pytest.raises(PlayerError, match="outside is an engine itself"):
        transcript(lambda console: UciEngine(Outside(GAME), Notation(GAME, "tictactoe"), console), b"")


@pytest.mark.parametrize(
    ("line", "limits"),
    [
        ("go wtime -5 btime 100", Limits(wtime=0, btime=100)),
        ("go movetime -1", Limits(movetime=0)),
        ("go nodes -3 depth x", Limits(nodes=0)),
        ("go nodes " + "9" * 5000, Limits()),
    ],
)
def test_numbers_of_a_search(line: str, limits: Limits) -> None:
    """A clock that has run out is negative, and is no missing clock."""
    assert parse_go(line) == limits


def test_moves_are_read_once() -> None:
    """Programs repeat all moves; only the new ones are played, and another game is not confused with it."""
    with Client(engine) as client:
        client.send("position startpos moves a1a1 b2b2", "position startpos moves a1a1 b2b2 c3c3", "isready")
        client.until("readyok")
        assert client.engine.table.session.moves == ("a1", "b2", "c3")
        client.send("position startpos moves a1a1", "isready")
        client.until("readyok")
        assert client.engine.table.session.moves == ("a1",)
        client.send("position startpos moves c1c1 a1a1", "ucinewgame", "position startpos moves a1a1", "isready")
        client.until("readyok")
        assert client.engine.table.session.moves == ("a1",)


def test_fuzz() -> None:
    """Nothing raises, every `go` is answered by one `bestmove`, and every `isready` by `readyok`."""
    generator = np.random.default_rng(7)
    words = [
        "position",
        "startpos",
        "moves",
        "a1a1",
        "b2b2",
        "fen",
        "setoption",
        "name",
        "value",
        "MultiPV",
        "-1",
        "\x00",
    ]
    words += [
        "ucinewgame",
        "d",
        "debug",
        "stop",
        "nodes",
        "movetime",
        "infinite",
        "depth",
        "wtime",
        "9" * 30,
        "é",
        "x" * 3000,
    ]
    lines = [" ".join(generator.choice(words, generator.integers(1, 6))) for _ in range(400)]
    lines[::10] = ["go nodes 5"] * 40
    lines[5::10] = ["isready"] * 40
    answers = transcript(engine, b"\xff\xfe\n" + b"go" * 100_000 + b"\n" + "\n".join(lines).encode()).splitlines()
    assert sum(line.startswith("bestmove") for line in answers) == 40
    assert answers.count("readyok") == 40


def test_bad_positions_are_refused_before_pgx_sees_them() -> None:
    game = games.make("pgx:gardner_chess")
    for text in (
        "",
        "rnbqk/ppppp/5/PPPPP/RNBQK",
        "rnbqk/ppppp/5/PPPPP/RNBQK x - - 0 1",
        "rnbqk/ppppp/5/PPPPP w - - 0 1",
        "rnbqk/ppppp/55/PPPPP/RNBQK w - - 0 1",
        "rnbqk/ppppp/5/PPPPP/RNBQQ w - - 0 1",
        "rnbqk/ppppp/5/PPPPP/RNB1/K w - - 0 1",
        "rnbqk/ppppp/4z/PPPPP/RNBQK w - - 0 1",
        "rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 99999999999",
    ):
        with pytest.raises(ProtocolError):
            state_from_fen(game, text)
    with pytest.raises(ProtocolError, match="has no FEN"):
        state_from_fen(games.make("connect4"), "8/8 w - - 0 1")


@pytest.mark.usefixtures("python_chess")
def test_python_chess_plays_a_game_of_chess() -> None:
    """python-chess knows the rules: it refuses an illegal move."""
    with chess.engine.SimpleEngine.popen_uci(CHESS, timeout=120) as program:
        assert program.id["name"] == f"Tabia {tabia.__version__} random"
        board = chess.Board()
        for _ in range(8):
            board.push(_move(program, board))


def _move(program: chess.engine.SimpleEngine, board: chess.Board) -> chess.Move:
    played = program.play(board, chess.engine.Limit(nodes=4)).move
    assert played is not None
    return played


FENS = (
    "r3k2r/p1ppqpb1/bn2pnp1/3PN3/1p2P3/2N2Q1p/PPPBBPPP/R3K2R w KQkq - 0 1",
    "8/2p5/3p4/KP5r/1R3p1k/8/4P1P1/8 w - - 0 1",
    "r3k2r/Pppp1ppp/1b3nbN/nP6/BBP1P3/q4N2/Pp1P2PP/R2Q1RK1 w kq - 0 1",
    "rnbqkbnr/ppp1pppp/8/8/3pP3/8/PPPP1PPP/RNBQKBNR b KQkq e3 0 3",
)
"""Positions of the chess programming wiki with castling, pins, promotions and en passant."""


@pytest.mark.long
def test_positions_have_the_legal_moves_of_python_chess() -> None:
    game = games.make("pgx:chess")
    notation = uci_game(game)
    for text in FENS:
        session = Session.from_state(game, state_from_fen(game, text))
        board = chess.Board(text)
        assert session.mover == int(board.turn == chess.BLACK)
        found = {
            notation.text(action, session.state) for action in notation.legal_actions(session.state, session.legal)
        }
        assert found == {move.uci() for move in board.legal_moves}
        for action in notation.legal_actions(session.state, session.legal):
            after = board.copy()
            after.push_uci(notation.text(action, session.state))
            assert int(session.play(action).legal.sum()) == after.legal_moves.count()


@pytest.mark.long
def test_no_program_of_chess_is_compiled_after_readyok() -> None:
    game = games.make("pgx:chess")
    player = players.make("mcts:simulations=8,rollout_moves=2", game)
    with Client(lambda console: UciEngine(player, uci_game(game), console)) as client, compilations() as names:
        client.send("isready")
        client.until("readyok")
        names.clear()
        for text in FENS:
            for limits in ("", "movetime 1", "nodes 20"):
                client.send(f"position fen {text}", f"go {limits}")
                client.until("bestmove")
        assert not names


@pytest.mark.long
@pytest.mark.usefixtures("python_chess")
def test_python_chess_sets_up_positions() -> None:
    with chess.engine.SimpleEngine.popen_uci(CHESS, timeout=120) as program:
        for text in FENS:
            board = chess.Board(text)
            assert _move(program, board) in board.legal_moves


@pytest.mark.long
def test_gardner_chess_with_a_search() -> None:
    game = games.make("pgx:gardner_chess")
    player = players.make("mcts:simulations=64,rollout_moves=8", game)
    with Client(lambda console: UciEngine(player, uci_game(game), console)) as client:
        client.send("isready", "position fen rnbqk/ppppp/5/PPPPP/RNBQK w - - 0 1", "go")
        *_, best = client.until("bestmove")
        assert best.split()[1] in Session.start(game).legal_moves
