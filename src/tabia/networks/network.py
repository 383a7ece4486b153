"""A policy and value network: a configuration, and the shapes of one game.

    network = Network(tower(64, 5), observation_shape=(6, 7, 2), num_actions=7, num_players=2)
    variables = network.init(key)                                       # to train
    outputs, statistics = network.apply(variables, observations, train=True, key=key)
    folded = network.fold(variables, dtype=jnp.bfloat16)                # to play
    logits, values = network.forward(folded, observations)

A network sees the board from the mover's seat; its values are those of the mover, of the next seat, of the next after,
in [-1, 1]. Axis letters: B batch, H rows, W columns, C planes, A actions, P seats.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx
from jax import Array
from jax.typing import DTypeLike

from tabia.networks import folding, training_layers
from tabia.networks.config import NetworkConfig
from tabia.networks.errors import NetworkError
from tabia.networks.folding import Folded
from tabia.networks.layers import Layer, layers
from tabia.networks.training_layers import Tree
from tabia.networks.walk import Heads, walk


class Variables(NamedTuple):
    """What a network learns: plain nested dictionaries of float32 arrays."""

    params: Tree  # what the optimizer changes
    statistics: Tree  # moving means and variances, which a training step changes by looking


class Outputs(NamedTuple):
    """What a network says of a batch of positions."""

    logits: Array  # float32[B, A]
    values: Array  # float32[B, P] in [-1, 1]: me, next, next after
    wdl: Array | None  # float32[B, 3] logits of my win, draw, loss, where the value head gives them
    last_board: Array | None = None  # float32[B, H, W, C] logits of the last position's planes, where they are told


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
    def layers(self) -> tuple[Layer, ...]:
        return layers(self.config, self.observation_shape, self.num_actions, self.num_players)

    def init(self, key: Array) -> Variables:
        """First weights: moves nearly even, values near 0."""
        return Variables(*training_layers.start(self.layers, key))

    def apply(
        self,
        variables: Variables,
        observations: Array,
        *,
        train: bool = False,
        key: Array | None = None,
        dtype: DTypeLike = jnp.float32,
    ) -> tuple[Outputs, Tree]:
        """The outputs for observations [B, H, W, C], and the statistics, renewed if `train`.

        Training normalizes by the batch and, where the configuration has dropout, needs a key. `dtype` is what the
        tower computes in; weights, statistics and outputs are float32 whatever it is.
        """
        cells = training_layers.assemble(self.layers, self.config.norm_momentum, dtype, *variables)
        drop = _Dropout(self.config.dropout, key) if train and self.config.dropout else _keep
        heads = walk(self.config, lambda name, x: getattr(cells, name)(x, train=train), observations, drop)
        outputs = self._outputs(heads)
        return outputs, training_layers.statistics_in(cells) if train else variables.statistics

    def fold(self, variables: Variables, dtype: DTypeLike = jnp.float32) -> Folded:
        """Weights for inference in `dtype`: normalization folded into convolutions and dense layers."""
        return folding.fold(self.layers, *variables, dtype)

    def forward(self, folded: Folded, observations: Array) -> tuple[Array, Array]:
        """Logits float32[B, A] and values float32[B, P] of observations [B, H, W, C], for use in any compiled loop."""
        playing = self.config.changed(last_board=False)
        outputs = self._outputs(walk(playing, partial(folding.apply, folded), observations))
        return outputs.logits, outputs.values

    def at(self, observation_shape: tuple[int, int, int], num_actions: int) -> Network:
        """The same network, with the same weights, for a board of another size."""
        if not self.config.any_size:
            raise NetworkError(
                "This network's weights know the size of the board; one for any size has policy='cells' or 'columns', "
                "value_pool=True and no units: see the preset `any_size`."
            )
        if observation_shape[2] != self.observation_shape[2]:
            raise NetworkError(
                f"The same weights need the same planes: this network reads {self.observation_shape[2]}, "
                f"the other board has {observation_shape[2]}."
            )
        return Network(self.config, observation_shape, num_actions, self.num_players)

    def _outputs(self, heads: Heads) -> Outputs:
        logits, raw, board = jax.tree.map(lambda leaf: leaf.astype(jnp.float32), heads)
        if self.config.value == "scores":
            return Outputs(logits, jnp.tanh(raw), None, board)
        chance = jax.nn.softmax(raw)
        mine = chance[:, 0] - chance[:, 2]
        return Outputs(logits, jnp.stack([mine, -mine], axis=-1), raw, board)


class _Dropout:
    """Leaves features out at random; each call draws anew."""

    def __init__(self, rate: float, key: Array | None) -> None:
        if key is None:
            raise NetworkError(
                f"This network drops {rate:.0%} of its features in training: apply(..., train=True) needs a key."
            )
        self.layer, self.key, self.calls = nnx.Dropout(rate), key, 0

    def __call__(self, x: Array) -> Array:
        self.calls += 1
        return self.layer(x, deterministic=False, rngs=jax.random.fold_in(self.key, self.calls))


def _keep(x: Array) -> Array:
    return x


def _check(network: Network) -> None:
    shape, config = network.observation_shape, network.config
    if len(shape) != 3 or min(shape) < 1:
        raise NetworkError(f"A network reads boards of rows x columns x planes, each at least 1; got {shape}.")
    if network.num_actions < 1 or network.num_players < 1:
        raise NetworkError(
            f"A game has at least one action and one seat; got {network.num_actions} and {network.num_players}."
        )
    if config.value == "wdl" and network.num_players != 2:
        raise NetworkError(f"value='wdl' is for two seats; this game has {network.num_players}: use value='scores'.")
    _check_actions(config, shape, network.num_actions)


def _check_actions(config: NetworkConfig, shape: tuple[int, int, int], actions: int) -> None:
    rows, columns, _ = shape
    if config.policy == "columns" and actions != columns:
        raise NetworkError(
            f"policy='columns' has one action a column, {columns} here; this game has {actions}: use policy='dense', "
            "or 'cells' where actions are cells."
        )
    planes, extra = config.policy_planes, config.policy_extra
    told = rows * columns * planes + extra
    if config.policy == "cells" and actions != told:
        raise NetworkError(
            f"policy='cells' has {rows} x {columns} x {planes} + {extra} = {told} actions; this game has {actions}: "
            "change policy_planes or policy_extra, or use policy='dense'."
        )
