"""Own games are identified by their code, class and parameters, not by how their path is spelled."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jax
import pytest
from typer.testing import CliRunner

from tabia.cli.main import app
from tabia.core.errors import TabiaWarning
from tabia.evaluation import records
from tabia.evaluation.records import Record, RecordError
from tabia.games import identity, make
from tabia.networks import Network, presets, weights
from tabia.players import PlayerError, runs

EXAMPLES = Path(__file__).parents[2] / "examples"
RACE = (EXAMPLES / "race.py").read_text(encoding="utf-8")
NIM = (EXAMPLES / "nim.py").read_text(encoding="utf-8")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "race.py").write_text(RACE, encoding="utf-8")
    (tmp_path / "nim.py").write_text(NIM, encoding="utf-8")
    return tmp_path


def trained(id: str, path: Path) -> Path:
    """A file of weights as training writes it."""
    game = make(id)
    network = Network(presets.mlp(8), game.observation_shape, game.num_actions, game.num_players)
    weights.save(path, network, network.init(jax.random.key(0)), identity.fields(game))
    return path


@pytest.mark.parametrize("id", ["race.py:Race", "race.py:Race:target=9", "nim.py:Nim", "nim.py:Nim:history=2"])
def test_every_spelling_makes_the_same_game(folder, id):
    for spelled in (f"./{id}", f"{folder}/{id}", f"../{folder.name}/{id}"):
        assert make(spelled) == make(id) and hash(make(spelled)) == hash(make(id))
        assert make(spelled).id == id


@pytest.mark.parametrize("id", ["race.py:Race", "race.py:Race:target=9", "nim.py:Nim"])
def test_a_network_plays_whatever_the_path(folder, id, monkeypatch):
    path = trained(f"./{id}", folder / "weights.safetensors")
    assert str(folder) not in json.dumps(weights.read_manifest(path).metadata), "the user's directories stay private"
    for spelled in (id, f"./{id}", f"{folder}/{id}"):
        runs.load(make(spelled), path)
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    runs.load(make(f"../{id}"), path)
    renamed = id.replace("race.py", "other.py").replace("nim.py", "other.py")
    os.link(folder / id.partition(":")[0], folder / "elsewhere" / "other.py")
    runs.load(make(renamed), path)  # the same code under another name


def test_old_networks_that_name_a_path_still_play(folder):
    """Weights written before definitions were recorded hold the path as it was typed."""
    game = make("nim.py:Nim")
    network = Network(presets.mlp(8), game.observation_shape, game.num_actions, game.num_players)
    for typed in ("nim.py:Nim", "./nim.py:Nim", f"{folder}/nim.py:Nim"):
        weights.save(folder / "old.safetensors", network, network.init(jax.random.key(0)), {"game": typed})
        runs.load(game, folder / "old.safetensors")


def test_another_game_is_refused(folder):
    path = trained("race.py:Race:target=9", folder / "weights.safetensors")
    (folder / "other.py").write_text(RACE.replace("-1.0)", "-0.5)"), encoding="utf-8")
    for other in ("race.py:Race", "race.py:Race:target=8", "other.py:Race:target=9", "nim.py:Nim", "tictactoe"):
        with pytest.raises(PlayerError, match=r"contains a network for race.py:Race:target=9, not for"):
            runs.load(make(other), path)


def test_changed_code_is_reported(folder):
    path = trained("race.py:Race", folder / "weights.safetensors")
    (folder / "race.py").write_text(RACE.replace("-1.0)", "-0.5)"), encoding="utf-8")
    with pytest.warns(TabiaWarning, match=r"The code of race.py:Race has changed since .*weights.safetensors was made"):
        runs.load(make("race.py:Race"), path)
    (folder / "race.py").write_text(RACE.replace('name = "race"', 'name = "race"\n    version = 2'), encoding="utf-8")
    with pytest.raises(PlayerError, match=r"trained on version 1 of race.py:Race; the rules are now at version 2"):
        runs.load(make("race.py:Race"), path)


def test_a_command_says_it_in_one_line(folder, monkeypatch):
    trained("race.py:Race", folder / "weights.safetensors")
    (folder / "race.py").write_text(RACE.replace("-1.0)", "-0.5)"), encoding="utf-8")
    monkeypatch.setattr("warnings.filters", [])  # as outside the tests, where warnings are no errors
    asked = ["analyze", "race.py:Race", "--player", "network:weights.safetensors"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith(
        "tabia: warning: The code of race.py:Race has changed since weights.safetensors was"
    )


def test_comments_and_docstrings_are_no_code(folder):
    before = make("nim.py:Nim").definition
    for same in (
        NIM.replace("# The rest is optional.", ""),
        NIM.replace('"""Nim with heaps of 3, 4 and 5."""', '"""N."""'),
    ):
        assert same != NIM
        (folder / "nim.py").write_text(same + "\n# the end\n", encoding="utf-8")
        assert make("nim.py:Nim").definition == before
    (folder / "nim.py").write_text(NIM.replace("(3, 4, 5)", "(3, 4, 6)"), encoding="utf-8")
    assert make("nim.py:Nim").definition != before


def test_files_imported_from_beside_are_part_of_the_code(folder, monkeypatch):
    (folder / "nim.py").write_text(
        NIM.replace("HEAPS = (3, 4, 5)", "from owngames_heaps import HEAPS"), encoding="utf-8"
    )
    (folder / "owngames_heaps.py").write_text("HEAPS = (1, 2)\n", encoding="utf-8")
    before = make("nim.py:Nim").definition
    (folder / "owngames_heaps.py").write_text("HEAPS = (2, 2)\n", encoding="utf-8")
    (folder / "copy.py").write_text((folder / "nim.py").read_text(encoding="utf-8"), encoding="utf-8")
    assert make("copy.py:Nim").definition != before


def test_records_know_the_game_by_any_spelling(folder):
    game = make("nim.py:Nim")
    for spelled in ("nim.py:Nim", f"{folder}/nim.py:Nim"):
        record = Record(spelled, 1, ("random",) * 2, ("a3",), (0.0, 0.0), end="unfinished")
        assert records.replay(game, record).actions == (2,)
    with pytest.raises(RecordError, match=r"The record is of race.py:Race"):
        records.replay(game, Record("race.py:Race", 1, ("random",) * 2, (), (0.0, 0.0), end="unfinished"))


def test_a_match_is_continued_from_another_directory_but_not_with_other_code(folder, monkeypatch):
    asked = ["match", "random", "random", "--games", "2", "--out", str(folder / "games.txt")]

    def play(game: str) -> object:
        return CliRunner().invoke(app, [asked[0], game, *asked[1:]])

    assert play("nim.py:Nim").exit_code == 0
    (folder / "sub").mkdir()
    monkeypatch.chdir(folder / "sub")
    assert play("../nim.py:Nim").exit_code == 0
    (folder / "nim.py").write_text(NIM.replace("[-1, 1] if", "[-1, 0.5] if"), encoding="utf-8")
    refused = play("../nim.py:Nim")
    assert refused.exit_code == 2 and "definition was" in refused.output
