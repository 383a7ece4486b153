"""Networks against the reference implementation in NumPy, and their laws."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import onnxruntime
import optax
import pytest
from jax import Array
from jax.typing import DTypeLike

from tabia.networks import Folded, Network, NetworkError, Outputs, Tree, Variables
from tabia.networks.int8 import measuring_session
from tabia.networks.onnx_graph import to_onnx
from tabia.networks.presets import any_size, glimmerfors, mlp, schulte, tower

from .reference import Reference
from .zoo import ZOO, boards, trained

KEY = jax.random.key(7)


@pytest.fixture(params=ZOO)
def network(request: pytest.FixtureRequest) -> Network:
    return ZOO[request.param]


KINDS = ("tower", "cells, planes and pass", "columns", "mlp", "bottleneck", "mixer", "attention", "gated", "dense")


@pytest.fixture(params=[name if name in KINDS else pytest.param(name, marks=pytest.mark.long) for name in ZOO])
def of_each_kind(request: pytest.FixtureRequest) -> Network:
    """One network of each kind; the others in the long tests."""
    return ZOO[request.param]


@partial(jax.jit, static_argnums=0)
def both_ways(
    network: Network, variables: Variables, observations: Array
) -> tuple[tuple[Outputs, Tree], tuple[Array, Array], Folded]:
    folded = network.fold(variables)
    return network.apply(variables, observations), network.forward(folded, observations), folded


@partial(jax.jit, static_argnums=(0, 3))
def folded_forward(
    network: Network, variables: Variables, observations: Array, dtype: DTypeLike
) -> tuple[Array, Array]:
    return network.forward(network.fold(variables, dtype), observations)


def test_agrees_with_the_reference_before_and_after_folding(network: Network) -> None:
    variables, observations = trained(network), boards(network, 32)
    (outputs, _), (logits, values), _ = both_ways(network, variables, observations)
    reference = Reference(network.config, *variables)
    for index, board in enumerate(np.asarray(observations[:5])):
        expected, raw = reference(board)
        np.testing.assert_allclose(outputs.logits[index], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(outputs.values[index], _values(network, raw), atol=1e-4)
        if network.config.final_position:
            final = outputs.auxiliary["final_position"][index]
            np.testing.assert_allclose(final, reference.final_position(board), rtol=1e-4, atol=1e-4)
        if network.config.over_class:
            over = reference.over(board)
            np.testing.assert_allclose(outputs.auxiliary["over"][index], over, rtol=1e-4, atol=1e-4)
    assert ("final_position" in outputs.auxiliary) == network.config.final_position
    assert ("wdl" in outputs.auxiliary) == (network.config.value == "wdl")
    np.testing.assert_allclose(logits, outputs.logits, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values, outputs.values, atol=1e-4)
    assert logits.shape == (32, network.num_actions)
    assert values.shape == (32, network.num_players)
    assert float(jnp.std(logits)) > 0.1  # the comparison is not trivial


def test_onnx_graph_agrees_with_the_reference(network: Network) -> None:
    variables, observations = trained(network), boards(network, 32)
    _, expected, folded = both_ways(network, variables, observations)
    model = to_onnx(network, folded, {}, version="1")
    assert (model.ir_version, [(one.domain, one.version) for one in model.opset_import]) == (8, [("", 17)])
    session = onnxruntime.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    found = session.run(["logits", "values"], {"observation": np.asarray(observations)})
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)
    board = np.asarray(observations[3:4])  # the batch has any size
    logits, values = session.run(["logits", "values"], {"observation": board})
    reference, raw = Reference(network.config, *variables)(board[0])
    np.testing.assert_allclose(logits[0], reference, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(values[0], _values(network, raw), atol=1e-4)


def _values(network: Network, raw: np.ndarray) -> np.ndarray:
    if network.config.value == "scores":
        return np.tanh(raw)
    win, _, loss = np.exp(raw) / np.exp(raw).sum()
    return np.array([win - loss, loss - win])


def test_variables_have_the_declared_names_and_shapes(network: Network) -> None:
    variables = jax.eval_shape(network.init, KEY)
    for tree, of_layer in ((variables.params, "params"), (variables.statistics, "statistics")):
        found = {".".join(k.key for k in path): leaf.shape for path, leaf in jax.tree.flatten_with_path(tree)[0]}
        named = {
            f"{layer.name}.{leaf}": shape
            for layer in network.layers
            for leaf, shape in getattr(layer, of_layer)().items()
        }
        assert found == named


def test_half_precision_is_close(of_each_kind: Network) -> None:
    network = of_each_kind
    variables, observations = trained(network), boards(network, 32)
    _, (exact, _), _ = both_ways(network, variables, observations)
    logits, values = folded_forward(network, variables, observations, jnp.bfloat16)
    assert logits.dtype == values.dtype == jnp.float32
    # bfloat16 has 8 significant bits; after a few layers the error is a few hundredths of the standard deviation.
    assert float(jnp.std(logits - exact)) < 0.05 * float(jnp.std(exact))


def test_an_untrained_network_is_indifferent(of_each_kind: Network) -> None:
    network = of_each_kind
    _, (logits, values), _ = both_ways(network, jax.jit(network.init)(KEY), boards(network, 32))
    assert float(jnp.abs(jax.nn.softmax(logits) - 1.0 / network.num_actions).max()) < 0.2
    assert float(jnp.abs(values).mean()) < 0.2


@pytest.mark.parametrize(
    "name",
    [
        "wandhoven",
        "schulte",
        "tower, wdl",
        "cells, planes and pass",
        "columns",
        "mlp",
        "bottleneck",
        "mixer",
        "attention",
        "gated",
        "dense",
    ],
)
def test_every_parameter_has_a_gradient(name: str) -> None:
    network = ZOO[name]
    variables, observations = trained(network), boards(network, 32)

    def loss(params: Tree) -> Array:
        outputs, _ = network.apply(Variables(params, variables.statistics), observations, train=True, key=KEY)
        return jnp.square(outputs.logits).sum() + jnp.square(outputs.values[:, 0] - 0.3).sum()

    gradients = jax.jit(jax.grad(loss))(variables.params)
    zero = [path for path, leaf in jax.tree.flatten_with_path(gradients)[0] if not np.asarray(leaf).any()]
    assert not zero


def test_training_normalizes_by_the_batch_and_updates_the_statistics() -> None:
    network = Network(glimmerfors(4, 1).changed(norm_momentum=0.75), (3, 3, 2), 9, 2)
    variables, observations = trained(network), boards(network, 16)
    train = jax.jit(partial(network.apply, train=True))
    first, updated = train(variables, observations)
    reference = Reference(network.config, {"stem": {"linear": variables.params["stem"]["linear"]}}, {})
    seen = np.stack([reference.layer("stem", board) for board in np.asarray(observations)])
    for name, batch in (("mean", seen.mean(axis=(0, 1, 2))), ("var", seen.var(axis=(0, 1, 2)))):
        old = variables.statistics["stem"]["norm"][name]
        np.testing.assert_allclose(updated["stem"]["norm"][name], 0.75 * old + 0.25 * batch, rtol=1e-4, atol=1e-5)
    shifted = jax.tree.map(lambda leaf: leaf + 1.0, variables.statistics)
    second, _ = train(Variables(variables.params, shifted), observations)
    np.testing.assert_array_equal(first.logits, second.logits)


def test_dropout_is_random_in_training_only() -> None:
    network = Network(schulte(1, 4).changed(units=(8, 8)), (3, 3, 2), 9, 3)
    variables, observations = trained(network), boards(network, 4)
    train = jax.jit(partial(network.apply, train=True))
    first, second = (train(variables, observations, key=jax.random.key(seed))[0].logits for seed in (1, 2))
    assert bool(jnp.any(first != second))
    np.testing.assert_array_equal(first, train(variables, observations, key=jax.random.key(1))[0].logits)
    with pytest.raises(NetworkError, match=r"has dropout 0\.3: .* needs a key"):
        network.apply(variables, observations, train=True)


@pytest.mark.parametrize("policy", ["cells", "columns"])
@pytest.mark.parametrize("shape", [(2, 3), (6, 7), (3, 12)])
def test_the_same_weights_fit_boards_of_other_sizes(policy: str, shape: tuple[int, int]) -> None:
    network = Network(any_size(8, 3, policy=policy), (4, 5, 2), {"cells": 20, "columns": 5}[policy], 2)
    variables = trained(network)
    other = network.at((*shape, 2), {"cells": shape[0] * shape[1], "columns": shape[1]}[policy])
    assert other.layers == network.layers
    observations = boards(other, 2)
    logits, values = folded_forward(other, variables, observations, jnp.float32)
    for index, board in enumerate(np.asarray(observations)):
        expected, raw = Reference(network.config, *variables)(board)
        np.testing.assert_allclose(logits[index], expected, rtol=1e-4, atol=1e-4)
        np.testing.assert_allclose(values[index], np.tanh(raw), atol=1e-4)


def test_actions_are_permuted_with_cells() -> None:
    """With 1 x 1 kernels a network is equivariant: permuting the cells permutes the actions."""
    network = Network(any_size(8, 3, policy_planes=2, policy_extra=1).changed(kernel=1), (3, 4, 2), 25, 2)
    variables, observations = trained(network), boards(network, 8)
    permutation = np.random.default_rng(7).permutation(12)
    moved = observations.reshape(8, 12, 2)[:, permutation].reshape(8, 3, 4, 2)
    logits, values = folded_forward(network, variables, observations, jnp.float32)
    after, after_values = folded_forward(network, variables, moved, jnp.float32)
    np.testing.assert_allclose(
        after[:, :24].reshape(8, 12, 2), logits[:, :24].reshape(8, 12, 2)[:, permutation], atol=1e-4
    )
    np.testing.assert_allclose(after[:, 24], logits[:, 24], atol=1e-4)
    np.testing.assert_allclose(after_values, values, atol=1e-4)


def test_actions_are_mirrored_with_columns() -> None:
    network = Network(any_size(8, 2, policy="columns").changed(kernel=1), (3, 4, 2), 4, 2)
    variables, observations = trained(network), boards(network, 8)
    logits, values = folded_forward(network, variables, observations, jnp.float32)
    mirrored, same = folded_forward(network, variables, observations[:, :, ::-1], jnp.float32)
    np.testing.assert_allclose(mirrored, logits[:, ::-1], atol=1e-4)
    np.testing.assert_allclose(same, values, atol=1e-4)


def test_forward_works_in_compiled_loops() -> None:
    network = Network(tower(4, 1), (3, 3, 2), 9, 2)
    folded, observations = network.fold(network.init(KEY)), boards(network, 3)

    @jax.jit
    def loop(folded: Folded, start: Array) -> tuple[Array, Array]:
        def step(carry: Array, _: None) -> tuple[Array, Array]:
            logits, values = network.forward(folded, carry)
            return carry + logits.mean() + values.mean(), logits

        carry, logits = jax.lax.scan(step, start, length=3)
        return jax.lax.while_loop(
            lambda x: x.sum() < 0, lambda x: network.forward(folded, x)[0].sum() + x, carry
        ), logits

    _, logits = loop(folded, observations)
    np.testing.assert_allclose(logits[0], network.forward(folded, observations)[0], atol=1e-5)


def test_equal_networks_are_equal_and_hashable() -> None:
    one, two = (Network(tower(4, 1), (3, 3, 2), 9, 2) for _ in range(2))
    assert one == two
    assert hash(one) == hash(two)
    static = jax.jit(lambda network, folded, x: network.forward(folded, x), static_argnums=0)
    assert static(one, one.fold(one.init(KEY)), boards(one, 2))[0].shape == (2, 9)


def test_it_learns() -> None:
    """Adam trains a small network to count: who has more stones, and where the first stone is."""
    network = Network(mlp(32, 32, value="wdl"), (3, 3, 2), 9, 2)
    observations = boards(network, 256)
    ahead = jnp.sign(observations[..., 0].sum((1, 2)) - observations[..., 1].sum((1, 2)))
    first = jnp.argmax(observations[..., 0].reshape(256, 9), axis=1)
    variables, optimizer = network.init(KEY), optax.adam(1e-2)

    def loss(params: Tree, statistics: Tree) -> tuple[Array, Tree]:
        outputs, updated = network.apply(Variables(params, statistics), observations, train=True)
        moves = optax.softmax_cross_entropy_with_integer_labels(outputs.logits, first)
        results = optax.softmax_cross_entropy_with_integer_labels(
            outputs.auxiliary["wdl"], (1 - ahead).astype(jnp.int32)
        )
        return (moves + results).mean(), updated

    @jax.jit
    def train(variables: Variables, state: optax.OptState) -> tuple[Variables, optax.OptState]:
        gradients, updated = jax.grad(loss, has_aux=True)(*variables)
        updates, state = optimizer.update(gradients, state)
        return Variables(optax.apply_updates(variables.params, updates), updated), state

    state = optimizer.init(variables.params)
    for _ in range(300):
        variables, state = train(variables, state)
    logits, values = network.forward(network.fold(variables), observations)
    assert float((logits.argmax(axis=1) == first).mean()) > 0.95
    assert float((jnp.sign(jnp.round(values[:, 0])) == ahead).mean()) > 0.95
    np.testing.assert_array_equal(values[:, 0], -values[:, 1])


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((tower(), (6, 7), 7, 2), "rows x columns x planes"),
        ((tower(), (6, 7, 0), 7, 2), "each at least 1"),
        ((tower(), (6, 7, 2), 0, 2), "at least one action"),
        ((tower(value="wdl"), (9, 9, 5), 320, 3), "two seats; this game has 3: use value='scores'"),
        ((any_size(policy="columns"), (3, 3, 2), 9, 2), "one action per column, 3 here; this game has 9"),
        ((any_size(), (8, 8, 2), 65, 2), r"8 x 8 x 1 \+ 0 = 64 actions; this game has 65: change"),
    ],
)
def test_a_network_that_does_not_fit_its_game_is_refused(arguments: tuple[object, ...], sentence: str) -> None:
    with pytest.raises(NetworkError, match=sentence):
        Network(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize("kind", ["mixer", "attention", "gated"])
def test_bodies_without_8_bits_say_so(kind: str) -> None:
    network = Network(tower(16, 1).changed(kind=kind), (4, 5, 32), 6, 2)
    with pytest.raises(NetworkError, match=f"^8 bits are for networks of convolutions .* kind '{kind}' has others.$"):
        measuring_session(network, network.fold(trained(network)))


def test_a_network_for_one_size_cannot_change_it() -> None:
    with pytest.raises(NetworkError, match="see the preset `any_size`"):
        Network(tower(), (6, 7, 2), 7, 2).at((6, 8, 2), 8)
    with pytest.raises(NetworkError, match="this network reads 2, the other board has 3"):
        Network(any_size(), (3, 3, 2), 9, 2).at((4, 4, 3), 16)


def test_training_in_half_precision_keeps_weights_and_outputs_in_float32() -> None:
    network = Network(tower(8, 2), (3, 3, 2), 9, 2)
    variables, observations = trained(network), boards(network, 32)

    @partial(jax.jit, static_argnums=1)
    def step(params: Tree, dtype: DTypeLike) -> tuple[tuple[Array, tuple[Outputs, Tree]], Tree]:
        def loss(params: Tree) -> tuple[Array, tuple[Outputs, Tree]]:
            outputs, updated = network.apply(
                Variables(params, variables.statistics), observations, train=True, dtype=dtype
            )
            return jnp.square(outputs.logits).mean() + outputs.values.mean(), (outputs, updated)

        return jax.value_and_grad(loss, has_aux=True)(params)

    (exact, _), exact_gradients = step(variables.params, jnp.float32)
    (near, (outputs, updated)), gradients = step(variables.params, jnp.bfloat16)
    assert {leaf.dtype for leaf in jax.tree.leaves((outputs, updated, gradients))} == {jnp.dtype(jnp.float32)}
    np.testing.assert_allclose(near, exact, rtol=0.05)
    one, two = (
        jnp.concatenate([leaf.ravel() for leaf in jax.tree.leaves(tree)]) for tree in (gradients, exact_gradients)
    )
    assert float(one @ two / jnp.linalg.norm(one) / jnp.linalg.norm(two)) > 0.99
