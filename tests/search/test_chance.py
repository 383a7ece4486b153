"""Games with chance: the mean of sampled outcomes is right in expectation.

`toy_games.Dice` has a closed form. A die has the value 3.5, a die that may be thrown again 4.25 under best play. The
variance of a die is 35 / 12.
"""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import State
from tabia.search import Evaluation, Gumbel, Puct, Result, Search, Uct
from tabia.search.descent import Path
from tabia.search.evaluators import Rollout
from tabia.search.rules.puct import as_loss
from tabia.search.search import outcome_keys
from tabia.search.tree import TOTAL, VISITS

from .toy_games import Dice, DiceState

GAME = Dice()
TAKE, THROW = 0, 1
LANES = 2000
FACES = np.arange(1, 7)
FAITHFUL = Puct(c=0.01, untried_value=as_loss)  # with priors of 0 and 1: always follows the evaluator


def points(values: Array) -> np.ndarray:
    """From [-1, 1] back to points."""
    return (np.asarray(values) + 1.0) * 3.0


def start(lanes: int) -> State:
    return jax.vmap(GAME.init)(jax.random.split(jax.random.key(0), lanes))


def after_first_throw(faces: Array) -> State:
    count = faces.shape[0]
    return DiceState(jnp.ones(count, jnp.int32), faces.astype(jnp.int32), jnp.zeros(count))


def truth(parameters: None, states: DiceState, key: Array) -> Evaluation:
    """Exact values, and no prior for the worse action."""
    take = jnp.where(states.thrown == 0, GAME.safe, states.face.astype(jnp.float32))
    throw = jnp.where(states.thrown == 0, 4.25, 3.5)
    value = jnp.maximum(take, throw) / 3.0 - 1.0
    logits = jnp.where((jnp.arange(2)[None] == THROW) == (throw > take)[:, None], 0.0, -60.0)
    return Evaluation(logits, jnp.stack([value, (7.0 / 3.0 - 1.0) - value - 1.0], axis=1))


def close(sample: np.ndarray, expected: float) -> bool:
    """Within four standard errors."""
    return abs(sample.mean() - expected) < 4 * sample.std(ddof=1) / np.sqrt(len(sample))


def test_the_closed_form() -> None:
    best = np.maximum(FACES, FACES.mean()).mean()
    assert (FACES.mean(), best) == (3.5, 4.25)


@pytest.mark.parametrize(
    "outcomes", [pytest.param(1, marks=pytest.mark.long), 8, pytest.param(32, marks=pytest.mark.long)]
)
def test_second_throw_has_the_value_of_a_die(outcomes: int) -> None:
    """The value of a throw that ends the game is the mean of its sampled outcomes, which do not change."""
    states = after_first_throw(jnp.full(LANES, 1))
    search = Search(GAME, truth, 64, FAITHFUL, outcomes=outcomes)
    result = search.run(None, states, jax.random.key(outcomes))
    assert (np.asarray(result.visits)[:, THROW] == 64).all()
    means = points(result.means)[:, THROW]
    assert close(means, 3.5)
    assert np.var(means) == pytest.approx(35 / 12 / outcomes, rel=0.15)
    np.testing.assert_allclose(means * outcomes, np.round(means * outcomes), atol=1e-3)


def test_two_throws_under_best_play_have_the_exact_value() -> None:
    """The search follows the evaluator's best actions, so every simulation is a game of the closed form."""
    result = Search(GAME, truth, 32, FAITHFUL, outcomes=32).run(None, start(LANES), jax.random.key(1))
    assert (np.asarray(result.visits)[:, THROW] == 32).all()
    assert close(points(result.means)[:, THROW], 4.25)
    seats = points(result.values)
    np.testing.assert_allclose(seats.sum(axis=1), 7.0, atol=1e-3)


