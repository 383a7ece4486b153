"""A search of one position runs on a CPU as one kernel, with every game and rule, and builds the reference's tree.

A mistake here may end the process instead of raising an error: XLA checks its own assumptions that way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games import registry
from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State
from tabia.search import Gumbel, MiniAlphaGo, Omc, Pbbm, Puct, Search, Uct, one_kernel
from tabia.search import search as searching
from tabia.search.evaluators import Evaluation, Rollout, WinningMovesFirst
from tabia.search.reference import Reference
from tabia.search.rules.rule import Rule
from tabia.search.ties import scramble

from .comparing import differences, lane_of
from .positions import one, random_network, random_positions, random_weights
from .toy_games import Dice, Race, RingGame

pytestmark = pytest.mark.skipif(
    jax.default_backend() != "cpu" or not one_kernel.is_tested(), reason="kernels of a CPU, with one release of JAX"
)
KEY = jax.random.key(3)
MARK = "xla_cpu_small_call"
GUMBEL = Gumbel(considered_actions=4, gumbel_scale=0.0)
TICTACTOE = games.make("tictactoe")
SAME_RULES = ("tictactoe", "connect4")  # as the rules of every other test here, and of connect3


@dataclass(frozen=True)
class Hashed:
    """Priors and values by the position's hash, without a product of matrices."""

    game: Game

    def __call__(self, parameters: Any, states: State, key: Array) -> Evaluation:
        prints = jax.vmap(lambda state: fingerprint(self.game, state)[0])(states)
        places = jnp.arange(self.game.num_actions + self.game.num_players, dtype=jnp.uint32) * jnp.uint32(0x9E3779B9)
        numbers = (scramble(prints[:, None] + places[None]) >> 8).astype(jnp.float32) * 2.0**-23 - 1.0
        return Evaluation(numbers[:, : self.game.num_actions], numbers[:, self.game.num_actions :])


def name_of(rule: Rule) -> str:
    return type(rule).__name__


def check(game: Game, rule: Rule, *, most_moves: int = 5, **options: Any) -> None:
    """Search one position, and compare the tree with the reference's."""
    search = Search(game, Hashed(game), 40, rule, **options)
    states = random_positions(game, 1, seed=7, most_moves=most_moves)
    result = search.run(None, states, KEY)
    assert MARK in searching._run.lower(search, None, states, KEY, None).as_text()  # lowered already
    ties = np.asarray(result.tree.ties).tolist()[0] if options.pop("random_ties", False) else None
    noise = [0.0] * game.num_actions
    root = Reference(game, Hashed(game), 40, rule, **options).run(
        None, one(states, 0), gumbel=noise, past=[], ties=ties
    )
    assert differences(lane_of(result.tree, 0), root) == []


@pytest.mark.parametrize(
    "name",
    [
        *(pytest.param(name, marks=pytest.mark.long) if name in SAME_RULES else name for name in registry.ids()),
        "race",
        "ring",
    ],
)
def test_every_game(name: str) -> None:
    toys: dict[str, Game] = {"race": Race(), "ring": RingGame()}
    check(toys[name] if name in toys else games.make(name), GUMBEL)


@pytest.mark.parametrize("rule", [Puct(), Puct(base=50.0), Uct(), Omc(), Pbbm(), MiniAlphaGo()], ids=name_of)
def test_every_rule(rule: Rule) -> None:
    check(TICTACTOE, rule)


@pytest.mark.parametrize(
    "options",
    [{"transpositions": True}, {"cut_loops": True}, {"random_ties": True}, {"max_depth": 3}, {"proven_values": True}],
    ids=str,
)
def test_every_option(options: dict[str, Any]) -> None:
    check(RingGame() if "proven_values" not in options else TICTACTOE, Puct(), **options)


@pytest.mark.parametrize("name", ["dice", "connect3"])
def test_rollouts_and_chance_are_those_of_other_programs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    game = Dice() if name == "dice" else games.make(name)
    evaluate = Rollout(game) if game.chance else WinningMovesFirst(game, Rollout(game, count=2))
    search = Search(game, evaluate, 40, Puct())
    states = random_positions(game, 1, seed=7, most_moves=2)
    kernel = search.run(None, states, KEY)
    monkeypatch.setattr(one_kernel, "is_supported", lambda program: False)
    plain = replace(search, max_depth=search.depth).run(None, states, KEY)  # another program for the same search
    np.testing.assert_array_equal(np.asarray(kernel.visits), np.asarray(plain.visits))


