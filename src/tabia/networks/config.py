"""The configuration of a network: everything except the shapes of the game.

One frozen object describes every network: a tower of blocks or a multilayer perceptron, its size, and its heads. It
does not mention boards or actions, so one configuration serves many games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from tabia.core.settings import bounded, check, check_names, integers, one_of
from tabia.core.text import quote
from tabia.networks.errors import NetworkError

# Far beyond any network Tabia trains; a weights file that asks for more is refused before anything is built.
_MOST_BLOCKS, _MOST_INNER, _MOST_WIDE, _MOST_DENSE = 256, 16, 16384, 64
TOWERS = ("residual", "bottleneck", "mixer", "attention", "gated")
"""The kinds that consist of `blocks` of one width, `filters`."""


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Trunk and heads of a policy and value network."""

    planes: str = one_of("mover", "colors", "signed")
    """`mover`: the board from the mover's side. `colors`: fixed colors and a plane that says who moves.

    `signed`: one plane, 1 for the mover's pieces and -1 for the other's, for two seats.
    """
    kind: str = one_of(*TOWERS, "plain", "mlp")
    """`residual`: a convolution and residual blocks, then the dense `units`, if any. `mlp`: only the dense `units`.

    Like `residual` with other blocks: `bottleneck` (KataGo's nested bottlenecks), `mixer` (matrices over the cells and
    a channel MLP), `attention` (over the cells, and a channel MLP) and `gated` (gated depthwise convolutions). `plain`:
    the `convolutions`, then the dense `units`.
    """
    convolutions: tuple[int, ...] = integers(1, _MOST_WIDE, longest=_MOST_DENSE)
    """`plain`: filters of the convolutions, one after the other."""
    blocks: int = bounded(5, 0, _MOST_BLOCKS)
    filters: int = bounded(64, 1, _MOST_WIDE)
    inner_blocks: int = bounded(2, 1, _MOST_INNER)
    """`bottleneck`: residual blocks inside each block, with half of the filters."""
    expansion: int = bounded(2, 1, 16)
    """`mixer`, `attention` and `gated`: hidden features of a block per filter."""
    group_filters: int = bounded(8, 1, _MOST_WIDE)
    """`mixer`: filters that share a matrix over the cells."""
    head_filters: int = bounded(16, 1, _MOST_WIDE)
    """`attention`: filters per head."""
    kernel: int = bounded(3, 1, 15)
    """Rows and columns of the kernels."""
    kernel_columns: int = bounded(0, 0, 15)
    """Columns of the kernels, if they are not square; 0: as many as rows."""
    units: tuple[int, ...] = integers(1, _MOST_WIDE, longest=_MOST_DENSE)
    """Widths of the dense layers at the end of the trunk."""
    skips: bool = False
    """Add dense layers of the trunk to their input where the widths agree."""
    activation: str = one_of("relu", "leaky_relu")
    slope: float = bounded(0.3, 0.0, 1.0)
    """Slope of `leaky_relu` below zero."""
    batch_norm: bool = True
    norm_momentum: float = bounded(0.99, 0.0, 1.0)
    """Weight of the old running statistics in each training step."""
    dropout: float = bounded(0.0, 0.0, 1.0, open_end=True)
    """Dropout rate of dense features: the trunk's `units`, the value head's, and those of the last policy layer."""
    pool_every: int = bounded(0, 0, _MOST_BLOCKS)
    """`residual` and `bottleneck`: every n-th block has global pooling over the board (KataGo); 0: none."""

    policy: str = one_of("dense", "cells", "columns")
    """`dense`: any actions, from the flattened board. `cells`: actions of cells. `columns`: one action per column."""
    policy_filters: int = bounded(2, 1, _MOST_WIDE)
    policy_planes: int = bounded(1, 1, _MOST_WIDE)
    """`cells`: actions per cell; the action is cell * planes + plane."""
    policy_extra: int = bounded(0, 0, _MOST_WIDE)
    """`cells`: actions that belong to no cell, such as a pass; they come last."""

    value: str = one_of("scores", "wdl")
    """`scores`: one value per seat. `wdl`: win, draw and loss, for two seats."""
    value_filters: int = bounded(1, 1, _MOST_WIDE)
    value_units: int = bounded(256, 0, _MOST_WIDE)
    """Width of the value head's hidden dense layer; 0: none."""
    value_pool: bool = False
    """Pool the board in the value head instead of flattening it, so that no weight depends on its size."""
    final_position: bool = False
    """Training only: an auxiliary head predicts the position before the final move from the value head's features."""
    over_class: bool = False
    """Training only: one more class beside the actions, for positions in which the game is over; needs `units`."""
    head_norm: bool = True
    """Normalize and rectify the heads' 1 x 1 convolutions, as AlphaZero does; false: plain convolutions."""
    bias: bool = True
    """Add a bias in layers without normalization."""

    def __post_init__(self) -> None:
        for name in ("units", "convolutions"):
            if isinstance(getattr(self, name), Sequence):  # a list from JSON or TOML; anything else is refused below
                object.__setattr__(self, name, tuple(getattr(self, name)))
        check(self, section="network", error=NetworkError)
        _check_together(self)

    @property
    def any_size(self) -> bool:
        """Whether the same weights fit boards of any size."""
        by_cell = self.kind in ("mixer", "attention")
        return self.policy != "dense" and self.value_pool and not self.units and not by_cell

    def changed(self, **changes: Any) -> NetworkConfig:
        """The same configuration with some fields changed; an unknown field is refused, with the nearest name."""
        check_names(changes, NetworkConfig, section="network", error=NetworkError)
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """The configuration as JSON and TOML store it."""
        return {**asdict(self), "units": list(self.units), "convolutions": list(self.convolutions)}

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> NetworkConfig:
        """The configuration from `to_dict`; a missing field keeps its default, an unknown one is refused."""
        if not isinstance(entries, Mapping):
            raise NetworkError(f"A network's configuration is a table of names and values; got {quote(entries)}.")
        check_names(entries, NetworkConfig, section="network", error=NetworkError)
        return cls(**entries)


