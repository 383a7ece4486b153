"""Winograd's method against XLA's own convolution, alone and in whole networks."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import Array
from jax.typing import DTypeLike

from tabia.core import devices
from tabia.networks import Folded, Network
from tabia.networks import network as networks
from tabia.networks.layers import POINTS, without_points
from tabia.networks.presets import tower
from tabia.networks.winograd import chunk_size, convolve, fits, points_bytes, transform_kernel

from .zoo import ZOO, boards, trained


# One tile and nine points, several tiles, a line shorter than the kernel, and kernels of even size.
@pytest.mark.parametrize(("board", "window"), [((6, 7), (3, 3)), ((9, 16), (3, 3)), ((1, 5), (3, 2)), ((8, 4), (4, 3))])
def test_gives_the_sums_of_a_convolution(board: tuple[int, int], window: tuple[int, int]) -> None:
    draws = np.random.default_rng(0)
    x, kernel = draws.normal(size=(*board, 2, 5)), draws.normal(size=(*window, 5, 3)) / np.sqrt(5 * np.prod(window))
    points = transform_kernel(jnp.asarray(kernel, jnp.float32), *board)
    assert points.nbytes == points_bytes(kernel.shape, *board)
    found = convolve(jnp.asarray(x, jnp.float32), points, window)
    wide = np.pad(x, [((size - 1) // 2, size // 2) for size in window] + [(0, 0), (0, 0)])
    places = [(row, column) for row in range(window[0]) for column in range(window[1])]
    expected = sum(wide[r : r + board[0], c : c + board[1]] @ kernel[r, c] for r, c in places)
    assert fits(window)
    np.testing.assert_allclose(found, expected, atol=1e-3)  # sums of size 1; nine points lose three digits of seven


@partial(jax.jit, static_argnums=0)
def forward(network: Network, folded: Folded, observations: Array) -> tuple[Array, Array]:
    return network.forward(folded, observations)


@pytest.mark.parametrize(
    "name",
    ["cells, planes and pass", "tower, 5 x 5, dropout", "bottleneck"]
    + [pytest.param(name, marks=pytest.mark.long) for name in ("columns", "schulte")],
)
def test_networks_give_the_same_outputs(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    network = ZOO[name]
    monkeypatch.setattr(networks, "LEAST_FILTERS", 2)
    monkeypatch.setattr(devices, "cores", lambda: 2)
    prepared = network.prepare(network.fold(trained(network)))
    assert [POINTS in leaves for leaves in prepared.values()].count(True) == sum(
        fits(layer.window) and layer.inputs >= 2 for layer in network.layers
    )
    observations = boards(network, 40)  # two chunks of 20
    found, expected = (forward(network, one, observations) for one in (prepared, without_points(prepared)))
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-3, atol=1e-3)


def test_is_for_wide_float32_networks_few_cores_and_batches_that_it_speeds_up(monkeypatch: pytest.MonkeyPatch) -> None:
    network = Network(tower(32, 1), (6, 7, 2), 7, 2)
    monkeypatch.setattr(devices, "cores", lambda: 2)

    def prepared(dtype: DTypeLike, **options: bool) -> Folded:
        return jax.eval_shape(lambda: network.prepare(network.fold(network.init(jax.random.key(0)), dtype), **options))

    wide = [name for name, leaves in prepared(jnp.float32).items() if POINTS in leaves]
    assert wide == ["block1.first", "block1.second"]
    assert not any(POINTS in leaves for leaves in prepared(jnp.bfloat16).values())
    monkeypatch.setattr(devices, "cores", lambda: 3)
    assert not any(POINTS in leaves for leaves in prepared(jnp.float32).values())
    assert [name for name, leaves in prepared(jnp.float32, on_one_core=True).items() if POINTS in leaves] == wide
    monkeypatch.setattr(networks, "_MOST_BYTES_PER_CORE", 1000)
    assert not any(POINTS in leaves for leaves in prepared(jnp.float32, on_one_core=True).values())
    assert [chunk_size(batch) for batch in (1, 7, 8, 33, 64, 67)] == [0, 0, 8, 11, 32, 0]
