"""Networks by name: Tabia's own, and those of five theses (see `docs/references.md`)."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.networks.config import NetworkConfig
from tabia.networks.errors import NetworkError


def sanz_villanueva(blocks: int = 1, filters: int = 32) -> NetworkConfig:
    """The tower of Sanz & Villanueva 2021: 23,780 parameters for 1 x 32 on tic-tac-toe, 22,550,276 for 19 x 256.

    The text describes AlphaGo Zero's heads (2 filters, 256 units; see `glimmerfors`). These two counts and the
    published code have as many policy filters and value units as the tower has filters, and no bias.
    """
    return NetworkConfig(
        planes="colors",
        blocks=blocks,
        filters=filters,
        activation="leaky_relu",
        policy_filters=filters,
        value_filters=1,
        value_units=filters,
        bias=False,
    )


def wandhoven(blocks: int = 6, filters: int = 75) -> NetworkConfig:
    """The tower of Wandhoven 2022: LeakyReLU throughout, plain 1 x 1 convolutions in the heads."""
    return NetworkConfig(
        blocks=blocks,
        filters=filters,
        activation="leaky_relu",
        policy_filters=2,
        value_filters=10,
        value_units=210,
        head_norm=False,
    )


def schulte(blocks: int = 8, filters: int = 128) -> NetworkConfig:
    """The tower of Schulte 2021: two dense layers of 512 units with dropout before both heads."""
    return NetworkConfig(blocks=blocks, filters=filters, units=(512, 512), dropout=0.3, value_units=0)


def glimmerfors(filters: int = 64, blocks: int = 8) -> NetworkConfig:
    """The tower of Glimmerfors 2022: AlphaGo Zero's with fewer blocks and filters, on fixed colors."""
    return NetworkConfig(
        planes="colors", blocks=blocks, filters=filters, policy_filters=2, value_filters=1, value_units=256
    )


def goldberg_ishay(*, value: str = "scores") -> NetworkConfig:
    """The CNN of Goldberg & Ishay 2017: two 3 x 4 convolutions, 1,024 units, and a class for games that are over.

    The thesis has no value; its network names a move, so train it with `learner.value_weight=0`.
    """
    return NetworkConfig(
        planes="signed",
        kind="plain",
        convolutions=(32, 64),
        kernel=3,
        kernel_columns=4,
        units=(1024,),
        batch_norm=False,
        over_class=True,
        value=value,
        value_units=0,
    )


def tower(filters: int = 64, blocks: int = 5, *, value: str = "scores") -> NetworkConfig:
    """Tabia's default, for every game: AlphaGo Zero's tower with wider heads."""
    return NetworkConfig(
        blocks=blocks, filters=filters, policy_filters=16, value_filters=16, value_units=128, value=value
    )


def any_size(
    filters: int = 64,
    blocks: int = 6,
    *,
    policy: str = "cells",
    policy_planes: int = 1,
    policy_extra: int = 0,
    value: str = "scores",
) -> NetworkConfig:
    """A tower whose weights fit boards of any size: pooling heads, global pooling in every third block."""
    return NetworkConfig(
        blocks=blocks,
        filters=filters,
        pool_every=3,
        policy=policy,
        policy_filters=32,
        policy_planes=policy_planes,
        policy_extra=policy_extra,
        value=value,
        value_filters=32,
        value_units=128,
        value_pool=True,
    )


def mlp(*units: int, value: str = "scores", batch_norm: bool = True) -> NetworkConfig:
    """Dense layers only, for tiny boards."""
    return NetworkConfig(kind="mlp", units=units or (128, 128), value=value, value_units=0, batch_norm=batch_norm)


def dense(filters: int = 32, width: int = 256, depth: int = 4, *, value: str = "scores") -> NetworkConfig:
    """One convolution, then dense layers with skips: a small part of a tower's work, for machines without a GPU."""
    return NetworkConfig(blocks=0, filters=filters, units=(width,) * depth, skips=True, value=value, value_units=0)


PRESETS: dict[str, Callable[..., NetworkConfig]] = {
    "sanz_villanueva": sanz_villanueva,
    "wandhoven": wandhoven,
    "schulte": schulte,
    "glimmerfors": glimmerfors,
    "goldberg_ishay": goldberg_ishay,
    "tower": tower,
    "any_size": any_size,
    "mlp": mlp,
    "dense": dense,
}


def make(name: str, /, **options: Any) -> NetworkConfig:
    """A preset by name, with its own options or any field of the configuration changed.

    >>> make("glimmerfors", filters=16, dropout=0.1).filters
    16
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise NetworkError(f"There is no network {quote(name)}. {did_you_mean(quote(name), PRESETS)}")
    parameters = [
        parameter.name
        for parameter in inspect.signature(PRESETS[name]).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_POSITIONAL
    ]
    own = {key: value for key, value in options.items() if key in parameters}
    rest = {key: value for key, value in options.items() if key not in parameters}
    return PRESETS[name](**own).changed(**rest)
