"""Ids make games; wrong ids are refused with suggestions."""

from __future__ import annotations

from pathlib import Path

import pytest

from tabia import games
from tabia.games.connect import Connect
from tabia.games.errors import GameError

NAMES = {"tictactoe", "connect4", "connect3", "chinese-checkers", "checkers", "othello"}


def test_own_games_are_listed() -> None:
    assert set(games.ids()) == NAMES


@pytest.mark.parametrize("id", sorted(NAMES))
def test_a_game_is_known_by_its_id(id: str) -> None:
    assert games.make(id).id == id
    assert games.make(id) == games.make(id)


@pytest.mark.parametrize(
    ("id", "game"),
    [
        ("connect4", Connect(6, 7, 4)),
        ("connect3", Connect(3, 4, 3)),
        ("connect", Connect(6, 7, 4)),
        ("connect:rows=6,columns=9,line=4", Connect(6, 9, 4)),
        ("connect: players = 3 , columns=5", Connect(6, 5, 4, 3)),
    ],
)
def test_parameters_are_read(id: str, game: Connect) -> None:
    assert games.make(id) == game
    assert games.make(game.id) == game


@pytest.mark.parametrize(
    ("id", "message"),
    [
        ("conect4", "There is no game 'conect4'. Did you mean connect4"),
        ("otello", "Did you mean othello"),
        ("tic-tac-toe", "Did you mean tictactoe"),
        ("chess", "There is no game 'chess'. Did you mean pgx:chess or pgx:gardner_chess?"),
        ("", "There is no game ''"),
        ("go", "Did you mean pgx:go_19x19 or pgx:go_9x9?"),
        ("bridge", "Known: tictactoe, connect4"),
        ("pgx ", "pgx has no game ''"),
        ("connect4:rows=7", "connect4 takes no parameter 'rows'"),
        ("connect:row=6", "connect takes no parameter 'row'. Did you mean rows"),
        ("tictactoe:size=4", "tictactoe takes no parameter 'size'"),
        ("connect:rows", "'rows' in 'connect:rows' is not a parameter; write key=value"),
        ("connect:rows=", "'rows=' in 'connect:rows=' is not a parameter"),
        ("connect:rows=six", "rows=six: expected a whole number"),
        ("connect:rows=6,rows=7", "'rows' is given twice"),
    ],
)
def test_ids_that_name_nothing_are_refused_with_the_nearest(id: str, message: str) -> None:
    with pytest.raises(GameError) as refused:
        games.make(id)
    assert message in str(refused.value)


@pytest.mark.parametrize(("id", "meant"), [("race", "race.py:Class"), ("race:Race", "race.py:Race")])
def test_a_file_without_its_ending_is_named(
    id: str, meant: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "race.py").write_text("")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(GameError, match=f"name the file, a colon and the class: {meant}$"):
        games.make(id)


@pytest.mark.parametrize(
    ("id", "allowed"),
    [
        ("connect:rows=3,columns=4,line=5", "line=5 is impossible on 3 x 4 fields: expected 2 to 4"),
        ("connect:line=1", "expected 2 to 7"),
        ("connect:columns=33", "1 to 32 rows and columns"),
        ("connect:rows=0", "1 to 32 rows and columns"),
        ("connect:players=5", "2 to 4 players, not 5"),
        ("connect:players=1", "2 to 4 players, not 1"),
        ("othello:size=5", "size=4, 6 or 8, not 5"),
        ("othello:size=10", "size=4, 6 or 8, not 10"),
        ("chinese-checkers:fields=121,players=5", "2, 3, 4, 6 with fields=121"),
        ("chinese-checkers:players=2", "expected 3 with fields=37"),
        ("chinese-checkers:fields=50", "fields=37 or 121, not 50"),
        ("connect4:history=0", "1 to 64"),
    ],
)
def test_impossible_parameters_are_refused_with_what_is_allowed(id: str, allowed: str) -> None:
    with pytest.raises(GameError) as refused:
        games.make(id)
    assert allowed in str(refused.value)
