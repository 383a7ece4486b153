"""Searches of solved games, and of games that can go on forever."""

from __future__ import annotations

import time
from functools import cache

import jax
import numpy as np
import pytest

from tabia import games
from tabia.games.game import Game, State
from tabia.players.perfect import SolutionEvaluator
from tabia.search import Gumbel, Puct, Search, Uct
from tabia.search.evaluators import Rollout, Uniform
from tabia.search.result import most_visits
from tabia.search.rules import Rule
from tabia.search.rules.puct import as_parent
from tabia.search.tree import LINK
from tabia.solvers import Solution, solve

from .positions import batch_size, random_positions
from .toy_games import RingGame


@cache
def solution(name: str) -> Solution:
    return solve(games.make(name))


every_count = pytest.mark.parametrize("count", [1000, pytest.param(2000, marks=pytest.mark.long)])


def kept(known: Solution, states: State, actions: jax.Array) -> np.ndarray:
    """Whether each action keeps the value of its position."""
    return known.best(states)[np.arange(batch_size(states)), np.asarray(actions)]


@every_count
@pytest.mark.parametrize("name", [pytest.param("tictactoe", marks=pytest.mark.long), "connect3"])
@pytest.mark.parametrize(("rule", "gap"), [(Puct(), 0.0), (Gumbel(gumbel_scale=0.0), 5.0)], ids=["puct", "gumbel"])
def test_exact_evaluator_keeps_the_value_of_every_position(name: str, rule: Rule, gap: float, count: int) -> None:
    """For PUCT exact values suffice, even with uniform priors (gap 0).

    Gumbel's rule spreads its visits by the priors and averages over blunders too, so it gets exact priors.
    """
    known = solution(name)
    states = random_positions(known.game, count, seed=11, most_moves=7)
    result = Search(known.game, SolutionEvaluator.of(known, gap=gap), 48, rule).run(
        known.table, states, jax.random.key(0)
    )
    assert kept(known, states, result.action).mean() == 1.0


@every_count
@pytest.mark.parametrize(("leaves", "bound"), [(1, 1e-5), (8, 0.5)])
def test_gumbel_value_ignores_dropped_actions(leaves: int, bound: float, count: int) -> None:
    """With an exact evaluator the search gives the exact value for every seat.

    Eight leaves per step push each other into blunders below the root; then at least the sign is right. The mean of
    all simulations is off by 0.3 on average, because losing actions are visited too.
    """
    known = solution("connect3")
    states = random_positions(known.game, count, seed=11, most_moves=7)
    search = Search(known.game, SolutionEvaluator.of(known, gap=5.0), 48, Gumbel(gumbel_scale=0.0), leaves=leaves)
    result = search.run(known.table, states, jax.random.key(0))
    off = np.abs(np.asarray(result.values) - known.values(states)).max(axis=1)
    assert off.max() < bound
    total = np.asarray(result.visits).sum(axis=1)[:, None]
    plain = np.asarray(result.tree.root_values + result.tree.sums.sum(axis=1)) / (1 + total)
    assert np.abs(plain - known.values(states)).max(axis=1).mean() > 0.2


@every_count
def test_eight_leaves_per_step_play_as_well_as_one(count: int) -> None:
    known = solution("connect3")
    states = random_positions(known.game, count, seed=11, most_moves=7)
    search = Search(known.game, SolutionEvaluator.of(known, gap=0.0), 96, Puct(), leaves=8)
    result = search.run(known.table, states, jax.random.key(0))
    assert kept(known, states, result.action).mean() == 1.0


@pytest.mark.long
def test_uct_with_rollouts_converges_on_connect3() -> None:
    """The mean of all simulations converges to the exact value, for every seat of 32 positions.

    After 10,000 simulations the error is below 0.25 everywhere and below 0.08 on average, less than a third of the
    error after 1,000 (plain averaging gives 1 / sqrt 10), and every action played keeps the value.
    """
    known = solution("connect3")
    game = known.game
    states = random_positions(game, 32, seed=4, most_moves=6)
    early, late = (
        Search(game, Rollout(game), count, Uct()).run(None, states, jax.random.key(1)) for count in (1_000, 10_000)
    )
    before, after = (np.abs(np.asarray(result.values) - known.values(states)).max(axis=1) for result in (early, late))
    assert after.max() < 0.25
    assert after.mean() < 0.08
    assert after.mean() < before.mean() / 3
    assert kept(known, states, most_visits(late)).all()


RING = RingGame(max_moves=10_000)
STAR = games.make("chinese-checkers")


@pytest.mark.parametrize(
    ("game", "options"),
    [
        pytest.param(RING, {}, marks=pytest.mark.long),
        pytest.param(RING, {"cut_loops": True}, marks=pytest.mark.long),
        (RING, {"transpositions": True}),
        pytest.param(STAR, {"transpositions": True, "leaves": 4}, marks=pytest.mark.long),
    ],
    ids=["ring", "ring, loops cut", "ring, shared", "star, shared and wide"],
)
def test_long_and_cyclic_games_end(game: Game, options: dict[str, bool]) -> None:
    """Memory is constant, paths are no longer than the tree has nodes, and time grows with the simulations.

    Priors are uniform and no win is near, so searches wander back and forth.
    """
    states = random_positions(game, 8, seed=3, most_moves=60)
    search = Search(game, Uniform(game), 400, Puct(c=0.3, untried_value=as_parent), **options)
    result = search.run(None, states, jax.random.key(0))
    assert result.tree.records.shape[0] == search.capacity == 401
    assert int(result.tree.size) <= search.capacity
    links = np.asarray(result.tree.records[:, :, :-1, LINK])
    assert links.max() < int(result.tree.size)
    np.testing.assert_array_equal(np.asarray(result.visits).sum(axis=1), 400)
    started = time.process_time()  # of this process alone, however busy the machine is
    jax.block_until_ready(search.run(None, states, jax.random.key(1)))
    assert time.process_time() - started < 20.0  # a fraction of a second
