"""History planes: the earlier positions of the same game, seen from the same seat."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games.errors import GameError
from tabia.games.history import History
from tabia.games.session import Session

from .playthrough import random_game

GAMES = [
    "connect:rows=4,columns=5,line=3,players=3",
    "tictactoe",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("connect4", "othello:size=4")),
]


@pytest.mark.parametrize("id", GAMES)
def test_planes_are_the_earlier_observations_from_the_same_seat(id: str) -> None:
    game, depth = games.make(id), 4
    shown = History(game, depth)
    text = Session.replay(game, random_game(game, seed=1)[:6]).text
    plain, remembered = Session.from_moves(game, text).states, Session.from_moves(shown, text).states
    planes = game.observation_shape[-1]
    for ply, state in enumerate(remembered):
        for seat in range(game.num_players):
            seen = np.asarray(shown.observe(state, jnp.int32(seat)))
            for back in range(depth):
                expected = game.observe(plain[ply - back], jnp.int32(seat)) if back <= ply else 0.0
                np.testing.assert_array_equal(seen[:, :, back * planes : (back + 1) * planes], expected)


def test_the_mover_is_shown_its_own_view_of_the_past() -> None:
    game = games.make("tictactoe:history=2")
    state = Session.from_moves(game, "b2 a1").state
    own_now, other_now, own_before, other_before = np.moveaxis(np.asarray(game.observe(state)), -1, 0)
    assert own_now.sum() == own_before.sum() == own_now[1, 1] == own_before[1, 1] == 1
    assert (other_now.sum(), other_now[2, 0], other_before.sum()) == (1, 1, 0)


def test_an_illegal_action_is_not_remembered() -> None:
    game = games.make("tictactoe:history=3")
    before = Session.from_moves(game, "b2 a1").state
    after = game.step(before, jnp.int32(4))
    np.testing.assert_array_equal(game.observe(after), game.observe(before))


@pytest.mark.parametrize(
    "id",
    [
        "connect4:history=4",
        "connect:rows=6,columns=9,line=4,history=2",
        "othello:size=6,history=3",
        "tictactoe:history=64",
    ],
)
def test_ids_come_back(id: str) -> None:
    game = games.make(id)
    assert game.id == id
    assert games.make(game.id) == game
    assert hash(games.make(game.id)) == hash(game)


def test_everything_else_is_the_game_itself() -> None:
    game, shown = games.make("connect4"), games.make("connect4:history=4")
    ours = ("name", "version", "num_players", "num_actions", "max_moves", "score_range", "chance", "has_heuristic")
    assert [getattr(shown, name) for name in ours] == [getattr(game, name) for name in ours]
    state, plain = Session.from_moves(shown, "4453").state, Session.from_moves(game, "4453").state
    assert shown.draw(state) == game.draw(plain)
    assert shown.svg(state) == game.svg(plain)
    np.testing.assert_array_equal(shown.heuristic(state), game.heuristic(plain))
    assert games.make("connect4:history=1") == game


@pytest.mark.parametrize("depth", [0, -3, 65])
def test_impossible_depths_are_refused(depth: int) -> None:
    with pytest.raises(GameError, match=f"history={depth}: expected 1 to 64"):
        games.make(f"connect4:history={depth}")
