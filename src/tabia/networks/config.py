"""A network's configuration: everything about it but the shapes of the game.

One frozen object describes every network there is: a residual tower or a multilayer perceptron, its size, and its two
heads. It says nothing of boards and actions, so one configuration serves many games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tabia.core.settings import bounded, check, check_names, integers, one_of
from tabia.core.text import quote
from tabia.networks.errors import NetworkError

# Far beyond any network Tabia trains; a file of weights that asks for more is refused before anything is built.
_MOST_BLOCKS, _MOST_WIDE, _MOST_DENSE = 256, 16384, 64


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Trunk and heads of a policy and value network."""

    kind: str = one_of("residual", "mlp")
    """`residual`: a convolution and residual blocks, then the dense `units`, if any. `mlp`: the dense `units` alone."""
    blocks: int = bounded(5, 0, _MOST_BLOCKS)
    filters: int = bounded(64, 1, _MOST_WIDE)
    kernel: int = bounded(3, 1, 15)
    units: tuple[int, ...] = integers(1, _MOST_WIDE, longest=_MOST_DENSE)
    """Widths of the dense layers at the end of the trunk."""
    skips: bool = False
    """Dense layers of the trunk are added to their input where the widths agree."""
    activation: str = one_of("relu", "leaky_relu")
    slope: float = bounded(0.3, 0.0, 1.0)
    """What `leaky_relu` makes of numbers below zero."""
    batch_norm: bool = True
    norm_momentum: float = bounded(0.99, 0.0, 1.0)
    """How much of the old moving statistics stays, at each training step."""
    dropout: float = bounded(0.0, 0.0, 1.0, open_end=True)
    """Share of features left out in training: of the trunk's `units`, of the value head's, of what the policy reads."""
    pool_every: int = bounded(0, 0, _MOST_BLOCKS)
    """Every so many blocks one sees the whole board, by global pooling; 0: none does."""

    policy: str = one_of("dense", "cells", "columns")
    """`dense`: any actions, from the flattened board. `cells`: actions of cells. `columns`: one action a column."""
    policy_filters: int = bounded(2, 1, _MOST_WIDE)
    policy_planes: int = bounded(1, 1, _MOST_WIDE)
    """`cells`: actions a cell has; action cell * planes + plane."""
    policy_extra: int = bounded(0, 0, _MOST_WIDE)
    """`cells`: actions that belong to no cell, such as a pass; they come last."""

    value: str = one_of("scores", "wdl")
    """`scores`: one number a seat. `wdl`: win, draw and loss of two seats."""
    value_filters: int = bounded(1, 1, _MOST_WIDE)
    value_units: int = bounded(256, 0, _MOST_WIDE)
    """Width of the value head's dense layer; 0: none."""
    value_pool: bool = False
    """The value head pools the board instead of flattening it, and so knows no size."""
    last_board: bool = False
    """For training alone: what the value head sees must also tell the board when the game's last move is to be made."""
    head_norm: bool = True
    """The heads' 1 x 1 convolutions are normalized and rectified, as in AlphaZero; without, they are plain."""
    bias: bool = True
    """Dense layers and convolutions that no normalization follows add a bias."""

    def __post_init__(self) -> None:
        if isinstance(self.units, Sequence):  # a list, as JSON and TOML have it; anything else is refused below
            object.__setattr__(self, "units", tuple(self.units))
        check(self, section="network", error=NetworkError)
        _check_together(self)

    @property
    def any_size(self) -> bool:
        """Whether the same weights fit boards of any size."""
        return self.policy != "dense" and self.value_pool and not self.units

    def changed(self, **changes: Any) -> NetworkConfig:
        """The same configuration with some fields changed; an unknown one is refused with the nearest."""
        check_names(changes, NetworkConfig, section="network", error=NetworkError)
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, words and lists, as JSON and TOML hold them."""
        return {**asdict(self), "units": list(self.units)}

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> NetworkConfig:
        """The configuration `to_dict` gave; what is not named keeps its default, what is unknown is refused."""
        if not isinstance(entries, Mapping):
            raise NetworkError(f"A network's configuration is a table of names and values, not {quote(entries)}.")
        check_names(entries, NetworkConfig, section="network", error=NetworkError)
        return cls(**entries)


def _check_together(config: NetworkConfig) -> None:
    if config.kernel % 2 == 0:
        raise NetworkError(f"network.kernel must be odd, so that a kernel has a center; got {config.kernel}.")
    if config.kind == "mlp" and not config.units:
        raise NetworkError(
            "A network of kind mlp is made of its dense layers; name their widths, such as units=[128, 128]."
        )
    if config.units and (config.policy != "dense" or config.value_pool):
        raise NetworkError(
            "After dense units there is no board left for heads of cells, columns or pooling; "
            "leave the units out, or use policy='dense' with value_pool=False."
        )
    if config.units and config.last_board:
        raise NetworkError("last_board tells a board of cells, and after dense units there is none; leave one out.")
    if config.policy != "cells" and (config.policy_planes != 1 or config.policy_extra != 0):
        raise NetworkError(f"policy_planes and policy_extra belong to policy='cells'; this one is {config.policy!r}.")
