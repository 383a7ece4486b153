"""Networks in 8-bit integers: close to float32, inside compiled searches, and refused where they cannot work."""

from __future__ import annotations

import builtins
from typing import Any

import jax
import numpy as np
import pytest

from tabia import games, players
from tabia.networks import Network, NetworkConfig
from tabia.networks.int8 import Int8Forward
from tabia.networks.onnx_int8 import has_int8
from tabia.networks.presets import tower
from tabia.players import quantizing
from tabia.players.network import NetworkPlayer
from tabia.players.quantizing import compare
from tabia.players.runs import Agent
from tabia.players.spec import PlayerError
from tabia.players.tree_search import AlphaZeroPlayer
from tabia.search.evaluators import step

SPEC = "network:connect4-laptop,int8=true"


@pytest.fixture(scope="module")
def player() -> NetworkPlayer:
    made = players.make(SPEC, games.make("connect4"))
    assert isinstance(made, NetworkPlayer)
    return made


def test_a_trained_network_stays_close_to_float32(player: NetworkPlayer) -> None:
    assert player.spec == SPEC and player._quantized is not None
    found = compare(player.game, player.agent, player._quantized)
    assert 0 < found.policy < quantizing.TOLERANCE and 0 < found.values < quantizing.TOLERANCE


def test_compiled_programs_give_the_outputs_of_the_session(player: NetworkPlayer) -> None:
    assert player._quantized is not None
    game, handle = player.game, player._quantized.handle
    seen = np.stack([game.observe(game.init(jax.random.key(0)))] * 3)
    found = jax.jit(Int8Forward(player.agent.network))(handle, seen)
    for one, other in zip(found, player._quantized.evaluate(seen), strict=True):
        np.testing.assert_array_equal(one, other)
    states = jax.vmap(game.init)(jax.random.split(jax.random.key(0), 3))
    choice = player.choose(states, jax.random.key(0))
    assert choice.values is not None
    np.testing.assert_array_equal(choice.values, found[1])  # seat 0 moves


def test_a_position_is_evaluated_alike_in_batches_of_any_size(player: NetworkPlayer) -> None:
    assert player._quantized is not None
    observations = np.random.default_rng(0).random((8, *player.agent.network.observation_shape), np.float32)
    whole = player._quantized._run(observations)
    for size in (1, 2, 3):
        parts = [player._quantized._run(observations[first : first + size]) for first in range(0, 8, size)]
        np.testing.assert_array_equal(np.concatenate(parts), whole)


def test_a_search_is_the_same_with_evaluations_of_earlier_moves_in_the_cache() -> None:
    game = games.make("connect4")
    player = players.make("az:connect4-laptop,simulations=16,int8=true", game)
    assert isinstance(player, AlphaZeroPlayer) and player._quantized is not None
    cache, states, found = player._quantized.cache, jax.vmap(game.init)(jax.random.split(jax.random.key(0), 2)), []
    for clear in (True, False):
        now = states
        cache.clear()
        for ply in range(6):
            if clear:
                cache.clear()
            choice = player.choose(now, jax.random.key(ply))
            now = step(game, now, choice.actions, jax.random.key(ply))
            found.append(jax.device_get((choice.actions, choice.visits, choice.values)))
    for one, other in zip(found[:6], found[6:], strict=True):
        jax.tree.map(np.testing.assert_array_equal, one, other)
    assert cache.hits > 0.1 * cache.lookups


def test_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name == "onnxruntime":
            raise ImportError(name)
        return real(name, *rest, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(
        PlayerError, match=r"^az:connect3,int8=true: 8 bits need ONNX Runtime: install tabia\[onnx\]\.$"
    ):
        players.make("az:connect3,int8=true", games.make("connect3"))


def test_network_without_wide_convolutions_is_refused() -> None:
    with pytest.raises(PlayerError, match="wide convolutions; this network has none"):
        players.make("az:tictactoe,int8=true", games.make("tictactoe"))


def test_disagreement_with_float32_is_refused(player: NetworkPlayer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(quantizing, "TOLERANCE", 1e-6)
    with pytest.raises(PlayerError, match=r"in 8 bits the policy differs by 0\.0\d+ and .* Omit int8\.$"):
        players.make(SPEC, games.make("connect4"))


@pytest.mark.parametrize(
    "config",
    [
        tower(16, 1).changed(activation="leaky_relu", pool_every=1, policy="cells"),
        tower(32, 1).changed(kind="bottleneck", pool_every=1),
    ],
    ids=["other activations and heads", "bottleneck"],
)
def test_graph_of_other_parts_runs_in_8_bits(config: NetworkConfig) -> None:
    game = games.make("tictactoe")
    network = Network.of(config, game)
    agent = Agent(network, network.fold(network.init(jax.random.key(0))))
    made = quantizing.quantize(game, agent, "az")
    assert compare(game, agent, made).holds


@pytest.mark.parametrize(
    ("options", "leaves"),
    [
        ("int8=true", 2),
        ("int8=true,simulations=25", 1),  # an odd number
        ("int8=true,rule=puct", 1),
        ("int8=true,leaves=1", 1),
        ("int8=true,simulations=16,leaves=4", 4),
        ("leaves=2", 2),
        ("simulations=16", 1),
    ],
)
def test_leaves_per_step(options: str, leaves: int) -> None:
    game = games.make("connect4")
    made = players.make(f"az:connect4-laptop,{options}", game)
    assert isinstance(made, AlphaZeroPlayer) and made.search.leaves == leaves
    assert players.make(made.spec, game) == made


def test_the_default_number_of_leaves_makes_no_other_player() -> None:
    game = games.make("connect4")
    given, usual = (players.make(f"az:connect4-laptop,int8=true{more}", game) for more in (",leaves=2", ""))
    assert given == usual


def test_dead_channels_keep_their_biases() -> None:
    """Training can leave channels without weights, and features that are always zero."""
    game = games.make("tictactoe")
    network = Network.of(tower(16, 2), game)
    folded = {name: dict(leaves) for name, leaves in network.fold(network.init(jax.random.key(0))).items()}
    first, second, *_ = [layer.name for layer in network.layers if has_int8(layer)]
    folded[first] = {"kernel": folded[first]["kernel"] * 0, "bias": folded[first]["bias"] - 1}  # zero after its ReLU
    of_second = np.array(folded[second]["kernel"])
    of_second[..., 0], of_second[..., 1] = 0, of_second[..., 1] * 1e-9
    folded[second] = {"kernel": of_second, "bias": np.full_like(folded[second]["bias"], 0.5)}
    agent = Agent(network, folded)
    assert compare(game, agent, quantizing.quantize(game, agent, "az")).holds
