"""A policy and value network: a configuration, and the shapes of one game.

    network = Network(tower(64, 5), observation_shape=(6, 7, 2), num_actions=7, num_players=2)
    variables = network.init(key)                                       # to train
    outputs, statistics = network.apply(variables, observations, train=True, key=key)
    folded = network.fold(variables, dtype=jnp.bfloat16)                # to play
    logits, values = network.forward(folded, observations)

A network sees the board from the mover's seat, or in fixed colors (`planes.py`). Its values are those of the mover, the
next seat and so on, in [-1, 1].
Axis letters: B batch, H rows, W columns, C planes, A actions, P seats.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Generic, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jax.typing import DTypeLike

from tabia.core import devices
from tabia.games.game import Game, State
from tabia.networks.blocks import Block, make_trunk
from tabia.networks.config import NetworkConfig
from tabia.networks.errors import NetworkError
from tabia.networks.heads import AuxiliaryHead, Head, HeadContext, PolicyHead
from tabia.networks.layers import POINTS, Folded, Layer, Tree
from tabia.networks.passes import Features, InferencePass, Pass, TrainingPass, Variables, WinogradPass
from tabia.networks.planes import PLANES
from tabia.networks.policy_heads import POLICIES
from tabia.networks.value_heads import VALUES, ValueHead, make_auxiliary_heads
from tabia.networks.winograd import chunk_size, fits, points_bytes, transform_kernel

LEAST_FILTERS = 32
"""On CPUs Winograd's method is used for convolutions with at least so many inputs and outputs."""
MOST_CORES = 2
"""With more cores plain convolutions should be faster: the small products of Winograd's method keep few busy."""
_MOST_BYTES = 2**28  # of all points; they take up to eight times the memory of the kernels
_MOST_BYTES_PER_CORE = 2**26  # the same if each core has its own
_DEVIATION = 0.8796256610342398
"""The standard deviation of a standard normal distribution truncated at two."""


class OutputsOf(NamedTuple, Generic[Features]):
    """What a network gives for a batch of positions, as arrays or as the features of another pass."""

    logits: Features  # float32[B, A]
    values: Features  # float32[B, P] in [-1, 1]: mover, next, next after
    auxiliary: dict[str, Features]
    """By name: `wdl` float32[B, 3] logits of the mover's win, draw and loss, where the value head has them;
    `final_position` float32[B, H, W, C] logits of the position before the final move, in training, where the network
    has it; `over` float32[B, 1] the logit of a game that is over, likewise."""


Outputs = OutputsOf[Array]


