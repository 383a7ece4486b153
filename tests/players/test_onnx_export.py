"""ONNX files of agents: they give the numbers of the network, describe the game, and play without Tabia."""

from __future__ import annotations

import ast
import builtins
import contextlib
import itertools
import json
import re
import runpy
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from typer.testing import CliRunner

from tabia import games
from tabia.cli.main import app
from tabia.evaluation.onnx_check import TOLERANCE, compare
from tabia.games.session import Session
from tabia.networks.onnx_graph import to_onnx
from tabia.players import onnx_export, runs

EXAMPLE = Path(__file__).parents[2] / "examples" / "onnx_player.py"


@pytest.fixture(scope="module")
def tictactoe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("onnx") / "tictactoe.onnx"
    shown = CliRunner().invoke(app, ["export", "az:tictactoe", str(path), "--check"])
    assert shown.exit_code == 0 and "1,000 positions" in shown.stdout, shown.output
    return path


def agreement(name: str, path: Path) -> float:
    game, agent = onnx_export.find(f"az:{name}")
    onnx_export.export(game, agent, path, name=name)
    found = compare(game, agent, path, count=1000)
    assert found.positions == 1000
    return max(found.logits, found.values)


def test_connect3_agrees_on_a_thousand_positions(tmp_path: Path) -> None:
    assert agreement("connect3", tmp_path / "model.onnx") <= TOLERANCE == 1e-4


@pytest.mark.long
@pytest.mark.parametrize("name", runs.shipped())
def test_every_agent_agrees_on_a_thousand_positions(name: str, tmp_path: Path) -> None:
    assert agreement(name, tmp_path / "model.onnx") <= TOLERANCE


def test_check_reports_a_file_of_other_weights(tictactoe: Path, tmp_path: Path) -> None:
    model = onnx.load(tictactoe)
    bias = next(weight for weight in model.graph.initializer if weight.name == "value.out.bias")
    bias.CopyFrom(onnx.numpy_helper.from_array(onnx.numpy_helper.to_array(bias) + np.float32(0.5), bias.name))
    onnx.save(model, tmp_path / "other.onnx")
    game, agent = onnx_export.find("network:tictactoe")
    assert not compare(game, agent, tmp_path / "other.onnx", count=1000).holds


def test_metadata_describe_game_planes_and_moves(tictactoe: Path) -> None:
    game = games.make("tictactoe")
    model = onnx.load(tictactoe)
    held = {entry.key: entry.value for entry in model.metadata_props}
    assert (held["game"], held["game_version"], held["agent"]) == ("tictactoe", "1", "az:tictactoe")
    assert json.loads(held["moves"]) == [game.move_name(action) for action in range(9)]
    assert json.loads(held["moves_depend_on_position"]) is False
    assert json.loads(held["planes"]) == ["pieces of the mover", "pieces of the next seat"]
    assert json.loads(held["values"]) == ["the mover", "the next seat"]
    assert json.loads(held["observation_shape"]) == [3, 3, 2]
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"


def test_names_that_depend_on_the_position_are_declared() -> None:
    assert onnx_export.names_change(games.make("checkers"))  # the board is turned to the mover
    assert not onnx_export.names_change(games.make("connect3"))


PLANES = ("tictactoe", "chinese-checkers:fields=121,players=4", "checkers", "connect4:history=3")
LIBRARY = ("pgx:hex", "pgx:go_9x9", "pgx:chess", "pgx:gardner_chess", "pgx:othello")


@pytest.mark.parametrize("id", [*PLANES, *(pytest.param(name, marks=pytest.mark.long) for name in LIBRARY)])
def test_every_plane_has_a_name(id: str) -> None:
    game = games.make(id)
    assert len(game.plane_names) == game.observation_shape[2] == len(set(game.plane_names))


def test_the_same_agent_gives_the_same_file(tictactoe: Path) -> None:
    game, agent = onnx_export.find("az:tictactoe")
    parts = onnx_export.metadata(game, agent, "az:tictactoe")
    model = to_onnx(agent.network, agent.parameters, parts, version=onnx.load(tictactoe).producer_version)
    assert model.SerializeToString(deterministic=True) == tictactoe.read_bytes()


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ("mcts:simulations=3", "has no network to export"),
        ("connect4", "has no network to export"),
        ("az:connect4,simulations=3", "leave out simulations"),
        ("az:untrained", "choose one with --game"),
        ("az:nowhere", "There is no run"),
    ],
)
def test_what_cannot_be_exported_is_refused_in_one_line(spec: str, reason: str, tmp_path: Path) -> None:
    shown = CliRunner().invoke(app, ["export", spec, str(tmp_path / "x.onnx")])
    assert shown.exit_code == 2 and reason in shown.stderr and len(shown.stderr.splitlines()) == 1
    assert not list(tmp_path.iterdir())


def test_example_plays_without_tabia_and_does_not_lose(tictactoe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = EXAMPLE.read_text(encoding="utf-8")
    imported = [one for one in ast.walk(ast.parse(source)) if isinstance(one, ast.Import)]
    assert {name.name for one in imported for name in one.names} == {"json", "sys", "numpy", "onnxruntime"}
    assert not any(isinstance(one, ast.ImportFrom) for one in ast.walk(ast.parse(source)))
    generator = np.random.default_rng(0)
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(tictactoe)])
    monkeypatch.setattr(builtins, "input", lambda prompt: generator.choice(prompt[11:-3].split()))
    for _ in range(20):
        try:
            runpy.run_path(str(EXAMPLE), run_name="__main__")
        except SystemExit as end:
            assert end.code == "The network wins."  # it was proven not to lose: docs/agents/tictactoe.md


def test_example_asks_again_until_a_move_is_legal(
    tictactoe: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Before each move an occupied cell, another word and nothing are entered; what is played is a legal game."""
    monkeypatch.setattr(sys, "argv", [str(EXAMPLE), str(tictactoe)])
    game, accepted = games.make("tictactoe"), list[str]()
    names = [game.move_name(action) for action in range(9)]

    def answers() -> Iterator[str]:
        prompt = yield ""
        while True:
            free = prompt[11:-3].split()
            for wrong in [*(name for name in names if name not in free), "z9", ""]:
                assert (yield wrong) == prompt
            accepted.append(free[0])
            prompt = yield free[0]

    entered = answers()
    next(entered)
    monkeypatch.setattr(builtins, "input", entered.send)
    with contextlib.suppress(SystemExit):
        runpy.run_path(str(EXAMPLE), run_name="__main__")
    replies = re.findall(r"^The network plays (\S+)", capsys.readouterr().out, flags=re.MULTILINE)
    played = [move for pair in itertools.zip_longest(accepted, replies) for move in pair if move]
    assert Session.from_moves(game, " ".join(played)).over
