"""The shipped agents load, fit their games, are small, and document their training and strength."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from tabia import games, players
from tabia.cli.main import app
from tabia.networks.weights import read_manifest
from tabia.players import runs
from tabia.players.agents import Shipped, agents
from tabia.players.search import Forward

ROOT = Path(__file__).parents[2]


@pytest.fixture(params=agents(), ids=lambda agent: agent.name)
def agent(request: pytest.FixtureRequest) -> Shipped:
    return request.param


def test_agent_plays(agent: Shipped) -> None:
    game = games.make(agent.game)
    start = jax.tree.map(lambda leaf: leaf[None], game.init(jax.random.key(0)))
    action = players.make(f"network:{agent.name}", game).choose(start, jax.random.key(0)).actions[0]
    assert bool(game.legal(game.init(jax.random.key(0)))[action])


def test_weights_are_small_and_in_half_precision_or_less(agent: Shipped) -> None:
    assert agent.bytes <= 8_000_000
    versions = [None, *(one.version for one in agent.versions)]
    for path in [runs.weights_file(str(runs.shipped_folder(agent.name)), version) for version in versions]:
        assert {tensor.stored for tensor in read_manifest(path).tensors.values()} <= {"float16", "int8"}


def test_agent_has_a_card_and_measurements_with_commands(agent: Shipped) -> None:
    card = (ROOT / agent.card).read_text(encoding="utf-8").replace(" \\\n    ", " ")  # long commands span lines
    assert agent.strength and agent.recipe in card and agent.device in card and "## A game" in card
    for one in agent.strength:
        assert one.figure in card and one.command in card
    for version in agent.versions:
        assert f"@{version.version}" in card


def test_command_lists_agents() -> None:
    listed = json.loads(CliRunner().invoke(app, ["agents", "--json"]).stdout)
    assert [entry["name"] for entry in listed] == runs.shipped()
    words = CliRunner().invoke(app, ["agents"]).stdout
    assert all(f"az:{entry['name']}" in words for entry in listed)


@pytest.mark.parametrize("name", ["star", "star2"])
def test_agents_are_refused_for_other_rules(name: str) -> None:
    trained_on = next(agent.game for agent in agents() if agent.name == name)
    game = games.make(f"{trained_on},rules=people")
    with pytest.raises(players.PlayerError, match=f"contains a network for {trained_on}, not for {game.id}"):
        runs.load(game, runs.weights_file(name))


def test_players_compute_in_half_precision_where_it_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    game, agent = games.make("tictactoe"), players.make("network:tictactoe", games.make("tictactoe")).agent
    assert agent.playing is agent.parameters  # on a CPU
    monkeypatch.setattr(runs, "inference_type", lambda: jnp.dtype(jnp.float16))
    half = replace(agent)
    types = {layer.name: half.playing[layer.name]["kernel"].dtype for layer in half.network.layers}
    assert types == {layer.name: jnp.float32 if layer.exact else jnp.float16 for layer in half.network.layers}
    board = half.network.observe(game, game.init(jax.random.key(0)))[None]
    for one, other in zip(*(agent.network.forward(held, board) for held in (half.playing, agent.playing)), strict=True):
        np.testing.assert_allclose(one, other, rtol=0.02, atol=0.02)  # eleven bits, through three layers


@pytest.mark.long
def test_chinese_checkers_policy_avoids_illegal_moves() -> None:
    """The measure of Schulte 2021: the policy's mass on illegal moves before masking, in 64 games of self-play."""
    game = games.make("chinese-checkers")
    agent = runs.load(game, runs.weights_file("chinese-checkers"))
    forward = Forward(agent.network)

    @jax.jit
    def move(states, key):
        legal, over = jax.vmap(game.legal)(states), jax.vmap(game.over)(states)
        logits = forward(agent.parameters, jax.vmap(game.observe)(states))[0]
        wasted = jnp.where(legal, 0.0, jax.nn.softmax(logits)).sum(axis=-1)
        actions = jax.random.categorical(key, jnp.where(legal, logits, -1e9))
        return jax.vmap(game.step)(states, actions), jnp.where(over, jnp.nan, wasted)

    states, found = jax.vmap(game.init)(jax.random.split(jax.random.key(0), 64)), []
    for ply in range(70):
        states, wasted = move(states, jax.random.key(ply))
        found.append(wasted)
    assert float(jnp.nanmean(jnp.stack(found))) < 0.001