def _check_together(config: NetworkConfig) -> None:
    if config.kernel % 2 == 0:
        raise NetworkError(f"network.kernel must be odd, so that a kernel has a center; got {config.kernel}.")
    for kind, name in (("mixer", "group_filters"), ("attention", "head_filters")):
        if config.kind == kind and config.filters % getattr(config, name):
            raise NetworkError(
                f"network.filters must be a multiple of network.{name} for kind={kind!r}; got {config.filters} and "
                f"{getattr(config, name)}."
            )
    if (config.kind == "plain") != bool(config.convolutions):
        raise NetworkError(
            "A network of kind plain has convolutions, such as convolutions=[32, 64], and no other has them; "
            f"got kind={config.kind!r} and convolutions={list(config.convolutions)}."
        )
    if config.over_class and not config.units:
        raise NetworkError("over_class reads the dense features of the trunk; give it units, such as units=[1024].")
    if config.kind == "mlp" and not config.units:
        raise NetworkError(
            "A network of kind mlp consists of dense layers; give their widths, such as units=[128, 128]."
        )
    if config.units and (config.policy != "dense" or config.value_pool):
        raise NetworkError(
            "After dense units no board is left for policy='cells', policy='columns' or value_pool; "
            "remove the units, or use policy='dense' with value_pool=False."
        )
    if config.units and config.final_position:
        raise NetworkError("final_position predicts a board, and dense units leave none; remove one of them.")
    if config.planes != "mover" and config.final_position:
        raise NetworkError("final_position predicts the board from the mover's side; it needs planes='mover'.")
    if config.policy != "cells" and (config.policy_planes != 1 or config.policy_extra != 0):
        raise NetworkError(f"policy_planes and policy_extra belong to policy='cells'; got policy={config.policy!r}.")
