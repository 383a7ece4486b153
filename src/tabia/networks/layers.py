"""The layers of a network: for each its name, its shape, and what follows it; nothing is computed here.

stem, block1.first, block1.second, ...      the tower
block3.look, block3.tell                    a block that sees the whole board: what it looks at, what it tells the cells
dense1, dense2, ...                         the trunk's dense layers
policy.conv, policy.tell, policy.extra, policy.out
value.conv, value.hidden, value.out
value.board                                 what the last position will show, cell by cell; for training alone
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from tabia.networks.config import NetworkConfig


class Layer(NamedTuple):
    """One convolution or dense layer, with the batch normalization that follows it, if one does."""

    name: str
    inputs: int
    outputs: int
    kernel: int = 0  # width of a convolution's kernel; 0: a dense layer
    norm: bool = False
    bias: bool = True
    exact: bool = False  # stays in float32 where the rest runs in half precision
    gain: float = 2.0  # first weights have this variance over their inputs: He's 2 keeps the size of rectified features

    @property
    def kernel_shape(self) -> tuple[int, ...]:
        square = (self.kernel, self.kernel) if self.kernel else ()
        return (*square, self.inputs, self.outputs)

    def params(self) -> dict[str, tuple[int, ...]]:
        """What training changes, by the name it has in the tree of parameters."""
        shapes = {"linear.kernel": self.kernel_shape}
        if self.bias:
            shapes["linear.bias"] = (self.outputs,)
        if self.norm:
            shapes |= {"norm.bias": (self.outputs,), "norm.scale": (self.outputs,)}
        return shapes

    def statistics(self) -> dict[str, tuple[int, ...]]:
        """The moving mean and variance that batch normalization keeps."""
        return {"norm.mean": (self.outputs,), "norm.var": (self.outputs,)} if self.norm else {}

    def folded(self) -> dict[str, tuple[int, ...]]:
        """What is left for inference."""
        return {"kernel": self.kernel_shape, "bias": (self.outputs,)}


# An untrained network should say that it knows nothing: moves nearly even, values near 0.
_TIMID = 0.002


def layers(
    config: NetworkConfig, observation_shape: tuple[int, int, int], num_actions: int, num_players: int
) -> tuple[Layer, ...]:
    """All layers, in the order in which a position meets them."""
    height, width, planes = observation_shape
    cells, wide = height * width, planes
    found: list[Layer] = []
    if config.kind == "residual":
        found += _tower(config, planes)
        wide = config.filters
    if config.units:
        found += _dense(config, cells * wide)
        found += _outputs_of_features(config, num_actions, num_players)
        return tuple(found)
    found += _policy_head(config, cells, num_actions)
    found += _value_head(config, cells, num_players)
    if config.last_board:
        told = Layer("value.board", config.value_filters, planes, kernel=1, bias=config.bias, exact=True, gain=_TIMID)
        found.append(told)
    return tuple(found)


def has_pool(config: NetworkConfig, block: int) -> bool:
    """Whether a block (from 1) sees the whole board."""
    return config.pool_every > 0 and block % config.pool_every == 0


def value_width(config: NetworkConfig, num_players: int) -> int:
    return 3 if config.value == "wdl" else num_players


def _plain(config: NetworkConfig, name: str, inputs: int, outputs: int, *, gain: float = 2.0) -> Layer:
    """A dense layer of the heads, never normalized; the heads' last steps stay in float32."""
    return Layer(name, inputs, outputs, bias=config.bias, exact=True, gain=gain)


def _normed(config: NetworkConfig, name: str, inputs: int, outputs: int, *, kernel: int, gain: float = 2.0) -> Layer:
    # A normalization shifts by itself, so a bias before it would do nothing.
    bias = config.bias and not config.batch_norm
    return Layer(name, inputs, outputs, kernel, norm=config.batch_norm, bias=bias, gain=gain)


def _tower(config: NetworkConfig, planes: int) -> Iterator[Layer]:
    filters, kernel = config.filters, config.kernel
    yield _normed(config, "stem", planes, filters, kernel=kernel)
    # Without normalization each block adds its own variance; dividing it by their number keeps the sum in size.
    quiet = 2.0 if config.batch_norm else 2.0 / config.blocks if config.blocks else 2.0
    for block in range(1, config.blocks + 1):
        yield _normed(config, f"block{block}.first", filters, filters, kernel=kernel)
        if has_pool(config, block):
            looking = max(1, filters // 4)
            yield _normed(config, f"block{block}.look", filters, looking, kernel=kernel)
            yield Layer(f"block{block}.tell", 2 * looking, filters, bias=False, gain=1.0)
        yield _normed(config, f"block{block}.second", filters, filters, kernel=kernel, gain=quiet)


def _dense(config: NetworkConfig, inputs: int) -> Iterator[Layer]:
    for index, width in enumerate(config.units, start=1):
        yield _normed(config, f"dense{index}", inputs, width, kernel=0)
        inputs = width


def _outputs_of_features(config: NetworkConfig, num_actions: int, num_players: int) -> Iterator[Layer]:
    features = config.units[-1]
    yield _plain(config, "policy.out", features, num_actions, gain=_TIMID)
    yield from _value_outputs(config, features, num_players)


def _policy_head(config: NetworkConfig, cells: int, num_actions: int) -> Iterator[Layer]:
    filters = config.policy_filters
    yield _head_conv(config, "policy.conv", filters)
    if config.policy == "dense":
        yield _plain(config, "policy.out", cells * filters, num_actions, gain=_TIMID)
        return
    yield Layer("policy.tell", 2 * filters, filters, bias=False, gain=1.0)
    if config.policy == "columns":
        yield _plain(config, "policy.out", 2 * filters, 1, gain=_TIMID)
        return
    yield _plain(config, "policy.out", filters, config.policy_planes, gain=_TIMID)
    if config.policy_extra:
        yield _plain(config, "policy.extra", 2 * filters, config.policy_extra, gain=_TIMID)


def _value_head(config: NetworkConfig, cells: int, num_players: int) -> Iterator[Layer]:
    filters = config.value_filters
    yield _head_conv(config, "value.conv", filters)
    yield from _value_outputs(config, 2 * filters if config.value_pool else cells * filters, num_players)


def _head_conv(config: NetworkConfig, name: str, outputs: int) -> Layer:
    if config.head_norm:
        return _normed(config, name, config.filters, outputs, kernel=1)
    return Layer(name, config.filters, outputs, kernel=1, bias=config.bias)


def _value_outputs(config: NetworkConfig, features: int, num_players: int) -> Iterator[Layer]:
    if config.value_units:
        yield _plain(config, "value.hidden", features, config.value_units)
        features = config.value_units
    yield _plain(config, "value.out", features, value_width(config, num_players), gain=_TIMID)
