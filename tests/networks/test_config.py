"""Network configurations: JSON round trips, and errors for invalid settings."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tabia.networks import NetworkConfig, NetworkError
from tabia.networks.presets import PRESETS, any_size, make, mlp, schulte, tower

from .zoo import ZOO


@pytest.mark.parametrize("name", ZOO)
def test_json_round_trip(name: str) -> None:
    config = ZOO[name].config
    again = NetworkConfig.from_dict(json.loads(json.dumps(config.to_dict())))
    assert again == config
    assert hash(again) == hash(config)


def test_a_missing_field_keeps_its_default() -> None:
    assert NetworkConfig.from_dict({"blocks": 2}) == NetworkConfig(blocks=2)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"filter": 64}, "no setting network.filter. Did you mean filters"),
        ({"kind": "resnet"}, "network.kind cannot be 'resnet'. Known: residual, bottleneck, mixer, "),
        ({"activation": "leaky"}, "Did you mean leaky_relu"),
        ({"policy": "column"}, "Did you mean columns"),
        ({"value": "wld"}, "Did you mean wdl"),
        ({"blocks": -1}, "network.blocks is a whole number from 0 to 256; got -1"),
        ({"blocks": 10**9}, "network.blocks is a whole number from 0 to 256"),
        ({"blocks": 2.5}, "network.blocks is a whole number from 0 to 256; got 2.5"),
        ({"blocks": True}, "network.blocks is a whole number from 0 to 256; got True"),
        ({"filters": "64"}, "network.filters is a whole number from 1 to 16384; got '64'"),
        ({"kernel": 4}, "network.kernel must be odd, so that a kernel has a center; got 4"),
        ({"dropout": 1.0}, "network.dropout is a number at least 0 and less than 1; got 1.0"),
        ({"slope": float("nan")}, "network.slope is a number from 0 to 1; got nan"),
        (
            {"units": [512, "512"]},
            "network.units is a list of at most 64 whole numbers from 1 to 16384; got [512, '512']",
        ),
        ({"units": [0]}, "whole numbers from 1 to 16384; got [0]"),
        ({"kind": "mlp"}, "give their widths, such as units="),
        ({"units": [512], "policy": "cells"}, "no board is left"),
        ({"units": [512], "value_pool": True}, "no board is left"),
        ({"units": [512], "final_position": True}, "remove one of them"),
        ({"policy_extra": 1}, "belong to policy='cells'"),
        (
            {"kind": "mixer", "filters": 20},
            "network.filters must be a multiple of network.group_filters for kind='mixer'",
        ),
        ({"kind": "attention", "filters": 24}, "multiple of network.head_filters for kind='attention'; got 24 and 16"),
        ({"kind": "plain"}, "A network of kind plain has convolutions"),
        ({"convolutions": [8]}, "and no other has them; got kind='residual' and convolutions=[8]"),
        ({"over_class": True}, "over_class reads the dense features"),
    ],
)
def test_an_invalid_configuration_is_refused(entries: dict[str, Any], sentence: str) -> None:
    with pytest.raises(NetworkError, match=sentence.replace("(", r"\(").replace("[", r"\[")):
        NetworkConfig.from_dict(entries)


def test_a_configuration_is_a_table() -> None:
    with pytest.raises(NetworkError, match="a table of names and values"):
        NetworkConfig.from_dict([1, 2])  # type: ignore[arg-type]


def test_presets_are_found_by_name() -> None:
    assert make("tower", filters=32, dropout=0.1) == tower(32).changed(dropout=0.1)
    assert make("any_size", policy="columns") == any_size(policy="columns")
    assert make("mlp", units=(7,)) == mlp(7)
    with pytest.raises(NetworkError, match=r"no network 'towr'. Did you mean tower"):
        make("towr")
    with pytest.raises(NetworkError, match=r"no setting network.block. Did you mean blocks"):
        make("tower", block=3)
    for name in PRESETS:
        assert isinstance(make(name), NetworkConfig)


def test_any_size() -> None:
    assert any_size().any_size
    assert any_size(policy="columns").any_size
    assert not any_size().changed(value_pool=False).any_size
    assert any_size().changed(kind="gated").any_size
    assert not any_size().changed(kind="mixer").any_size and not any_size().changed(kind="attention").any_size
    assert not tower().any_size
    assert not schulte().any_size
