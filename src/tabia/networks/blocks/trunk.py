"""The trunk of a network: the blocks that a configuration asks for."""

from __future__ import annotations

import math
from collections.abc import Iterator

from tabia.networks.blocks.attention import AttentionBlock
from tabia.networks.blocks.block import Block, Style
from tabia.networks.blocks.dense import DenseBlock
from tabia.networks.blocks.gated import GatedBlock
from tabia.networks.blocks.mixer import MixerBlock
from tabia.networks.blocks.residual import BottleneckBlock, ConvBlock, ResidualBlock
from tabia.networks.config import NetworkConfig
from tabia.networks.layers import Shape

BoardShape = tuple[int, int, int]  # rows, columns, planes


def make_trunk(config: NetworkConfig, observation_shape: BoardShape) -> tuple[Block, ...]:
    """The blocks between the observation and the heads."""
    board = tuple(_BOARDS[config.kind](config, observation_shape))
    shape: Shape = observation_shape
    for block in board:
        shape = block.output_shape(shape)
    return (*board, *_dense_blocks(config, math.prod(shape)))


def _plain_convolutions(config: NetworkConfig, board: BoardShape) -> Iterator[Block]:
    inputs = board[2]
    for number, filters in enumerate(config.convolutions, start=1):
        yield ConvBlock(
            name=f"conv{number}",
            inputs=inputs,
            filters=filters,
            kernel=config.kernel,
            style=Style.of(config),
            columns=config.kernel_columns,
        )
        inputs = filters


def _no_convolutions(config: NetworkConfig, board: BoardShape) -> Iterator[Block]:
    return iter(())


def _residual_tower(config: NetworkConfig, board: BoardShape) -> Iterator[Block]:
    yield _stem(config, board)
    for number in range(1, config.blocks + 1):
        yield ResidualBlock(
            name=f"block{number}",
            filters=config.filters,
            kernel=config.kernel,
            style=Style.of(config),
            gain=_share(config, config.blocks),
            pooling=_has_pooling(config, number),
            columns=config.kernel_columns,
        )


def _bottleneck_tower(config: NetworkConfig, board: BoardShape) -> Iterator[Block]:
    yield _stem(config, board)
    for number in range(1, config.blocks + 1):
        yield BottleneckBlock(
            name=f"block{number}",
            filters=config.filters,
            inner_blocks=config.inner_blocks,
            kernel=config.kernel,
            style=Style.of(config),
            gain=_share(config, config.blocks),
            inner_gain=_share(config, config.inner_blocks),
            pooling=_has_pooling(config, number),
            columns=config.kernel_columns,
        )


def _mixer_tower(config: NetworkConfig, board: BoardShape) -> Iterator[Block]:
    yield _stem(config, board)
    for number in range(1, config.blocks + 1):
        yield MixerBlock(
            name=f"block{number}",
            filters=config.filters,
            hidden=config.expansion * config.filters,
            groups=config.filters // config.group_filters,
            cells=board[0] * board[1],
            style=Style.of(config),
            gain=_share(config, 2 * config.blocks),
        )


def _attention_tower(config: NetworkConfig, board: BoardShape) -> Iterator[Block]:
    yield _stem(config, board)
    for number in range(1, config.blocks + 1):
        yield AttentionBlock(
            name=f"block{number}",
            filters=config.filters,
            hidden=config.expansion * config.filters,
            heads=config.filters // config.head_filters,
            cells=board[0] * board[1],
            style=Style.of(config),
            gain=_share(config, 2 * config.blocks),
        )


def _gated_tower(config: NetworkConfig, board: BoardShape) -> Iterator[Block]:
    yield _stem(config, board)
    for number in range(1, config.blocks + 1):
        yield GatedBlock(
            name=f"block{number}",
            filters=config.filters,
            hidden=config.expansion * config.filters,
            kernel=config.kernel,
            style=Style.of(config),
            gain=_share(config, config.blocks),
            columns=config.kernel_columns,
        )


def _stem(config: NetworkConfig, board: BoardShape) -> Block:
    """The convolution before the blocks."""
    return ConvBlock("stem", board[2], config.filters, config.kernel, Style.of(config), config.kernel_columns)


def _share(config: NetworkConfig, blocks: int) -> float:
    """The gain of the last layer of each of these blocks.

    Without normalization every block adds its own variance; dividing by their number keeps the sum in range.
    """
    return 2.0 if config.batch_norm else 2.0 / max(blocks, 1)


def _has_pooling(config: NetworkConfig, number: int) -> bool:
    return config.pool_every > 0 and number % config.pool_every == 0


_BOARDS = {
    "residual": _residual_tower,
    "bottleneck": _bottleneck_tower,
    "mixer": _mixer_tower,
    "attention": _attention_tower,
    "gated": _gated_tower,
    "plain": _plain_convolutions,
    "mlp": _no_convolutions,
}
"""The blocks that see the board, by `NetworkConfig.kind`."""


def _dense_blocks(config: NetworkConfig, inputs: int) -> Iterator[Block]:
    for number, units in enumerate(config.units, start=1):
        skip = config.skips and inputs == units
        yield DenseBlock(f"dense{number}", inputs, units, Style.of(config), skip=skip)
        inputs = units
