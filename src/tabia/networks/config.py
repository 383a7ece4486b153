"""A network's configuration: everything about it but the shapes of the game.

One frozen object describes every network there is: a residual tower or a multilayer perceptron, its size, and its two
heads. It says nothing of boards and actions, so one configuration serves many games.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from typing import Any

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.networks.errors import NetworkError

KINDS = ("residual", "mlp")
ACTIVATIONS = ("relu", "leaky_relu")
POLICIES = ("dense", "cells", "columns")
VALUES = ("scores", "wdl")

# Far beyond any network Tabia trains; a file of weights that asks for more is refused before anything is built.
_MOST_BLOCKS, _MOST_WIDE, _MOST_DENSE = 256, 16384, 64


@dataclass(frozen=True, kw_only=True)
class NetworkConfig:
    """Trunk and heads of a policy and value network."""

    kind: str = "residual"
    """`residual`: a convolution and residual blocks, then the dense `units`, if any. `mlp`: the dense `units` alone."""
    blocks: int = 5
    filters: int = 64
    kernel: int = 3
    units: tuple[int, ...] = ()
    """Widths of the dense layers at the end of the trunk."""
    skips: bool = False
    """Dense layers of the trunk are added to their input where the widths agree."""
    activation: str = "relu"
    slope: float = 0.3
    """What `leaky_relu` makes of numbers below zero."""
    batch_norm: bool = True
    norm_momentum: float = 0.99
    """How much of the old moving statistics stays, at each training step."""
    dropout: float = 0.0
    """Share of features left out in training: of the trunk's `units`, of the value head's, of what the policy reads."""
    pool_every: int = 0
    """Every so many blocks one sees the whole board, by global pooling; 0: none does."""

    policy: str = "dense"
    """`dense`: any actions, from the flattened board. `cells`: actions of cells. `columns`: one action a column."""
    policy_filters: int = 2
    policy_planes: int = 1
    """`cells`: actions a cell has; action cell * planes + plane."""
    policy_extra: int = 0
    """`cells`: actions that belong to no cell, such as a pass; they come last."""

    value: str = "scores"
    """`scores`: one number a seat. `wdl`: win, draw and loss of two seats."""
    value_filters: int = 1
    value_units: int = 256
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
        _check_types(self)
        _check_words(self)
        _check_numbers(self)
        _check_together(self)

    @property
    def any_size(self) -> bool:
        """Whether the same weights fit boards of any size."""
        return self.policy != "dense" and self.value_pool and not self.units

    def changed(self, **changes: Any) -> NetworkConfig:
        """The same configuration with some fields changed; an unknown one is refused with the nearest."""
        _refuse_unknown(changes)
        return replace(self, **changes)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers, words and lists, as JSON and TOML hold them."""
        return {**asdict(self), "units": list(self.units)}

    @classmethod
    def from_dict(cls, entries: Mapping[str, Any]) -> NetworkConfig:
        """The configuration `to_dict` gave; what is not named keeps its default, what is unknown is refused."""
        if not isinstance(entries, Mapping):
            raise NetworkError(f"A network's configuration is a table of names and values, not {quote(entries)}.")
        _refuse_unknown(entries)
        return cls(**entries)


def _refuse_unknown(entries: Mapping[str, Any]) -> None:
    known = [field.name for field in fields(NetworkConfig)]
    for name in entries:
        if name not in known:
            raise NetworkError(f"A network has no {quote(name)}. {did_you_mean(str(name), known)}")


def _check_types(config: NetworkConfig) -> None:
    for field in fields(config):
        value, default = getattr(config, field.name), field.default
        right = type(value) in (int, float) if type(default) is float else type(value) is type(default)
        if not right:
            raise NetworkError(
                f"A network's {field.name} is a {type(default).__name__}, such as {default!r}; got {quote(value)}."
            )
    if not all(type(width) is int for width in config.units):
        raise NetworkError(f"A network's units are whole numbers; got {quote(list(config.units))}.")


def _check_words(config: NetworkConfig) -> None:
    for name, known in (("kind", KINDS), ("activation", ACTIVATIONS), ("policy", POLICIES), ("value", VALUES)):
        word = getattr(config, name)
        if word not in known:
            raise NetworkError(f"A network's {name} cannot be {quote(word)}. {did_you_mean(word, known)}")


def _check_numbers(config: NetworkConfig) -> None:
    bounds: dict[str, tuple[float, float]] = {
        "blocks": (0, _MOST_BLOCKS),
        "filters": (1, _MOST_WIDE),
        "kernel": (1, 15),
        "slope": (0, 1),
        "norm_momentum": (0, 1),
        "pool_every": (0, _MOST_BLOCKS),
        "policy_filters": (1, _MOST_WIDE),
        "policy_planes": (1, _MOST_WIDE),
        "policy_extra": (0, _MOST_WIDE),
        "value_filters": (1, _MOST_WIDE),
        "value_units": (0, _MOST_WIDE),
    }
    for name, (low, high) in bounds.items():
        if not low <= getattr(config, name) <= high:
            raise NetworkError(f"A network's {name} is from {low} to {high}; got {quote(getattr(config, name))}.")
    if config.kernel % 2 == 0:
        raise NetworkError(f"A network's kernel has a middle, so its width is odd; got {config.kernel}.")
    if not 0 <= config.dropout < 1:
        raise NetworkError(f"A network's dropout is at least 0 and less than 1; got {quote(config.dropout)}.")
    if len(config.units) > _MOST_DENSE or not all(1 <= width <= _MOST_WIDE for width in config.units):
        raise NetworkError(
            f"A network has at most {_MOST_DENSE} units, from 1 to {_MOST_WIDE}; got {quote(list(config.units))}."
        )


def _check_together(config: NetworkConfig) -> None:
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
