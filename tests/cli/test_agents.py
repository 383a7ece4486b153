"""`tabia agents NAME`: the network of an agent as a table, as JSON and as a picture."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.networks.picture import draw
from tabia.networks.summary import counts, summary
from tabia.networks.weights import read_manifest
from tabia.players.runs import weights_file


def tabia(*words: str) -> Result:
    return CliRunner().invoke(app, list(words))


def test_the_network_is_shown() -> None:
    network = read_manifest(weights_file("tictactoe")).network
    assert tabia("agents", "tictactoe").stdout == summary(network) + "\n"
    shown = json.loads(tabia("agents", "tictactoe", "--json").stdout)
    assert shown["config"] == network.config.to_dict()
    assert shown["trainable"] == counts(network).trainable


def test_the_network_is_drawn(tmp_path: Path) -> None:
    path = tmp_path / "network.svg"
    assert tabia("agents", "tictactoe", "--svg", str(path)).exit_code == 0
    assert ElementTree.parse(path).getroot().tag.endswith("svg")
    assert path.read_text() == draw(read_manifest(weights_file("tictactoe")).network)
    assert tabia("agents", "tictactoe", "--svg", "-").stdout == path.read_text()


@pytest.mark.parametrize(("words", "sentence"), [(("--svg", "x.svg"), "name an agent"), (("tictacto",), "tictactoe")])
def test_refusals(words: tuple[str, ...], sentence: str) -> None:
    result = tabia("agents", *words)
    assert result.exit_code == 2
    assert sentence in result.stderr
