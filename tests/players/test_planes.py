"""`network.planes`: what a network reads, the same in self-play, learning and play, from the same file of weights."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from tabia.games import make
from tabia.games.session import Session
from tabia.networks import Network, NetworkConfig, NetworkError, weights
from tabia.networks.presets import mlp, tower
from tabia.players import NetworkPlayer
from tabia.players.search import network_evaluator
from tabia.training.plan import Plan
from tabia.training.selfplay import replay
from tests.training.conftest import TINY

GAME = make("tictactoe")
COLORS = TINY.changed({"network": mlp(16, batch_norm=False).changed(planes="colors")})


def test_colors_are_fixed_and_a_plane_says_who_moves() -> None:
    """X in the center, O in the corner a1, in the same planes whoever moves; the third plane is 1 if X moves."""
    network = Network.of(COLORS.network, GAME)
    assert network.observation_shape == (3, 3, 3)
    for moves, first_moves in (("b2", 0.0), ("b2 a1", 1.0)):
        planes = np.asarray(network.observe(GAME, Session.from_moves(GAME, moves).state))
        crosses, noughts = np.zeros((3, 3)), np.zeros((3, 3))
        crosses[1, 1], noughts[2, 0] = 1, float("a1" in moves)
        assert (planes == np.stack([crosses, noughts, np.full((3, 3), first_moves)], axis=-1)).all()


def test_more_than_two_seats_have_a_plane_for_each_but_the_last() -> None:
    game = make("connect:rows=4,columns=4,line=3,players=3")
    network = Network.of(tower(8, 1).changed(planes="colors"), game)
    assert network.observation_shape == (4, 4, 5)
    turns = []
    for moves in ("", "1", "1 2"):
        planes = np.asarray(network.observe(game, Session.from_moves(game, moves).state))
        assert planes[..., :3].sum() == len(moves.split())
        turns.append(planes[0, 0, 3:].tolist())
    assert turns == [[1, 0], [0, 1], [0, 0]]


def test_all_parts_read_the_same_planes(tmp_path: Path) -> None:
    """Self-play, the learner and a player from a file see exactly `Network.observe`."""
    plan = Plan(COLORS)
    variables = plan.network.init(jax.random.key(0))
    # Weights of a few large numbers, so that any other planes would give other values.
    variables = jax.tree.map(lambda leaf: leaf + 0.1 * jnp.sin(jnp.arange(leaf.size).reshape(leaf.shape)), variables)
    _, plies = plan.selfplay.play(variables, plan.selfplay.begin(jax.random.key(1)), jax.random.key(2))
    states = jax.tree.map(lambda leaf: leaf[0], plies.states)
    observations = jax.vmap(partial(plan.network.observe, GAME))(states)
    folded = plan.network.fold(variables)
    logits, values = plan.network.forward(folded, observations)

    buffer = replay.add(replay.make_buffer(plies, 64), plies, reach=plan.reach)
    samples = replay.sample(buffer, jax.random.key(3), 16, 64)
    learner = replace(plan.learner, settings=replace(COLORS.learner, symmetries=False))
    expected = jax.vmap(partial(plan.network.observe, GAME))(samples.plies.states)
    assert (learner.make_batch(samples, jax.random.key(4)).observations == expected).all()

    evaluation = network_evaluator(GAME, plan.network)(folded, states, jax.random.key(0))
    mover = np.asarray(jax.vmap(GAME.mover)(states))
    own = np.take_along_axis(np.asarray(evaluation.values), mover[:, None], axis=1)[:, 0]
    assert own == pytest.approx(np.asarray(values)[:, 0], abs=1e-6)
    assert np.asarray(evaluation.logits) == pytest.approx(np.asarray(logits), abs=1e-6)

    path = tmp_path / "weights.safetensors"
    weights.save(path, plan.network, variables, {"game": GAME.id, "game_version": GAME.version})
    choice = NetworkPlayer(GAME, path).choose(states, jax.random.key(0))
    assert choice.values is not None
    assert np.asarray(choice.values) == pytest.approx(np.asarray(evaluation.values), abs=1e-5)


def test_files_from_before_the_setting_read_the_planes_of_the_mover() -> None:
    entries = tower(8, 1).to_dict()
    del entries["planes"]
    assert NetworkConfig.from_dict(entries) == tower(8, 1)


def test_the_final_position_is_predicted_from_the_side_of_the_mover() -> None:
    with pytest.raises(NetworkError, match="it needs planes='mover'"):
        tower(8, 1).changed(planes="colors", final_position=True)
