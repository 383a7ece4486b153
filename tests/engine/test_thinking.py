"""A search in pieces is the player's own search, and its bounds hold."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games, players
from tabia.engine.clock import GtpClocks, allot
from tabia.engine.thinking import Bounds, Thinking
from tabia.games.session import Session

GAME = games.make("tictactoe")
START = Session.from_moves(GAME, "b2 a1")


def finish(thinking: Thinking) -> Thinking:
    while thinking.step():
        pass
    return thinking


@pytest.mark.parametrize("spec", ["mcts:simulations=24,temperature=1", "az:tictactoe,simulations=24"])
def test_pieces_give_the_move_and_the_visits_of_the_whole_search(spec: str) -> None:
    """The player az plans its root by Gumbel, which must know the number of simulations in advance."""
    player = players.make(spec, GAME)
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], START.state)
    expected = player.choose(states, START.key, jnp.array([START.ply]))
    thought = finish(Thinking(player, START)).thought(lines=9)
    assert thought.simulations == 24
    assert thought.action == thought.moves[0].action == int(expected.actions[0])
    assert expected.visits is not None and expected.values is not None
    visits = np.zeros(9)
    for move in thought.moves:
        visits[move.action] = move.visits
    np.testing.assert_array_equal(visits, expected.visits[0])
    assert thought.value == pytest.approx(float(expected.values[0, START.mover]), abs=1e-6)


def test_lines_are_legal_games() -> None:
    thought = finish(Thinking(players.make("mcts:simulations=24", GAME), START)).thought(lines=9)
    assert len(thought.moves) == int(START.legal.sum())
    for move in thought.moves:
        session = START
        for action, state in move.line:
            np.testing.assert_array_equal(state.stones, session.state.stones)
            session = session.play(action)  # raises if it is illegal


def test_priors_are_those_of_the_network() -> None:
    player, network = (players.make(spec, GAME) for spec in ("az:tictactoe,simulations=24", "network:tictactoe"))
    states = jax.tree.map(lambda leaf: jnp.asarray(leaf)[None], START.state)
    expected = network.choose(states, START.key).policy
    assert expected is not None
    for move in finish(Thinking(player, START)).thought(lines=9).moves:
        assert move.prior == pytest.approx(float(expected[0, move.action]), abs=1e-5)


def test_bounds() -> None:
    player = players.make("mcts:simulations=24", GAME)
    assert finish(Thinking(player, START, Bounds(simulations=100))).simulations == 100
    assert finish(Thinking(player, START, Bounds(simulations=1))).simulations == 1
    assert len(finish(Thinking(player, START, Bounds(depth=4))).thought().moves[0].line) >= 4
    timed = finish(Thinking(player, START, Bounds(seconds=0.3, endless=True)))
    assert timed.seconds >= 0.3 or timed.simulations == timed._pieces.search.simulations
    stopped = Thinking(player, START, Bounds(endless=True))
    assert stopped.step() and 1 <= stopped.thought().simulations < 1024


def test_a_player_without_a_tree_answers_in_one_piece() -> None:
    thinking = Thinking(players.make("perfect", GAME), START, Bounds(endless=True))
    assert not thinking.step()
    thought = thinking.thought()
    assert START.legal[thought.action] and [action for action, _ in thought.moves[0].line] == [thought.action]


def test_time_is_shared_among_the_moves_to_come() -> None:
    assert allot(30.0) == pytest.approx(1.0) and allot(10.0, moves=5) == pytest.approx(2.0)
    assert allot(10.0, increment=1.0) > allot(10.0) and 0 < allot(0.0) <= allot(0.1)
    left = 10.0
    for _ in range(500):  # a clock with an increment never runs out
        left += 0.5 - allot(left, increment=0.5)
        assert left > 0


def test_clocks_of_gtp() -> None:
    clocks = GtpClocks()
    assert clocks.seconds(0) is None
    clocks.settings(0, 30, 10)  # ten stones in every 30 seconds
    assert clocks.seconds(0) == pytest.approx(3.0)
    clocks.spend(0, 12.0)
    assert clocks.seconds(0) == pytest.approx(18.0 / 9) and clocks.seconds(1) == pytest.approx(3.0)
    clocks.restart()
    assert clocks.seconds(0) == pytest.approx(3.0)
    clocks.settings(0, 1, 0)  # by GTP, a time for no stones is no limit
    assert clocks.seconds(0) is None
    clocks.set_left(1, 60, 0)
    assert clocks.seconds(1) == pytest.approx(2.0)