def test_a_network_runs_as_usual() -> None:
    states = random_positions(TICTACTOE, 1, seed=7)
    search = Search(TICTACTOE, random_network(TICTACTOE), 20, Puct())
    program = jax.jit(search.run_unchecked).lower(random_weights(TICTACTOE), states, KEY)
    assert MARK not in program.as_text()


# Loops on their own: parameters that XLA would drop, and operations that a kernel cannot have.


def looped(count: Any, carry: Any, given: Any) -> Any:
    return one_kernel.repeat(lambda index, carry, given: carry + given[0] + index, count, carry, given)


def test_parameters_may_be_unused_or_constant() -> None:
    used, unused = jnp.arange(3), (jnp.ones((2, 5)), jax.random.key(1), jnp.array([True]), jnp.float32(jnp.nan))
    expected = np.arange(3) * 5 + 6
    np.testing.assert_array_equal(np.asarray(jax.jit(looped)(4, used, (used, unused))), expected)
    constant = jax.jit(lambda used: looped(4, used, (used, (jnp.ones((2, 5)), jnp.int32(7)))))
    assert MARK in constant.lower(used).as_text()
    np.testing.assert_array_equal(np.asarray(constant(used)), expected)
    np.testing.assert_array_equal(np.asarray(jax.jit(lambda: looped(4, jnp.arange(3), (jnp.arange(3),)))()), expected)
    nothing = jax.jit(lambda used: one_kernel.repeat(lambda index, carry, given: carry, 0, used, given=unused))
    np.testing.assert_array_equal(np.asarray(nothing(used)), used)


def test_results_may_be_unused() -> None:
    def both(index: Array, carry: tuple[Array, Array], given: Array) -> tuple[Array, Array]:
        return carry[0] + given, carry[1] * 2

    for kept in (0, 1):
        first = jax.jit(lambda one, two: one_kernel.repeat(both, 3, (one, two), two)[kept])  # noqa: B023
        np.testing.assert_array_equal(np.asarray(first(jnp.ones(2), jnp.ones(4)[:2])), [4.0, 4.0] if not kept else 8.0)


def test_a_mapped_loop_runs_once_per_element() -> None:
    def write(index: Array, carry: Array, given: Array) -> Array:
        return carry.at[given[index]].add(index + 1)

    places = jnp.array([[0, 1, 2], [2, 2, 0]])
    found = jax.jit(jax.vmap(lambda places: one_kernel.repeat(write, 3, jnp.zeros(3, int), places)))(places)
    np.testing.assert_array_equal(np.asarray(found), [[1, 2, 3], [3, 0, 3]])


@pytest.mark.parametrize(
    "step",
    [
        lambda index, carry, given: carry @ carry,
        lambda index, carry, given: jnp.sort(carry),
        lambda index, carry, given: carry.at[jnp.array([0, 1])].set(given),
        lambda index, carry, given: jnp.where(index < 1, jnp.linalg.cholesky(carry), carry),
        lambda index, carry, given: jax.lax.cond(index > 1, lambda: carry @ carry, lambda: carry),
    ],
    ids=["product", "sort", "scatter", "factors", "product in a branch"],
)
def test_other_operations_run_as_usual(step: Any) -> None:
    whole = jax.jit(lambda carry: one_kernel.repeat(step, 3, carry, jnp.float32(2.0)))
    assert MARK not in whole.lower(jnp.eye(3)).as_text()
    assert np.isfinite(np.asarray(whole(jnp.eye(3)))).all()


def test_an_empty_array_runs_as_usual() -> None:
    whole = jax.jit(lambda carry: looped(3, carry, (carry, jnp.zeros((0, 2)))))
    assert MARK not in whole.lower(jnp.ones(2)).as_text()
    np.testing.assert_array_equal(np.asarray(whole(jnp.ones(2))), 7.0)
