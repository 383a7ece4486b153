"""The batched search and the reference implementation build the same trees, visit for visit, with every rule.

Compilation takes longer than searching, so the rules share one compiled search per game: each lane of the batch has its
own rule. Whole trees are compared (visits, mean values and links of every edge), and the result at the root.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia import games
from tabia.games.fingerprint import fingerprint
from tabia.games.game import Game, State
from tabia.search import Gumbel, MiniAlphaGo, Omc, Pbbm, Puct, Search, Uct
from tabia.search.evaluators import Uniform
from tabia.search.reference import Reference, expected
from tabia.search.reference_rules import final_move
from tabia.search.rules.puct import Reduced, as_loss, as_parent

from .comparing import TOLERANCE, ByLane, differences, lane_of
from .positions import batch_size, one, random_network, random_positions, random_weights
from .toy_games import Race, RingGame

RULES = ByLane(
    gumbel=Gumbel(considered_actions=4),
    rules=(
        Puct(),
        Puct(c=3.0, untried_value=as_loss),
        Puct(c=2.0, untried_value=as_parent),
        Puct(untried_value=Reduced(0.3)),
        Puct(c=15.0, own_visit=False),
        Puct(c=10.0, own_visit=False, untried_value=as_loss),
        Puct(base=50.0),
        Uct(),
        Uct(c=0.5),
        Uct(c=3.0, untried_first=False),
        Uct(c=0.0, untried_first=False),
        Omc(),
        Pbbm(),
        MiniAlphaGo(),
        MiniAlphaGo(c1=0.7),
        MiniAlphaGo(untried_first=True),
        MiniAlphaGo(c1=0.7, final_only=True),
        Gumbel(considered_actions=4),
        Gumbel(considered_actions=4, rescale_values=True, value_scale=0.1),
    ),
)
FEW = ByLane(gumbel=Gumbel(considered_actions=4), rules=(Puct(), Uct(), Pbbm(), Gumbel(considered_actions=4)))
GAMES: dict[str, tuple[Game, int]] = {  # and the most random moves before its positions
    "tictactoe": (games.make("tictactoe"), 5),
    "connect3": (games.make("connect3"), 5),
    "connect4": (games.make("connect4"), 12),
    "chinese-checkers": (games.make("chinese-checkers"), 40),
    "race": (Race(), 5),
    "ring": (RingGame(), 10),
}
KEY = jax.random.key(3)


def check(
    name: str, simulations: int, rules: ByLane, *, rounds: int = 1, seed: int = 7, past: int = 0, **options: Any
) -> None:
    """Search `rounds` positions per rule with both implementations, and compare."""
    game, most_moves = GAMES[name]
    search = Search(game, random_network(game), simulations, rules, **options)
    states = random_positions(game, rounds * len(rules.rules), seed=seed, most_moves=most_moves)
    histories, prints = neighbors(game, states, past)
    result = search.run(random_weights(game), states, KEY, past=prints)
    noise = root_noise(batch_size(states), game.num_actions)
    seeds = np.asarray(result.tree.ties).tolist() if options.pop("random_ties", False) else [None] * batch_size(states)
    for lane in range(batch_size(states)):
        rule = rules.of(lane)
        reference = Reference(game, search.evaluate, simulations, rule, **options)
        root = reference.run(
            random_weights(game), one(states, lane), gumbel=noise[lane], past=histories[lane], ties=seeds[lane]
        )
        found = differences(lane_of(result.tree, lane), root)
        assert not found, f"lane {lane}, {rule}:\n" + "\n".join(found[:5])
        assert int(result.action[lane]) == final_move(rule, root, noise[lane], seeds[lane])
        np.testing.assert_allclose(np.asarray(result.values[lane]), expected(rule, root), atol=TOLERANCE)


def root_noise(batch: int, actions: int) -> list[list[float]]:
    """The Gumbel noise that the search samples at its roots with KEY."""
    _, root_key, _ = jax.random.split(KEY, 3)
    _, (gumbel, _) = RULES.prepare_root(jnp.zeros((batch, actions)), 1, root_key)
    return np.asarray(gumbel).tolist()


def neighbors(game: Game, states: State, count: int) -> tuple[list[list[State]], jax.Array | None]:
    """The positions after each lane's first `count` legal moves, used as the game's past, and their fingerprints."""
    if not count:
        return [[]] * batch_size(states), None
    actions = jnp.argsort(~jax.vmap(game.legal)(states), axis=1)[:, :count]
    after = jax.vmap(lambda state, moves: jax.vmap(lambda move: game.step(state, move))(moves))(states, actions)
    prints = jax.vmap(jax.vmap(lambda state: fingerprint(game, state)))(after)
    return [[one(one(after, lane), index) for index in range(count)] for lane in range(batch_size(states))], prints


# Every rule is compiled for every game: Connect has two seats in turn like tic-tac-toe, and the star is the slowest.
SLOW = ("connect3", "connect4", "chinese-checkers")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.long) if name in SLOW else name for name in GAMES]
)
def test_every_rule_builds_the_reference_tree(name: str) -> None:
    check(name, 60, RULES)


@pytest.mark.parametrize(("name", "past"), [pytest.param("tictactoe", 0, marks=pytest.mark.long), ("ring", 1)])
def test_transpositions_match_the_reference(name: str, past: int) -> None:
    check(name, 60, FEW, transpositions=True, past=past, rounds=2)


@pytest.mark.parametrize("name", ["ring", pytest.param("chinese-checkers", marks=pytest.mark.long)])
def test_cut_loops_match_the_reference(name: str) -> None:
    check(name, 60, FEW, cut_loops=True, past=2, rounds=2)


def test_random_ties_match_the_reference() -> None:
    check("ring", 40, FEW, random_ties=True, rounds=2)


def test_random_ties_take_every_action_equally_often() -> None:
    """With uniform priors and values of 0, every action of the empty board is as good as another."""
    game = games.make("tictactoe")
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), 900))
    search = Search(game, Uniform(game), 3, Puct(), random_ties=True)
    result = search.run(None, states, KEY)
    counts = np.bincount(np.asarray(result.action), minlength=9)
    assert counts == pytest.approx(100, abs=4 * np.sqrt(100 * 8 / 9))
    visited = (np.asarray(result.visits) > 0).sum(axis=0)  # 3 of 9 actions in each search
    assert visited == pytest.approx(300, abs=4 * np.sqrt(900 * (1 / 3) * (2 / 3)))
    first = Search(game, Uniform(game), 3, Puct()).run(None, states, KEY)
    assert (np.asarray(first.action) == 0).all()


def test_max_depth_matches_the_reference() -> None:
    check("ring", 60, FEW, max_depth=3, rounds=2)


@pytest.mark.long
@pytest.mark.parametrize("name", GAMES)
@pytest.mark.parametrize("options", [{}, {"transpositions": True}, {"cut_loops": True}], ids=str)
def test_larger_trees_match_the_reference(name: str, options: dict[str, bool]) -> None:
    check(name, 300, RULES, rounds=6, seed=8, **options)
