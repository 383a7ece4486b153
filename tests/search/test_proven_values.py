"""Proven values: exact by the solver, the same tree as the reference implementation, and used at the root."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia import games
from tabia.games.game import Game, State
from tabia.search import Gumbel, MiniAlphaGo, Omc, Puct, Result, Search, SearchError, Uct
from tabia.search.proofs import node_proofs
from tabia.search.reference import Reference, expected, subtree
from tabia.search.reference_proofs import candidates, proof
from tabia.search.reference_rules import final_move, root_policy
from tabia.search.rules.puct import as_parent
from tabia.search.tree import LINK, UNPROVEN
from tabia.solvers import solve

from .comparing import TOLERANCE, ByLane, differences, lane_of
from .positions import batch_size, one, random_network, random_positions, random_weights
from .toy_games import Race, RaceState, RingGame

GUMBEL = Gumbel(considered_actions=4)
RULES = ByLane(
    gumbel=GUMBEL,
    rules=(Puct(), Uct(), GUMBEL, Puct(untried_value=as_parent), Omc(), MiniAlphaGo(c1=0.7, final_only=True)),
)
KEY = jax.random.key(3)
UNKNOWN = np.float32(UNPROVEN)


@dataclass(frozen=True)
class WinnerTakesAll(Race):
    """The race in which only the first counts, so that a win fixes the scores of all seats."""

    name = "winner-takes-all"
    score_range = (0.0, 1.0)
    length: int = 7

    def scores(self, state: RaceState) -> Array:
        return (state.fields >= self.length).astype(jnp.float32)


def test_x() -> None:
    pass


GAMES: dict[str, tuple[Game, int]] = {  # and the most random moves before its positions
    "tictactoe": (games.make("tictactoe"), 5),
    "race": (Race(), 5),
    "ring": (RingGame(max_moves=14), 10),
}


def root_noise(batch: int, actions: int) -> list[list[float]]:
    """The Gumbel noise that the search samples at its roots with KEY."""
    _, root_key, _ = jax.random.split(KEY, 3)
    _, (gumbel, _) = RULES.prepare_root(jnp.zeros((batch, actions)), 1, root_key)
    return np.asarray(gumbel).tolist()


def compare(name: str, simulations: int, **options: Any) -> int:
    """Search with both implementations and compare; the number of roots that are proven."""
    game, most_moves = GAMES[name]
    search = Search(game, random_network(game), simulations, RULES, proven_values=True, **options)
    states = random_positions(game, 4 * len(RULES.rules), seed=7, most_moves=most_moves)
    result = search.run(random_weights(game), states, KEY)
    assert result.proofs is not None
    noise = root_noise(batch_size(states), game.num_actions)
    for lane in range(batch_size(states)):
        rule = RULES.of(lane)
        reference = Reference(game, search.evaluate, simulations, rule, proven_values=True, **options)
        root = reference.run(random_weights(game), one(states, lane), gumbel=noise[lane])
        found = differences(lane_of(result.tree, lane), root)
        assert not found, f"lane {lane}, {rule}:\n" + "\n".join(found[:5])
        possible = candidates(root)
        assert int(result.action[lane]) == final_move(rule, root, noise[lane])
        assert np.flatnonzero(np.asarray(result.proofs.candidates[lane])).tolist() == list(possible)
        assert bool(result.proofs.complete[lane]) == (proof(root) is not None)
        np.testing.assert_allclose(np.asarray(result.values[lane]), expected(rule, root), atol=TOLERANCE)
        policy = root_policy(rule, root, possible)
        wanted = [policy.get(action, 0.0) for action in range(game.num_actions)]
        np.testing.assert_allclose(np.asarray(result.policy[lane]), wanted, atol=TOLERANCE)
    return int(np.asarray(result.proofs.complete).sum())


@pytest.mark.parametrize(
    ("name", "options"),
    [("tictactoe", {}), ("race", {}), ("tictactoe", {"transpositions": True}), ("ring", {"cut_loops": True})],
    ids=str,
)
def test_proofs_match_the_reference(name: str, options: dict[str, bool]) -> None:
    proven = compare(name, 60, **options)
    assert 0 < proven < 4 * len(RULES.rules)
