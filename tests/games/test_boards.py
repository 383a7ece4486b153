"""Boards agree with the rules: pieces with the text drawing, paths with what a move changes."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from tabia.games import make
from tabia.games.boards import Drawing, position, view
from tabia.games.chinese_checkers.star import star
from tabia.games.session import Session

GAMES = (
    "tictactoe",
    "connect4",
    "connect:rows=5,columns=9,line=4,players=3",
    "othello:size=6",
    "checkers",
    "chinese-checkers",
    "chinese-checkers:fields=121",
    "pgx:hex",
    "pgx:go_9x9",
)
NIM = Path(__file__).parents[2] / "examples" / "nim.py"


def games(id: str, *, count: int = 2, plies: int = 130) -> list[Session]:
    """Random games, each to its end or to a number of plies."""
    found, rng, game = [], np.random.default_rng(3), make(id)
    for _ in range(count):
        session = Session.start(game)
        while not session.over and session.ply < plies:
            session = session.play(int(rng.choice(np.flatnonzero(session.legal))))
        found.append(session)
    return found


def prefixes(id: str) -> list[Session]:
    """Every seventh position of random games, and the last ones."""
    return [session.at(ply) for session in games(id) for ply in {*range(0, session.ply, 7), session.ply}]


@pytest.mark.parametrize("id", GAMES)
def test_the_pieces_on_the_cells_are_those_of_the_drawing(id: str) -> None:
    for session in prefixes(id):
        pieces, text = position(session)["pieces"], session.draw()
        seats = {"b": 0, "B": 0, "r": 1, "R": 1} if id == "checkers" else dict(zip("XO+", range(3), strict=True))
        marks = [mark for mark in text if mark == "." or mark in seats]
        assert pieces == [seats.get(mark, -1) for mark in marks[: len(pieces)]], text


@pytest.mark.parametrize("id", GAMES)
def test_a_path_ends_on_an_empty_cell_where_the_piece_then_stands(id: str) -> None:
    for session in prefixes(id):
        shown = position(session)
        cells = len(view(session.game).board.cells)
        assert len(shown["pieces"]) == cells
        assert [entry["action"] for entry in shown["legal"]] == np.flatnonzero(session.legal).tolist()
        for entry in shown["legal"]:
            if not (path := entry["path"]):
                assert entry["move"] in ("pass", "swap")
                continue
            assert shown["pieces"][path[-1]] == -1
            assert path[-1] in entry["targets"]
            if len(path) > 1:
                assert shown["pieces"][path[0]] == session.mover
        for entry in shown["legal"][:5]:
            if entry["path"]:
                after = session.play(entry["action"])
                then = position(after)
                assert then["pieces"][entry["path"][-1]] == session.mover
                assert then["last"][-len(entry["path"]) :] == entry["path"]
                changed = {*np.flatnonzero(np.array(then["pieces"]) != np.array(shown["pieces"])).tolist()}
                assert changed <= {*then["flipped"], *then["last"]}


@pytest.mark.parametrize("id", ["chinese-checkers", "chinese-checkers:fields=121"])
def test_every_jump_of_a_chain_goes_over_one_piece_to_an_empty_field(id: str) -> None:
    board = star(2 if id == "chinese-checkers" else 4)
    chains = 0
    for session in prefixes(id):
        shown = position(session)
        pieces = shown["pieces"]
        for entry in shown["legal"]:
            path = entry["path"]
            if len(path) == 2 and path[1] in board.neighbors[path[0]]:
                continue
            chains += 1
            for here, there in pairwise(path):
                middle = (board.points[here] + board.points[there]) / 2
                near = [field for field in board.neighbors[here] if field < len(pieces)]
                over = [field for field in near if np.allclose(board.points[field], middle)]
                assert len(over) == 1
                assert shown["pieces"][over[0]] >= 0
                assert shown["pieces"][there] == -1
    assert chains > 10


def test_jumps_of_one_piece_in_checkers_are_one_path() -> None:
    for session in games("checkers", count=6):
        for ply in range(2, session.ply + 1):
            here = session.at(ply)
            if int(here.positions[-2].mover) == int(here.positions[-3].mover):
                shown = position(here)
                assert len(shown["last"]) >= 3
                assert len(shown["flipped"]) == len(shown["last"]) - 1
                return
    raise AssertionError("No game had a double jump.")


def test_a_connect_column_is_a_target_as_a_whole() -> None:
    shown = position(Session.from_moves(make("connect4"), "44"))
    entry = next(entry for entry in shown["legal"] if entry["move"] == "4")
    assert entry["path"] == [3 * 7 + 3]
    assert entry["targets"] == [3 + 7 * row for row in range(6)]


def test_the_winning_line_goes_through_the_last_move_in_order() -> None:
    shown = position(Session.from_moves(make("connect4"), "4455667"))
    assert shown["line"] == [38, 39, 40, 41]
    assert shown["result"] == {
        "scores": [1.0, -1.0],
        "winner": 0,
        "text": "Red won with four in a row",
        "reason": "four in a row",
    }


def test_a_hex_game_ends_with_a_chain_from_edge_to_edge() -> None:
    for session in games("pgx:hex", count=3):
        shown = position(session)
        line, side = shown["line"], session.winner
        assert all(shown["pieces"][cell] == side for cell in line)
        ends = [cell // 11 if side == 0 else cell % 11 for cell in (line[0], line[-1])]
        assert ends == [0, 10]


@pytest.mark.parametrize("moves", ["", "44"])
def test_a_resignation_is_a_result_in_words(moves: str) -> None:
    session = Session.from_moves(make("connect4"), moves).resign(0)
    shown = position(session, ["You", "Club"])
    assert (shown["result"]["text"], shown["result"]["winner"], shown["line"]) == ("You resigned", 1, None)
    assert shown["legal"] == []


def test_other_games_are_drawings_with_a_list_of_moves() -> None:
    game = make("pgx:animal_shogi")
    shown = position(Session.start(game))
    assert isinstance(view(game), Drawing)
    assert shown["svg"].startswith("<svg")
    assert len(shown["legal"]) == 4
    assert "pieces" not in shown and "text" not in shown
    nim = Session.start(make(f"{NIM}:Nim"))
    assert position(nim)["text"] == "a |||\nb ||||\nc |||||" == nim.draw()
