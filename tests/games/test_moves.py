"""Games as text: reading, writing, and errors."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games.errors import GameError, IllegalMove
from tabia.games.session import Session

from .playthrough import random_game


def actions(game: games.Game, text: str) -> list[int]:
    return list(Session.from_moves(game, text).actions)


@pytest.mark.parametrize("text", ["4453", "4 4 5 3", "4,4,5,3", " 44  5,3 ", "44 53"])
def test_spaces_and_commas_are_optional_where_names_are_clear(text: str) -> None:
    assert actions(games.make("connect4"), text) == [3, 3, 4, 2]


def test_a_name_of_two_digits_is_read_as_one_move_where_it_is_legal() -> None:
    wide = games.make("connect:rows=6,columns=12,line=4")
    assert actions(wide, "11 1 12") == [10, 0, 11]
    assert actions(wide, "1112") == [10, 11]
    assert actions(games.make("connect4"), "11") == [0, 0]


def test_case_does_not_matter() -> None:
    game = games.make("tictactoe")
    assert actions(game, "B2 a1 C3") == actions(game, "b2 a1 c3") == [4, 6, 2]


def test_every_position_is_given_the_start_first() -> None:
    game = games.make("connect4")
    states = Session.from_moves(game, "4453").states
    assert [int(state.moves) for state in states] == [0, 1, 2, 3, 4]
    assert Session.from_moves(game, "").states[0].stones.sum() == 0


@pytest.mark.parametrize("id", games.ids())
def test_random_games_round_trip(id: str) -> None:
    game = games.make(id)
    played = random_game(game, seed=3)
    written = Session.replay(game, played).text
    assert actions(game, written) == played
    assert game.over(Session.from_moves(game, written).state)


def test_the_same_moves_lead_where_step_leads() -> None:
    game = games.make("connect4")
    state = game.init(jax.random.key(0))
    for action in (3, 3, 4, 2):
        state = game.step(state, jnp.int32(action))
    jax.tree.map(np.testing.assert_array_equal, state, Session.from_moves(game, "4453").state)


def test_a_garbled_move_is_quoted_with_its_number_the_position_and_the_legal_moves() -> None:
    with pytest.raises(GameError) as refused:
        Session.from_moves(games.make("connect3"), "1 1 1 9x")
    message = str(refused.value)
    assert message.startswith("Move 4: '9x' is not legal here:")
    assert "X . . .\nO . . .\nX . . ." in message
    assert message.endswith("Legal moves: 2 3 4")


def test_a_full_column_is_refused() -> None:
    with pytest.raises(GameError, match=r"(?s)Move 4: '1' is not legal here.*Legal moves: 2 3 4"):
        Session.from_moves(games.make("connect3"), "1111")


def test_a_move_after_the_end_is_refused() -> None:
    with pytest.raises(GameError, match=r"Move 8: '1' cannot be played: the game is over"):
        Session.from_moves(games.make("connect4"), "12121211")


def test_a_single_move_is_parsed_with_or_without_a_position() -> None:
    game = games.make("tictactoe")
    start, *_, later = Session.from_moves(game, "b2").states
    assert game.parse_move(" B2 ") == game.parse_move("b2", start) == 4
    with pytest.raises(IllegalMove, match="'d4' is not a move of tictactoe"):
        game.parse_move("d4")
    with pytest.raises(IllegalMove, match=r"(?s)'b2' is not legal here.*Legal moves: a3 b3 c3 a2 c2 a1 b1 c1"):
        game.parse_move("b2", later)