@dataclass(frozen=True)
class Network:
    """A network for boards of one shape; holds no weights, so it can be a static argument of compiled code."""

    config: NetworkConfig
    observation_shape: tuple[int, int, int]  # H, W, C
    num_actions: int
    num_players: int

    def __post_init__(self) -> None:
        object.__setattr__(self, "observation_shape", tuple(int(size) for size in self.observation_shape))
        _check(self)

    @cached_property
    def trunk(self) -> tuple[Block, ...]:
        """The blocks between the observation and the heads."""
        return make_trunk(self.config, self.observation_shape)

    @cached_property
    def policy_head(self) -> PolicyHead:
        """The head that gives logits."""
        return POLICIES[self.config.policy](self._head_context)

    @cached_property
    def value_head(self) -> ValueHead:
        """The head that gives values."""
        return VALUES[self.config.value](self._head_context)

    @cached_property
    def auxiliary_heads(self) -> tuple[AuxiliaryHead, ...]:
        """Heads for training alone."""
        return make_auxiliary_heads(self._head_context)

    @property
    def heads(self) -> tuple[Head, ...]:
        """All heads."""
        return (self.policy_head, self.value_head, *self.auxiliary_heads)

    @cached_property
    def layers(self) -> tuple[Layer, ...]:
        """All layers in the order of use; together they declare every parameter."""
        parts: tuple[Block | Head, ...] = (*self.trunk, *self.heads)
        return tuple(layer for part in parts for layer in part.layers)

    @property
    def position_bytes(self) -> int:
        """Bytes of one position's features in the widest layer and the one before it, in float32."""
        height, width, _ = self.observation_shape
        return 2 * 4 * max(layer.numbers(height * width) for layer in self.layers)

    @classmethod
    def of(cls, config: NetworkConfig, game: Game) -> Network:
        """The network for a game."""
        return cls(config, PLANES[config.planes].shape(game), game.num_actions, game.num_players)

    def fits(self, game: Game) -> bool:
        """Whether the network is one for this game's board, actions and seats."""
        mine = (self.observation_shape, self.num_actions, self.num_players)
        return mine == (PLANES[self.config.planes].shape(game), game.num_actions, game.num_players)

    def observe(self, game: Game, state: State) -> Array:
        """float32[H, W, C]: what the network reads of a position."""
        return PLANES[self.config.planes].observe(game, state)

    def init(self, key: Array) -> Variables:
        """First weights: all moves nearly equal, values near 0."""
        return _init(self.layers, key)

    def apply(
        self,
        variables: Variables,
        observations: Array,
        *,
        train: bool = False,
        key: Array | None = None,
        dtype: DTypeLike = jnp.float32,
    ) -> tuple[Outputs, Tree]:
        """The outputs for observations [B, H, W, C], and the statistics, updated if `train`.

        Training normalizes by the batch and, where the configuration has dropout, needs a key. The trunk computes in
        `dtype`; weights, statistics and outputs are always float32.
        """
        config = self.config
        run = TrainingPass(
            variables, train=train, dtype=dtype, momentum=config.norm_momentum, dropout=config.dropout, key=key
        )
        outputs = self.run(run, observations)
        return outputs, run.statistics if train else variables.statistics

    def fold(self, variables: Variables, dtype: DTypeLike = jnp.float32) -> Folded:
        """Weights for inference in `dtype`: normalization folded into convolutions and dense layers."""
        params, statistics = variables
        return {
            layer.name: layer.fold(params[layer.name], statistics.get(layer.name, {}), dtype) for layer in self.layers
        }

    def cast(self, folded: Folded, dtype: DTypeLike) -> Folded:
        """Folded weights in another type, except layers that always compute in float32."""
        exact = {layer.name for layer in self.layers if layer.exact}
        return {
            name: leaves if name in exact else jax.tree.map(lambda leaf: leaf.astype(dtype), leaves)
            for name, leaves in folded.items()
        }

    def prepare(self, folded: Folded, *, on_one_core: bool = False) -> Folded:
        """Folded weights with what makes inference faster on this device: on CPUs the points of Winograd's method.

        `on_one_core`: other programs keep the other cores busy.
        """
        if jax.default_backend() != "cpu" or jax.device_count() > 1:  # chunks of a split batch would be exchanged
            return folded
        if devices.cores() > MOST_CORES and not on_one_core:
            return folded
        if not all(layer.is_plain for layer in self.layers):
            return folded
        height, width, _ = self.observation_shape
        chosen = [layer for layer in self.layers if _gains_from_points(layer, folded[layer.name]["kernel"])]
        most = _MOST_BYTES_PER_CORE if on_one_core else _MOST_BYTES
        if sum(points_bytes(layer.kernel_shape, height, width) for layer in chosen) > most:
            return folded
        more = {layer.name: transform_kernel(folded[layer.name]["kernel"], height, width) for layer in chosen}
        return {name: leaves | ({POINTS: more[name]} if name in more else {}) for name, leaves in folded.items()}

    def forward(self, folded: Folded, observations: Array) -> tuple[Array, Array]:
        """Logits float32[B, A] and values float32[B, P] for observations [B, H, W, C]; for any compiled loop."""
        chunk = chunk_size(observations.shape[0]) if any(POINTS in layer for layer in folded.values()) else 0
        if not chunk:
            outputs = self.run(InferencePass(folded), observations, auxiliary=False)
            return outputs.logits, outputs.values

        def forward(part: Array) -> tuple[Array, Array]:
            outputs = self.run(WinogradPass(folded), part.transpose(1, 2, 0, 3), auxiliary=False)
            return outputs.logits, outputs.values

        logits, values = jax.lax.map(forward, observations.reshape(-1, chunk, *observations.shape[1:]))
        return logits.reshape(-1, self.num_actions), values.reshape(-1, self.num_players)

    def run(self, run: Pass[Features], x: Features, *, auxiliary: bool = True) -> OutputsOf[Features]:
        """The outputs for observations x [B, H, W, C], in a pass of any kind."""
        for block in self.trunk:
            x = block(x, run)
        logits = self.policy_head(x, run)
        features = self.value_head.features(x, run)
        raw = self.value_head(features, run)
        extra = {head.name: head(x, features, run) for head in (self.auxiliary_heads if auxiliary else ())}
        values, more = self.value_head.values(run.to_float32(raw), run)
        extra = {name: run.to_float32(output) for name, output in extra.items()}
        return OutputsOf(run.to_float32(logits), values, more | extra)

    def on(self, game: Game) -> Network:
        """The same network, with the same weights, for another board of its game."""
        return self.at(PLANES[self.config.planes].shape(game), game.num_actions)

    def at(self, observation_shape: tuple[int, int, int], num_actions: int) -> Network:
        """The same network, with the same weights, for a board of another size."""
        if not self.config.any_size:
            raise NetworkError(
                "The weights of this network depend on the size of the board. A network for any size has "
                "policy='cells' or 'columns', value_pool=True, no units, and no blocks over all cells (kind='mixer' or "
                "'attention'): see the preset `any_size`."
            )
        if observation_shape[2] != self.observation_shape[2]:
            raise NetworkError(
                f"The same weights need the same planes: this network reads {self.observation_shape[2]}, "
                f"the other board has {observation_shape[2]}."
            )
        return Network(self.config, observation_shape, num_actions, self.num_players)

    @property
    def _head_context(self) -> HeadContext:
        shape: tuple[int, ...] = self.observation_shape
        for block in self.trunk:
            shape = block.output_shape(shape)
        return HeadContext(
            config=self.config,
            features=shape,
            observation_shape=self.observation_shape,
            num_actions=self.num_actions,
            num_players=self.num_players,
        )