@pytest.mark.parametrize("leaves", [pytest.param(1, marks=pytest.mark.long), 2])
def test_search_alone_finds_the_value_of_best_play(leaves: int) -> None:
    """Random rollouts value a throw at 3.5.

    Only a search of the actions after the throw finds 4.25. Exploration has a cost: of about 90 visits to each of 32
    outcomes, a dozen go to the worse action, which is 1 to 2.5 points worse.
    """
    game = Dice(safe=1.0)
    search = Search(game, Rollout(game), 3000, Uct(c=0.7), outcomes=32, leaves=leaves)
    result = search.run(None, start(100), jax.random.key(2))
    throw = points(result.means)[:, THROW]
    assert abs(throw.mean() - 4.25) < 0.2
    assert (np.asarray(result.action) == THROW).all()
    np.testing.assert_allclose(points(result.means)[:, TAKE], 1.0, atol=1e-3)


def test_gumbel_with_chance() -> None:
    result = Search(GAME, truth, 16, Gumbel(gumbel_scale=0.0), outcomes=4).run(None, start(50), jax.random.key(3))
    np.testing.assert_array_equal(np.asarray(result.visits).sum(axis=1), 16)
    assert (np.asarray(result.action) == THROW).all()


@pytest.mark.parametrize("leaves", [pytest.param(1, marks=pytest.mark.long), 2])
def test_outcomes_have_nodes_of_their_own(leaves: int) -> None:
    """A throw has one child per outcome, and no node has two parents."""
    search = Search(GAME, truth, 64, FAITHFUL, outcomes=8, leaves=leaves)
    tree = search.run(None, start(20), jax.random.key(4)).tree
    links = np.asarray(tree.links)  # [N, B, A, M]
    assert links.max() < int(tree.size) and links.min() >= -1
    for lane in range(20):
        children = links[0, lane, THROW].astype(int)
        assert (children >= 0).all() and len(set(children.tolist())) == 8
        assert (links[0, lane, TAKE] < 0).all()
        # Eight visits added the nodes; the others went through them evenly.
        below = np.asarray(tree.records[children, lane, :-1, VISITS]).sum(axis=1)
        assert below.sum() == 64 - 8 and np.ptp(below) <= 2 * leaves
        assert (np.asarray(tree.states.thrown[children, lane]) == 1).all()
        assert (np.asarray(tree.states.settled[children, lane]) == 0).all()
    assert np.abs(np.asarray(tree.records[..., TOTAL])).max() <= 64


def test_actions_are_compared_with_the_same_dice() -> None:
    """A key follows from the lane, the depth and the outcome, not from the action."""
    nothing = jnp.zeros((1, 2), jnp.int32)

    def keys(depth: int, leaf: int, action: int, outcome: int) -> np.ndarray:
        at = [jnp.full(2, number, jnp.int32) for number in (depth, leaf, action)]
        path = Path(nothing, nothing, nothing, *at, jnp.zeros(2), jnp.full(2, outcome, jnp.int32))
        return np.asarray(jax.random.key_data(outcome_keys(path, jax.random.key(0))))

    one = keys(1, 0, 3, 0)
    assert (one == keys(1, 0, 4, 0)).all() and (one == keys(1, 7, 3, 0)).all()
    assert (one != keys(2, 0, 3, 0)).any(axis=1).all() and (one != keys(1, 0, 3, 1)).any(axis=1).all()
    assert (one[0] != one[1]).any()


@pytest.mark.long
def test_backgammon() -> None:
    """A full game with chance: legal actions only, all visits counted, and one child where no dice are thrown."""
    pytest.importorskip("pgx")
    game = games.make("pgx:backgammon")
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), 4))
    found: set[tuple[str, bool]] = set()
    for move in range(3):
        search = Search(game, Rollout(game, max_moves=40), 24, Puct(), outcomes=8)
        result: Result = search.run(None, states, jax.random.key(move))
        legal = np.asarray(jax.vmap(game.legal)(states))
        np.testing.assert_array_equal(np.asarray(result.visits).sum(axis=1), 24)
        assert (np.asarray(result.visits)[~legal] == 0).all()
        certain = np.asarray(jax.vmap(jax.vmap(game.certain))(result.tree.states))
        used = np.asarray(result.tree.links) >= 0  # [N, B, A, M]
        assert not used[..., 1:][certain].any()
        found |= {"certain": bool(certain.any()), "sampled": bool(used[..., 1:][~certain].any())}.items()
        states = jax.vmap(partial(game.step))(states, result.action, jax.random.split(jax.random.key(move), 4))
    assert {("certain", True), ("sampled", True)} <= found
