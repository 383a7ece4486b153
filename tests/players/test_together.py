"""Two players of one search in one call: each plays as it does alone."""

from __future__ import annotations

from dataclasses import replace

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array

from tabia.evaluation.match import Match, play
from tabia.games import make as make_game
from tabia.networks import Folded, Network, presets
from tabia.players import make
from tabia.players import together as module
from tabia.players.player import Player
from tabia.players.runs import Agent
from tabia.players.search import build_search
from tabia.players.together import together
from tabia.players.tree_player import SearchPlayer
from tabia.players.tree_search import AlphaZeroPlayer
from tabia.search import Puct, memory
from tabia.search.evaluators import Rollout

GAME = make_game("connect3")
NETWORK = Network.of(presets.make("tower", filters=16, blocks=1), GAME)
SEARCH = build_search(GAME, NETWORK, rule=Puct(), simulations=12)


@jax.jit
def weights(key: Array) -> Folded:
    """Weights of which no two give nearly the same policy, as initial ones do."""
    leaves, tree = jax.tree.flatten(NETWORK.init(key))
    keys = jax.random.split(key, len(leaves))
    noisy = [leaf + 0.3 * jax.random.normal(own, leaf.shape) ** 2 for own, leaf in zip(keys, leaves, strict=True)]
    return NETWORK.prepare(NETWORK.fold(jax.tree.unflatten(tree, noisy)))


def player(seed: int) -> SearchPlayer:
    return SearchPlayer(SEARCH, weights(jax.random.key(seed)), name=f"network {seed}")


def agent(seed: int, final: str) -> AlphaZeroPlayer:
    options = {"simulations": 12, "rule": Puct(), "winning_moves_first": False}
    return AlphaZeroPlayer(GAME, Agent(NETWORK, weights(jax.random.key(seed))), final=final, **options)


ONE, OTHER = player(1), player(2)


@pytest.fixture(autouse=True)
def pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_pays", lambda: True)


@pytest.mark.parametrize(
    "players", [(ONE, OTHER), (agent(1, "value"), agent(2, "value"))], ids=["most visits", "highest value"]
)
def test_each_half_is_searched_with_its_own_weights(players: tuple[Player, Player]) -> None:
    pair = together(players, most=8)
    assert pair is not None
    states = jax.vmap(GAME.init)(jax.random.split(jax.random.key(0), 8))
    states = jax.vmap(GAME.step)(states, jnp.arange(8) % 4)
    found = pair.choose(jax.tree.map(lambda leaf: jnp.concatenate([leaf, leaf]), states), jax.random.key(0))
    alone = [each.choose(states, jax.random.key(0)) for each in players]
    assert not np.array_equal(alone[0].visits, alone[1].visits)
    for name in ("actions", "visits", "values"):
        np.testing.assert_allclose(
            getattr(found, name), np.concatenate([getattr(one, name) for one in alone]), atol=1e-5, err_msg=name
        )


def test_rollouts_of_both_halves_are_independent() -> None:
    states = jax.vmap(GAME.init)(jax.random.split(jax.random.key(0), 64))
    found = module.ByHalf(Rollout(GAME))((None, None), states, jax.random.key(1)).values
    assert not np.array_equal(found[:32], found[32:])


def test_a_match_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    match = Match(GAME, (ONE, OTHER), games=12, seed=3)
    asked: list[int] = []
    choose = SearchPlayer.choose
    monkeypatch.setattr(SearchPlayer, "choose", lambda self, *given: (asked.append(1), choose(self, *given))[1])
    both, calls = play(match).records, len(asked)
    monkeypatch.setattr(module, "_pays", lambda: False)
    assert play(match).records == both
    assert len(asked) - calls > 1.5 * calls  # one call per move instead of two, while both are to move in some games


@pytest.mark.parametrize(
    "players",
    [
        [ONE],
        [ONE, OTHER, player(3)],
        [ONE, make("random", GAME)],
        [ONE, replace(OTHER, search=replace(SEARCH, simulations=13))],
        [replace(ONE, search=replace(SEARCH, leaves=2)), replace(OTHER, search=replace(SEARCH, leaves=2))],
        [replace(each, reuse_tree=True, search=replace(SEARCH, reuse_nodes=13)) for each in (ONE, OTHER)],
        [agent(1, "value"), agent(2, "robust")],
        [agent(1, "max-robust"), agent(2, "max-robust")],
        [make("mcts:simulations=8", GAME), make("mcts:simulations=8", GAME)],
    ],
    ids=[
        *("one", "three", "another kind", "another search", "leaves", "kept trees", "another final move"),
        *("stops early", "no weights"),
    ],
)
def test_others_play_alone(players: list[Player]) -> None:
    assert together(players, most=8) is None


def test_players_whose_trees_do_not_fit_together_play_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(memory.VARIABLE, "0.0001")
    assert together([ONE, OTHER], most=8) is not None
    assert together([ONE, OTHER], most=2**16) is None
