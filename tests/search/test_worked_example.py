"""Sanz & Villanueva's worked example, section 3.4, number by number: tic-tac-toe with c = 5.

    O | 2 | 3      Black (O) is to move on fields 2, 3, 6 and 8; white (X) threatens 6. The figures are lost in the
   ---+---+---     text, but it says enough: after black 2, white 6 wins, so white has 4 and 5; after black 6 the game
    X | X | 6      is a draw, so white's third stone cannot be on 7 (it would threaten 3 as well), nor may black have
   ---+---+---     7 and 9 (it would win on 8 itself). That leaves this position.
    O | 8 | X

Sanz & Villanueva's first iteration evaluates the root, so its three iterations are two simulations of ours.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import State
from tabia.games.tictactoe import State as Board
from tabia.search import Evaluation, Puct, Search
from tabia.search.reference import Reference
from tabia.search.reference_rules import scores
from tabia.search.result import most_visits, visit_policy
from tabia.search.tree import LINK, TOTAL, VISITS, root_view

GAME = games.make("tictactoe")
RULE = Puct(c=5.0)
WHITE, BLACK = 0, 1
PRIORS = {2: 0.45, 6: 0.25, 3: 0.15, 8: 0.15}  # the root's, by Sanz & Villanueva's numbers of fields
REPLIES = {6: 0.5, 3: 0.3, 8: 0.2}  # after black 2: the text only says that 6 is the highest


def stones(*fields: int) -> int:
    return sum(1 << (field - 1) for field in fields)


ROOT = Board(stones=jnp.array([stones(4, 5, 9), stones(1, 7)], jnp.uint32), winner=jnp.int32(-1))
BATCH = jax.tree.map(lambda leaf: leaf[None], ROOT)


def logits(priors: dict[int, float]) -> Array:
    return jnp.array([np.log(priors.get(field, 1e-6)) for field in range(1, 10)], jnp.float32)


def network(parameters: None, states: State, key: Array) -> Evaluation:
    """The outputs in the text: the root's priors, v = -0.2 for white after black 2, and 0 elsewhere."""
    after_two = states.stones[:, BLACK] == stones(1, 2, 7)
    at_root = states.stones[:, BLACK] == stones(1, 7)
    priors = jnp.where(
        at_root[:, None], logits(PRIORS)[None], jnp.where(after_two[:, None], logits(REPLIES)[None], 0.0)
    )
    white = jnp.where(after_two & (states.stones[:, WHITE] == stones(4, 5, 9)), -0.2, 0.0)
    return Evaluation(priors, jnp.stack([white, -white], axis=1))


def test_position_matches_the_text() -> None:
    assert int(GAME.mover(ROOT)) == BLACK
    assert [field for field in range(1, 10) if bool(GAME.legal(ROOT)[field - 1])] == [2, 3, 6, 8]
    lost = GAME.step(GAME.step(ROOT, jnp.int32(1)), jnp.int32(5))
    assert bool(GAME.over(lost)) and GAME.scores(lost).tolist() == [1.0, -1.0]


def test_second_iteration_array_search() -> None:
    result = Search(GAME, network, 1, RULE).run(None, BATCH, jax.random.key(0))
    root = np.asarray(result.tree.records[0, 0])
    assert root[2 - 1, VISITS] == 1
    assert root[2 - 1, TOTAL] == pytest.approx(0.2)
    assert root[:-1, VISITS].sum() + 1 == 2  # N of the root
    expected = {2: 1.79, 6: 1.76, 3: 1.06, 8: 1.06}  # Sanz & Villanueva 2021 cuts 1.7678 off after two digits
    found = np.asarray(RULE.scores(root_view(result.tree)))[0]
    assert {field: int(found[field - 1] * 100) / 100 for field in expected} == expected


def test_third_iteration_array_search() -> None:
    result = Search(GAME, network, 2, RULE).run(None, BATCH, jax.random.key(0))
    root = np.asarray(result.tree.records[0, 0])
    assert root[2 - 1, VISITS] == 2
    assert root[2 - 1, TOTAL] == pytest.approx(0.2 - 1.0)
    assert float(result.means[0, 2 - 1]) == pytest.approx(-0.4)
    child = np.asarray(result.tree.records[int(root[2 - 1, LINK]), 0])
    assert (child[6 - 1, VISITS], child[6 - 1, TOTAL]) == (1, 1.0)
    assert child[6 - 1, LINK] < 0  # the game ends there: nothing to expand
    assert root[:-1, VISITS].sum() + 1 == 3


def test_all_iterations_in_the_twin() -> None:
    first = Reference(GAME, network, 0, RULE).run(None, ROOT)
    assert {action + 1: edge.prior for action, edge in first.edges.items()} == pytest.approx(PRIORS)
    second = Reference(GAME, network, 1, RULE).run(None, ROOT)
    assert (second.edges[1].visits, second.visits + 1) == (1, 2)
    assert second.edges[1].mean == pytest.approx(0.2)
    numbers = scores(RULE, second)
    assert [int(numbers[field - 1] * 100) / 100 for field in (2, 6, 3, 8)] == [1.79, 1.76, 1.06, 1.06]
    third = Reference(GAME, network, 2, RULE).run(None, ROOT)
    assert (third.edges[1].visits, third.visits + 1) == (2, 3)
    assert third.edges[1].total == pytest.approx(-0.8)
    assert third.edges[1].child is not None
    reply = third.edges[1].child.edges[5]
    assert (reply.visits, reply.total, reply.child) == (1, 1.0, None)


def test_the_right_move_is_found() -> None:
    """After 100 iterations Sanz & Villanueva 2021 plays 6, the only move that does not lose."""
    result = Search(GAME, network, 99, RULE).run(None, BATCH, jax.random.key(0))
    assert int(most_visits(result)[0]) == 6 - 1
    visits = jnp.zeros((1, 9)).at[0, jnp.array([1, 2, 5, 7])].set(jnp.array([20.0, 5.0, 70.0, 5.0]))
    odds = np.asarray(visit_policy(visits, 1.0))[0, [1, 2, 5, 7]]
    np.testing.assert_allclose(odds, [0.2, 0.05, 0.7, 0.05], atol=1e-6)
