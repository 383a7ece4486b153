"""Which of equally good moves self-play and the gate take: with a network of zeros all moves of the start are equal."""

from __future__ import annotations

from dataclasses import fields

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.players.search import build_search
from tabia.players.simple import TIES
from tabia.training import arena
from tabia.training.config.schema import SearchSettings
from tabia.training.plan import Plan
from tabia.training.selfplay.play import make_search

from .conftest import TINY

LANES = 900


def plan(ties: str) -> Plan:
    return Plan(
        TINY.changed(
            {
                "search.rule": "puct",
                "search.dirichlet_fraction": 0.0,
                "search.ties": ties,
                "selfplay.games": LANES,
                "selfplay.plies": 1,
                "selfplay.opening_fraction": 0.0,
                "selfplay.opening_moves": 0,
                "selfplay.temperature_moves": 0,
            }
        )
    )


def counts(chosen: jax.Array) -> np.ndarray:
    return np.bincount(np.asarray(chosen).ravel(), minlength=9)


def zeros(found: Plan):
    return jax.tree.map(jnp.zeros_like, found.network.init(jax.random.key(0)))


def self_play(found: Plan) -> np.ndarray:
    """The first moves of games of self-play."""
    lanes = found.selfplay.begin(jax.random.key(0))
    return counts(found.selfplay.play(zeros(found), lanes, jax.random.key(1))[1].action)


def gate(found: Plan) -> np.ndarray:
    """The first moves of a player in the gate."""
    player = arena.make_player(found, zeros(found), found.config.search.simulations, "one", search="run")
    states = jax.vmap(found.game.init)(jax.random.split(jax.random.key(0), LANES))
    return counts(player.choose(states, jax.random.key(2)).actions)


@pytest.mark.parametrize("first_moves", [self_play, gate])
def test_equal_moves_are_taken_equally_often(first_moves) -> None:
    """Each of nine moves in a ninth of 900 games, within four standard errors; by default always the first."""
    spread = 4 * np.sqrt(LANES * (1 / 9) * (8 / 9))
    assert first_moves(plan("random")) == pytest.approx(np.full(9, LANES / 9), abs=spread)
    assert first_moves(plan("first")).tolist() == [LANES, *[0] * 8]


def test_the_words_are_those_of_players() -> None:
    (setting,) = [one for one in fields(SearchSettings) if one.name == "ties"]
    assert setting.metadata["words"] == tuple(TIES) and setting.default == "first"


def test_by_default_the_searches_are_those_without_the_setting() -> None:
    """Equal searches are one program, so they find the same, bit for bit."""
    found = Plan(TINY)
    search = make_search(found.game, found.network, found.config.search, 4)
    assert search == build_search(found.game, found.network, rule=search.rule, simulations=4)
    for kind in ("gumbel", "run"):
        assert not arena.make_search(found, 4, kind).random_ties
        assert arena.make_search(Plan(TINY.changed({"search.ties": "random"})), 4, kind).random_ties
