"""Proven values: exact by the solver, the same trees as the reference implementation, and used at the root.

Compilation takes most of the time, so each game has one search, and all tests of a game share its result.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games.game import Game, State
from tabia.search import Gumbel, MiniAlphaGo, Omc, Puct, Result, Rule, Search, SearchError, Uct
from tabia.search.evaluators import Uniform
from tabia.search.reference import Reference, expected
from tabia.search.reference_proofs import candidates, proof
from tabia.search.reference_rules import final_move, root_policy
from tabia.search.result import best_value, max_robust, most_visits, preferred, secure, visit_target
from tabia.search.reuse import continue_search
from tabia.search.rules.puct import as_parent
from tabia.search.tree import UNPROVEN
from tabia.solvers import solve

from .comparing import TOLERANCE, ByLane, differences, lane_of
from .positions import one, random_network, random_positions, random_weights
from .toy_games import Dice, Race, RingGame


class WithoutSquares(ByLane):
    """Rules that need no variance, which compile faster."""

    needs_squares: ClassVar[bool] = False


GUMBEL = Gumbel(considered_actions=4)
FEW = WithoutSquares(gumbel=GUMBEL, rules=(Puct(), Uct(), GUMBEL))
MANY = ByLane(
    gumbel=GUMBEL, rules=(*FEW.rules, Puct(untried_value=as_parent), Omc(), MiniAlphaGo(c1=0.7, final_only=True))
)
KEY = jax.random.key(3)
BATCH, SIMULATIONS = 18, 60
GAMES: dict[str, tuple[Game, int]] = {  # and the most random moves before its positions
    "tictactoe": (games.make("tictactoe"), 6),
    "race": (Race(), 5),
    "ring": (RingGame(max_moves=14), 10),
    "connect3": (games.make("connect3"), 9),
    "three seats": (games.make("connect:rows=3,columns=4,line=3,players=3"), 8),
}


@cache
def searched(name: str, rules: Rule = FEW, **options: Any) -> tuple[Search, State, Result]:
    """Random positions and their search."""
    game, most_moves = GAMES[name]
    search = Search(game, random_network(game), SIMULATIONS, rules, proven_values=True, **options)
    states = random_positions(game, BATCH, seed=7, most_moves=most_moves)
    return search, states, search.run(random_weights(game), states, KEY)


def root_noise(actions: int) -> list[list[float]]:
    """The Gumbel noise that the search samples at its roots with KEY."""
    _, root_key, _ = jax.random.split(KEY, 3)
    _, (gumbel, _) = GUMBEL.prepare_root(jnp.zeros((BATCH, actions)), 1, root_key)
    return np.asarray(gumbel).tolist()


# The reference implementation.


def compare(name: str, rules: ByLane = FEW, **options: Any) -> None:
    """The trees and the results are those of the reference implementation."""
    search, states, result = searched(name, rules, **options)
    assert result.proofs is not None
    noise, actions = root_noise(search.game.num_actions), range(search.game.num_actions)
    for lane in range(BATCH):
        rule = rules.of(lane)
        reference = Reference(search.game, search.evaluate, SIMULATIONS, rule, proven_values=True, **options)
        root = reference.run(random_weights(search.game), one(states, lane), gumbel=noise[lane])
        found = differences(lane_of(result.tree, lane), root)
        assert not found, f"lane {lane}, {rule}:\n" + "\n".join(found[:5])
        possible = candidates(root)
        policy = root_policy(rule, root, possible)
        assert int(result.action[lane]) == final_move(rule, root, noise[lane])
        assert np.flatnonzero(np.asarray(result.proofs.candidates[lane])).tolist() == list(possible)
        assert bool(result.proofs.complete[lane]) == (proof(root) is not None)
        proven = [edge.proven[root.mover] if edge.proven else np.nan for edge in map(root.edges.get, actions) if edge]
        np.testing.assert_allclose(np.asarray(result.proofs.actions[lane])[list(root.edges)], proven, atol=TOLERANCE)
        np.testing.assert_allclose(np.asarray(result.values[lane]), expected(rule, root), atol=TOLERANCE)
        np.testing.assert_allclose(
            np.asarray(result.policy[lane]), [policy.get(action, 0.0) for action in actions], atol=TOLERANCE
        )


@pytest.mark.parametrize("name", [pytest.param("tictactoe", marks=pytest.mark.long), "three seats"])
def test_proofs_match_the_reference(name: str) -> None:
    compare(name)
    proofs = searched(name)[2].proofs
    assert proofs is not None and 0 < int(proofs.complete.sum()) < BATCH


@pytest.mark.long
@pytest.mark.parametrize("options", [{}, {"transpositions": True}, {"cut_loops": True}, {"max_depth": 3}], ids=str)
@pytest.mark.parametrize("name", ["tictactoe", "three seats", "race", "ring"])
def test_proofs_match_the_reference_with_every_option(name: str, options: dict[str, Any]) -> None:
    compare(name, MANY, **options)


# The law: what is proven is true.


def proven_positions(game: Game, result: Result) -> tuple[State, np.ndarray]:
    """The positions after all proven actions of all trees, and their proven values."""
    assert result.tree.proven is not None
    proven = np.asarray(result.tree.proven)
    node, lane, action = np.nonzero(proven[..., 0] > UNPROVEN)
    before = jax.tree.map(lambda leaf: leaf[node, lane], result.tree.states)
    return jax.vmap(game.step)(before, jnp.asarray(action, jnp.int32)), proven[node, lane, action]


@pytest.mark.parametrize(
    ("name", "rule", "options"),
    [
        pytest.param("tictactoe", FEW, {}, id="tictactoe", marks=pytest.mark.long),
        pytest.param("three seats", FEW, {}, id="three seats"),
        pytest.param("connect3", Puct(), {"leaves": 4, "transpositions": True}, id="connect3, shared nodes, leaves"),
        pytest.param("connect3", GUMBEL, {"leaves": 2}, id="connect3, gumbel, leaves", marks=pytest.mark.long),
        pytest.param("three seats", Uct(), {"leaves": 4}, id="three seats, leaves", marks=pytest.mark.long),
    ],
)
def test_what_is_proven_is_true(name: str, rule: Rule, options: dict[str, Any]) -> None:
    """In Connect with three seats a win is the same for all others, so max^n does not depend on the winning move."""
    search, states, result = searched(name, rule, **options)
    assert result.proofs is not None
    solution = solve(search.game)
    reached, values = proven_positions(search.game, result)
    assert len(values) > 50
    np.testing.assert_array_equal(values, solution.values(reached))
    complete = np.asarray(result.proofs.complete)
    assert 0 < complete.sum() < BATCH
    np.testing.assert_array_equal(np.asarray(result.values)[complete], solution.values(states)[complete])
    is_best = solution.best(states)[np.arange(BATCH), np.asarray(result.action)]
    assert is_best[complete].all()


def test_late_positions_are_proven() -> None:
    """With three empty cells tic-tac-toe has 15 moves at most, far fewer than the simulations.

    UCT tries them all. The other rules may return to a proven draw instead of a move with a small prior, so their roots
    need not be proven; the moves that they exclude are still worse.
    """
    search, _, _ = searched("tictactoe")
    states = late_positions(search.game, moves=6)
    result = search.run(random_weights(search.game), states, KEY)
    assert result.proofs is not None
    complete = np.asarray(result.proofs.complete)
    assert complete[[isinstance(FEW.of(lane), Uct) for lane in range(BATCH)]].all() and complete.sum() > BATCH // 2
    solution = solve(search.game)
    np.testing.assert_array_equal(np.asarray(result.values)[complete], solution.values(states)[complete])
    best, rows = solution.best(states), np.arange(BATCH)
    rules = (most_visits, best_value, secure, max_robust, preferred)
    for action in (result.action, *(rule(result) for rule in rules)):
        assert best[rows, np.asarray(action)][complete].all()
    for policy in (result.policy, visit_target(result)):
        assert (np.asarray(policy) * ~best)[complete].max() == 0
    assert (np.asarray(result.proofs.candidates) | ~best).all(axis=1)[~complete].all()
    np.testing.assert_allclose(np.asarray(result.policy).sum(axis=-1), 1.0, atol=1e-6)


def late_positions(game: Game, *, moves: int) -> State:
    """BATCH unfinished positions after so many moves."""
    many = random_positions(game, 40 * BATCH, seed=5, most_moves=moves)
    rows = jnp.flatnonzero(jax.vmap(game.legal)(many).sum(axis=1) == game.num_actions - moves)[:BATCH]
    return jax.tree.map(lambda leaf: leaf[rows], many)


@pytest.mark.long
def test_with_indifferent_seats_a_proven_value_is_one_of_max_n() -> None:
    """In the race a seat can be indifferent between moves that others are not; its proof may take any of them."""
    reached, values = proven_positions(GAMES["race"][0], searched("race")[2])
    assert len(values) > 50
    for fields, mover, value in zip(*map(np.asarray, reached), values, strict=True):
        possible = max_n_values(tuple(fields.tolist()), int(mover))
        assert min(np.abs(np.array(one) - value).max() for one in possible) < TOLERANCE


@cache
def max_n_values(fields: tuple[int, ...], mover: int, length: int = 10) -> set[tuple[float, ...]]:
    """The values of a race under max^n, for every choice between equally good moves; from the rules of `Race`."""
    if max(fields) >= length:
        points = [3.0 if here >= length else here / length for here in fields]
        return {tuple(2 * point / 3 - 1 for point in points)}
    replies = list[set[tuple[float, ...]]]()
    for target in range(fields[mover] + 1, fields[mover] + 4):
        if target not in fields:
            here = min(target, length)
            after = tuple(here if seat == mover else old for seat, old in enumerate(fields))
            replies.append(max_n_values(after, mover if here % 3 == 0 else (mover + 1) % 3))
    least = max(min(value[mover] for value in reply) for reply in replies)  # a move this good can always be had
    return {value for reply in replies for value in reply if value[mover] >= least}


@pytest.mark.long
@pytest.mark.parametrize("transpositions", [False, True])
def test_proofs_survive_tree_reuse(transpositions: bool) -> None:
    """With room for few nodes, most are dropped; what remains proven is still true."""
    game, _ = GAMES["connect3"]
    search = Search(
        game, Uniform(game), SIMULATIONS, Puct(), proven_values=True, reuse_nodes=12, transpositions=transpositions
    )
    solution, states = solve(game), random_positions(game, BATCH, seed=2, most_moves=3)
    result = search.run(None, states, KEY)
    for _ in range(4):
        after = jax.vmap(game.step)(states, result.action)
        goes = ~jax.vmap(game.over)(after)
        states = jax.tree.map(partial(jax.vmap(jnp.where), goes), after, states)
        result = continue_search(search, None, result.tree, jnp.where(goes, result.action, 0), states, KEY)
        assert result.proofs is not None
        reached, values = proven_positions(game, result)
        np.testing.assert_array_equal(values, solution.values(reached))
        complete = np.asarray(result.proofs.complete)
        np.testing.assert_array_equal(np.asarray(result.values)[complete], solution.values(states)[complete])


def test_games_of_chance_are_refused() -> None:
    with pytest.raises(SearchError, match="dice has chance, so no value is proven"):
        Search(Dice(), Uniform(Dice()), 8, proven_values=True)