@partial(jax.jit, static_argnums=0)
def _init(layers: tuple[Layer, ...], key: Array) -> Variables:
    # One draw for all kernels: one draw per layer would be compiled one by one.
    sizes = [math.prod(layer.kernel_shape) for layer in layers]
    draws = jax.random.truncated_normal(key, -2.0, 2.0, (sum(sizes),)) / _DEVIATION
    variables = Variables({}, {})
    for layer, size, end in zip(layers, sizes, itertools.accumulate(sizes), strict=True):
        params, statistics = layer.init(draws[end - size : end])
        variables.params[layer.name] = params
        if layer.norm:
            variables.statistics[layer.name] = statistics
    return variables


def _gains_from_points(layer: Layer, kernel: Array) -> bool:
    wide = min(layer.inputs, layer.outputs) >= LEAST_FILTERS
    return wide and fits(layer.window) and kernel.dtype == jnp.float32 and not layer.exact


def _check(network: Network) -> None:
    shape = network.observation_shape
    if len(shape) != 3 or min(shape) < 1:
        raise NetworkError(f"A network reads boards of rows x columns x planes, each at least 1; got {shape}.")
    if network.num_actions < 1 or network.num_players < 1:
        raise NetworkError(
            f"A game has at least one action and one seat; got {network.num_actions} and {network.num_players}."
        )
    _ = network.heads  # building them refuses a game that they do not fit
