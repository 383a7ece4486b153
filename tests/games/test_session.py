"""A game in progress: moves, taking them back, its end, and saving it."""

from __future__ import annotations

import json

import jax
import numpy as np
import pytest

from tabia import games
from tabia.games import GameError, IllegalMove, Seats, Session, seats

CONNECT4 = games.make("connect4")
WON = "1 2 1 2 1 2 1"


@pytest.mark.parametrize("text", ["4453", "4 4 5 3"])
def test_a_session_is_where_its_moves_lead(text: str) -> None:
    session = Session.from_moves(CONNECT4, text)
    assert (session.actions, session.moves, session.text) == ((3, 3, 4, 2), ("4", "4", "5", "3"), "4 4 5 3")
    assert session.ply == 4 and session.mover == 0 and session.last_move == "3"
    assert str(session) == session.draw() == CONNECT4.draw(session.state) and session.svg().startswith("<svg")
    later = session.play("4")
    assert (later.ply, session.ply) == (5, 4)
    assert later.legal_moves == ["1", "2", "3", "4", "5", "6", "7"]


def test_refusals_say_what_was_expected() -> None:
    session = Session.start(CONNECT4)
    with pytest.raises(IllegalMove, match="9"):
        session.play("9")
    with pytest.raises(GameError, match="Action 7 is out of range for connect4: expected 0 to 6"):
        session.play(7)
    with pytest.raises(GameError, match="Move 3"):
        Session.from_moves(CONNECT4, "44x")
    with pytest.raises(GameError, match="Move 2: Action 7"):
        Session.replay(CONNECT4, [3, 7])
    with pytest.raises(IllegalMove, match="the game is over"):
        Session.from_moves(CONNECT4, WON).play(2)
    with pytest.raises(GameError, match="has 0 moves; 1 cannot be taken back"):
        session.undo()


def test_undo_and_at_give_earlier_positions() -> None:
    session = Session.from_moves(CONNECT4, "4453")
    for ply in range(5):
        alone = Session.from_moves(CONNECT4, "4453"[:ply])
        for found in (session.at(ply), session.undo(4 - ply)):
            assert found.actions == alone.actions
            jax.tree.map(np.testing.assert_array_equal, found.state, alone.state)


def test_a_person_goes_back_to_its_own_turn() -> None:
    session = Session.from_moves(CONNECT4, "445")
    assert [found and found.text for found in map(session.undo_to_turn, [[0], [1], [0, 1], []])] == [
        "4 4",
        "4",
        "4 4",
        None,
    ]
    assert Session.start(CONNECT4).undo_to_turn([0]) is None


def test_the_result_names_the_winner_and_the_reason() -> None:
    won = Session.from_moves(CONNECT4, WON)
    assert won.over and won.winner == 0 and won.scores.tolist() == [1.0, -1.0] and won.legal_moves == []
    assert won.result == "Seat 1 (X) won: X has a line of 4"
    drawn = Session.from_moves(games.make("tictactoe"), "b2 a1 a3 c1 b1 b3 c2 a2 c3")
    assert drawn.winner is None and drawn.result == "Draw: the board is full"
    assert Session.start(CONNECT4).result == ""


def test_a_seat_that_resigns_loses_and_can_take_it_back() -> None:
    session = Session.from_moves(CONNECT4, "44").resign(0)
    assert session.over and session.winner == 1 and session.scores.tolist() == [-1.0, 1.0]
    assert session.result == "Seat 2 (O) won: Seat 1 (X) resigned" and not session.legal.any()
    with pytest.raises(GameError, match="Seat 1 has resigned"):
        session.play(3)
    with pytest.raises(GameError, match="too late to resign"):
        session.resign(1)
    assert not session.undo(0).over
    with pytest.raises(GameError, match="a game for two"):
        Session.start(games.make("chinese-checkers")).resign(0)


@pytest.mark.parametrize("game_id", ["pgx:backgammon", "connect4"])
def test_the_seed_and_the_moves_determine_the_game(game_id: str) -> None:
    """Games with chance too: a saved session is restored position by position."""
    game = games.make(game_id)
    session = Session.start(game, seed=11)
    for _ in range(6):
        session = session.play(int(np.flatnonzero(session.legal)[-1]))
    saved = json.loads(json.dumps(session.to_dict()))
    for again in (Session.from_dict(game, saved), Session.replay(game, session.actions, seed=11)):
        assert again.to_dict() == session.to_dict()
        jax.tree.map(np.testing.assert_array_equal, again.states, session.states)


def test_a_resigned_session_is_restored() -> None:
    session = Session.from_moves(CONNECT4, "44").resign(1)
    assert Session.from_dict(CONNECT4, session.to_dict()).result == session.result


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"game": "connect3"}, "Expected a saved game of connect4, version 1, not of 'connect3', version 1"),
        ({"version": 9}, "version 9"),
        ({"seed": "x"}, "whole number `seed`"),
        ({"moves": "44"}, "list of texts `moves`"),
        ({"moves": ["4", "9"]}, "Move 2"),
        ({"resigned": 5}, "cannot resign"),
    ],
)
def test_a_damaged_save_is_refused(change: dict[str, object], message: str) -> None:
    with pytest.raises(GameError, match=message):
        Session.from_dict(CONNECT4, {**Session.from_moves(CONNECT4, "44").to_dict(), **change})


def test_seats_know_their_people_and_swap() -> None:
    both, one = Seats(("human", "human")), Seats(("random", "human", "greedy"))
    assert (both.people, both.only_person, one.people, one.only_person) == ((0, 1), None, (1,), 1)
    assert one.swapped().players == ("greedy", "random", "human")
    assert seats.name(CONNECT4, 1) == "Seat 2 (O)"
    assert seats.outcome(["A", "B", "C"], [3.0, 3.0, 0.0]) == "A and B share first place"
