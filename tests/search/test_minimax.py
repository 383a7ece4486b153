"""Minimax agrees with alpha-beta and max^n in plain Python, and refuses invalid settings."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import Game, State
from tabia.search.errors import SearchError
from tabia.search.minimax import Minimax, first

from . import alphabeta_reference as reference
from .positions import one, random_positions
from .toy_games import Dice, Race, RaceState

KEY = jax.random.key(0)
BATCH = 16  # the same everywhere, because compiling is what takes time
TICTACTOE, CONNECT4 = games.make("tictactoe"), games.make("connect4")
SMALL = games.make("connect:rows=4,columns=5,line=3")
WEIGHTS = np.random.default_rng(0).normal(size=(3, 3)).astype(np.float32)


def by_fields(state: State) -> Array:
    """A heuristic for tic-tac-toe with different values for almost all positions."""
    planes = TICTACTOE.observe(state, jnp.int32(0))
    worth = 0.5 * jnp.tanh(jnp.sum((planes[:, :, 0] - planes[:, :, 1]) * WEIGHTS))
    return jnp.stack([worth, -worth])


def by_track(state: RaceState) -> Array:
    """A heuristic for the race: each seat's progress minus some of the next seat's."""
    share = state.fields / 12.0
    return share - 0.3 * jnp.roll(share, -1)


@pytest.mark.parametrize(
    ("game", "heuristic", "depth"),
    [
        *((TICTACTOE, by_fields, depth) for depth in (1, 3)),
        (SMALL, SMALL.heuristic, 2),  # Connect 4 is searched to depth 4
        *(pytest.param(TICTACTOE, by_fields, depth, marks=pytest.mark.long) for depth in (2, 4)),
        *(pytest.param(SMALL, SMALL.heuristic, depth, marks=pytest.mark.long) for depth in (1, 3, 4)),
    ],
)
def test_every_move_has_the_value_of_alpha_beta(game: Game, heuristic: reference.Heuristic, depth: int) -> None:
    compare_with_alpha_beta(game, heuristic, random_positions(game, BATCH, seed=depth), depth)


def test_connect4_agrees_with_alpha_beta() -> None:
    compare_with_alpha_beta(CONNECT4, CONNECT4.heuristic, random_positions(CONNECT4, 8, seed=5, most_moves=24), 4)


def compare_with_alpha_beta(game: Game, heuristic: reference.Heuristic, states: State, depth: int) -> None:
    outlook = jax.device_get(Minimax(game, depth, None if game.has_heuristic else heuristic).run(states, KEY))
    for lane in range(len(outlook.action)):
        root = reference.root(game, one(states, lane))
        after = reference.children(game, root, heuristic)
        wanted = {action: reference.alpha_beta(game, child, depth - 1, heuristic) for action, child in after}
        everywhere = [wanted.get(action, -np.inf) for action in range(game.num_actions)]
        np.testing.assert_allclose(outlook.branches[lane, :, 0], everywhere, atol=1e-6)
        value = reference.alpha_beta(game, root, depth, heuristic)
        np.testing.assert_allclose(outlook.values[lane], [value, -value], atol=1e-6)
        assert wanted[int(outlook.action[lane])] == pytest.approx(value, abs=1e-6)


@pytest.mark.parametrize("depth", [pytest.param(1, marks=pytest.mark.long), 3, pytest.param(4, marks=pytest.mark.long)])
def test_three_seats_that_may_move_twice_agree_with_max_n(depth: int) -> None:
    game = Race()
    states = random_positions(game, BATCH, seed=depth)
    outlook = Minimax(game, depth, by_track, ties=first).run(states, KEY)
    for lane in range(BATCH):
        root = reference.root(game, one(states, lane))
        wanted = np.full((game.num_actions, 3), -np.inf)
        for action, child in reference.children(game, root, by_track):
            wanted[action] = reference.max_n(game, child, depth - 1, by_track)
        np.testing.assert_allclose(outlook.branches[lane], wanted, atol=1e-6)
        np.testing.assert_allclose(outlook.values[lane], reference.max_n(game, root, depth, by_track), atol=1e-6)


def test_blocks_of_a_wide_batch_give_the_same_result() -> None:
    states = random_positions(SMALL, BATCH, seed=1)
    whole, blocks = (Minimax(SMALL, 2, width=width).run(states, KEY) for width in (8192, 5))
    np.testing.assert_array_equal(whole.branches, blocks.branches)
    np.testing.assert_array_equal(whole.action, blocks.action)


def test_other_positions_change_nothing() -> None:
    states = random_positions(SMALL, BATCH, seed=2)
    turned = jax.tree.map(lambda leaf: leaf[::-1], states)
    minimax = Minimax(SMALL, 3)
    np.testing.assert_array_equal(minimax.run(states, KEY).branches, minimax.run(turned, KEY).branches[::-1])


def stacked(game: Game, moves: str) -> State:
    """A batch of one: the position after these moves."""
    state = game.init(KEY)
    for move in moves.split():
        state = play(game, state, jnp.int32(game.parse_move(move)))
    return jax.tree.map(lambda leaf: leaf[None], state)


@partial(jax.jit, static_argnums=0)
def play(game: Game, state: State, action: Array) -> State:
    return game.step(state, action)


def boastful(state: State) -> Array:
    """Values every unfinished position as a win for every seat."""
    return jnp.ones(2)


def test_a_win_beats_any_heuristic() -> None:
    # Three on top of each other in column 1: the fourth wins now.
    outlook = Minimax(CONNECT4, 1, boastful).run(stacked(CONNECT4, "1 2 1 3 1 2"), KEY)
    assert int(outlook.action[0]) == 0
    assert outlook.best[0].tolist() == [True] + [False] * 6


def test_threats_are_blocked() -> None:
    # The same with the other seat to move: column 1 is the only move that does not lose at once.
    outlook = Minimax(CONNECT4, 2).run(stacked(CONNECT4, "1 2 1 3 1"), KEY)
    assert int(outlook.action[0]) == 0
    np.testing.assert_array_equal(outlook.branches[0, 1:, 1], -1.0)


def test_without_heuristic_unfinished_positions_have_value_0() -> None:
    outlook = Minimax(TICTACTOE, 2).run(stacked(TICTACTOE, "b2"), KEY)
    assert float(jnp.abs(outlook.values).max()) == 0.0
    assert int(outlook.best.sum()) == 8


def test_ties_are_broken_at_random_or_by_the_first() -> None:
    states = jax.tree.map(lambda leaf: jnp.repeat(leaf, 4000, axis=0), stacked(TICTACTOE, "b2"))
    played = np.bincount(np.asarray(Minimax(TICTACTOE, 1).run(states, KEY).action), minlength=9)
    assert played[4] == 0
    # 8 moves, 500 each on average, standard deviation 21: five of them leave no room for a biased choice.
    assert all(abs(count - 500) < 105 for field, count in enumerate(played) if field != 4)
    assert Minimax(TICTACTOE, 1, ties=first).run(states, KEY).action.tolist() == [0] * 4000


def test_invalid_settings_are_refused() -> None:
    with pytest.raises(SearchError, match="depth=0: at least 1 is needed"):
        Minimax(TICTACTOE, 0)
    with pytest.raises(SearchError, match="width=0"):
        Minimax(TICTACTOE, 1, width=0)
    with pytest.raises(SearchError, match="dice has chance"):
        Minimax(Dice(), 2)
    with pytest.raises(SearchError, match="Position 0 of the batch is already over"):
        Minimax(CONNECT4, 2).run(stacked(CONNECT4, "1 2 1 2 1 2 1"), KEY)
    with pytest.raises(SearchError, match="not positions of tictactoe"):
        Minimax(TICTACTOE, 2).run(stacked(CONNECT4, "1"), KEY)
