"""Networks by name: those of the theses (Sanz & Villanueva 2021, Wandhoven 2022, Schulte 2021, Glimmerfors 2022) and Tabia's own."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.networks.config import NetworkConfig
from tabia.networks.errors import NetworkError


def sanz_villanueva(blocks: int = 1, filters: int = 32) -> NetworkConfig:
    """Sanz & Villanueva's tower. With three planes on tic-tac-toe: 23,780 numbers for 1 x 32, 22,550,276 for 19 x 256.

    Its text describes AlphaGo Zero's heads (2 filters, 256 units; here `glimmerfors`), but those two counts, like its published
    code, have as many filters in the policy head and units in the value head as in the tower, and no bias anywhere.
    """
    return NetworkConfig(
        blocks=blocks,
        filters=filters,
        activation="leaky_relu",
        policy_filters=filters,
        value_filters=1,
        value_units=filters,
        bias=False,
    )


def wandhoven(blocks: int = 6, filters: int = 75) -> NetworkConfig:
    """Wandhoven's tower: LeakyReLU throughout, heads of plain 1 x 1 convolutions."""
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
    """Schulte's tower: two dense layers of 512 with dropout make the features both heads read."""
    return NetworkConfig(blocks=blocks, filters=filters, units=(512, 512), dropout=0.3, value_units=0)


def glimmerfors(filters: int = 64, blocks: int = 8) -> NetworkConfig:
    """Glimmerfors's tower, which is AlphaGo Zero's with fewer blocks and filters."""
    return NetworkConfig(blocks=blocks, filters=filters, policy_filters=2, value_filters=1, value_units=256)


def tower(filters: int = 64, blocks: int = 5, *, value: str = "scores") -> NetworkConfig:
    """Tabia's own: fits every game; wider heads than AlphaGo Zero's, whose two and one filters pass little on."""
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
    """The same weights on a board of any size: pooling heads, and every third block sees the whole board."""
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
    """Dense layers alone, for tiny boards."""
    return NetworkConfig(kind="mlp", units=units or (128, 128), value=value, value_units=0, batch_norm=batch_norm)


def dense(filters: int = 32, width: int = 256, depth: int = 4, *, value: str = "scores") -> NetworkConfig:
    """One convolution, then dense layers with skips: a twentieth of a tower's work, for machines without a GPU."""
    return NetworkConfig(blocks=0, filters=filters, units=(width,) * depth, skips=True, value=value, value_units=0)


PRESETS: dict[str, Callable[..., NetworkConfig]] = {
    "sanz_villanueva": sanz_villanueva,
    "wandhoven": wandhoven,
    "schulte": schulte,
    "glimmerfors": glimmerfors,
    "tower": tower,
    "any_size": any_size,
    "mlp": mlp,
    "dense": dense,
}


def make(name: str, /, **options: Any) -> NetworkConfig:
    """A preset by name; options are its own, or any field of the configuration to change afterward.

    >>> make("glimmerfors", filters=16, dropout=0.1).filters
    16
    """
    if not isinstance(name, str) or name not in PRESETS:
        raise NetworkError(f"There is no network {quote(name)}. {did_you_mean(quote(name), PRESETS)}")
    own = [
        parameter.name
        for parameter in inspect.signature(PRESETS[name]).parameters.values()
        if parameter.kind is not inspect.Parameter.VAR_POSITIONAL
    ]
    first = {key: value for key, value in options.items() if key in own}
    rest = {key: value for key, value in options.items() if key not in own}
    return PRESETS[name](**first).changed(**rest)
