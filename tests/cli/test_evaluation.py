"""`tabia match`, `tournament`, `rate` and `accuracy`: output, record files and errors."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jax
import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.evaluation import records
from tabia.evaluation.rating_models import RatingError
from tabia.evaluation.rating_plot import plot_ratings
from tabia.evaluation.records import Record, RecordFile
from tabia.games import make
from tabia.networks import Network, presets, weights

PLAYED = ("tictactoe", "random", "random:epsilon=1", "--games", 8)


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.mark.parametrize("command", ["match", "tournament", "rate", "accuracy"])
def test_help_explains_every_option(command: str) -> None:
    result = CliRunner().invoke(app, [command, "--help"], env={"COLUMNS": "200"})
    assert result.exit_code == 0 and "Examples:" in result.stdout
    options = [line for line in result.stdout.splitlines() if line.lstrip("│* ").startswith("--")]
    assert options and all(len(line.strip("│ ").split()) > 3 for line in options)


@pytest.fixture(scope="module")
def games(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Result]:
    out = tmp_path_factory.mktemp("match") / "games.txt"
    return out, run(
        "match", "tictactoe", "random", "random:epsilon=1", "--games", 8, "--seed", 1, "--out", out, "--json"
    )


def test_a_match_prints_json_and_saves_its_games(games: tuple[Path, Result]) -> None:
    out, result = games
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert (answer["game"], answer["games"], answer["rounds"], answer["duplicates"]) == (
        "tictactoe",
        8,
        4,
        0,
    )
    one, other = answer["players"]
    assert one["wins"] == other["losses"] and one["score"] + other["score"] == pytest.approx(1)
    assert one["low"] <= one["score"] <= one["high"] and answer["sprt"] is None
    assert len(records.load(out).records) == 8


def test_the_same_command_resumes_from_its_file_and_another_is_refused(games: tuple[Path, Result]) -> None:
    out, result = games
    words = ("match", *PLAYED, "--out", out)
    before = out.read_text(encoding="utf-8")
    assert run(*words, "--seed", 1, "--json").stdout == result.stdout
    assert out.read_text(encoding="utf-8") == before
    other = run(*words, "--seed", 2)
    assert other.exit_code == 2 and "seed was 1, not 2" in other.output


def test_a_match_prints_tables(games: tuple[Path, Result]) -> None:
    out, _ = games
    words = run("match", *PLAYED, "--seed", 1, "--out", out).output
    assert "8 games in 4 rounds from 4 openings of 4 moves" in words and "random in seat 2" in words


def test_a_match_with_three_seats_counts_seats() -> None:
    """Two players in six games of three seats have nine seats each."""
    words = run("match", "connect:rows=3,columns=4,line=3,players=3", "random", "random:epsilon=1", "--games", 6).output
    heading, one, other = words.splitlines()[:3]
    assert heading.split()[0] == "seats" and one.split()[1] == other.split()[1] == "9"
    assert "6 games have 18 seats" in words


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["match", "tictactoe", "random"], "a match needs 2 players, not 1"),
        (["match", "tictactoe", "randm", "random"], "There is no player 'randm'. Did you mean random?"),
        (["match", "tictactoe", "random", "random:epsilon=1", "--sprt", "5"], "--sprt 5: expected two or four numbers"),
        (["match", "tictactoe", "random", "random:epsilon=1", "--sprt", "9,5"], "needs low < high"),
        (["tournament", "tictactoe", "random", "random"], "two or more different players"),
        (["rate", "none.txt"], "none.txt cannot be read"),
        (["accuracy", "tictactoe", "random", "--plies", "3"], "expected two whole numbers"),
        (["accuracy", "othello", "random"], "too large for perfect play"),
    ],
)
def test_refusals(words: list[str], sentence: str) -> None:
    result = run(*words)
    assert result.exit_code == 2 and sentence in result.output, result.output


def test_a_tournament_is_rated_again_from_its_file(tmp_path: Path) -> None:
    out = tmp_path / "games.txt"
    players = ["random", "random:epsilon=1", "random:epsilon=0.5"]
    played = run("tournament", "tictactoe", *players, "--games", 8, "--nearest", 1, "--out", out)
    assert played.exit_code == 0, played.output
    assert "random:epsilon=0.5" in played.output and "of tictactoe" in played.output
    answer = json.loads(run("rate", out, "--anchor", "random", "--anchor-elo", 1000, "--json").stdout)
    assert [row["name"] for row in answer["players"]] == players
    assert (
        answer["players"][0]["elo"] == 1000 and answer["players"][0]["error"] == 0 and answer["players"][1]["error"] > 0
    )
    wandhoven = json.loads(run("rate", out, "--method", "wandhoven", "--json").stdout)
    assert wandhoven["players"][0]["elo"] == 0 and wandhoven["players"][1]["error"] is None
    assert "There is no method 'elo'" in run("rate", out, "--method", "elo").output
    assert "There is no player 'rand'" in run("rate", out, "--anchor", "rand").output


def _trained(tmp_path: Path, *, seats: int = 2) -> Path:
    """Games of three checkpoints, in which the later ones win more."""
    names = ["az:run@100", "az:run@200", "az:run@300", "random"]
    found = []
    for number in range(60):
        one, other = number % 4, (number + 1 + number // 4 % 3) % 4
        better = 1.0 if (one > other) == (number % 5 > 0) else -1.0
        rest = (0.0,) * (seats - 2)
        players = (names[one], names[other], *[names[3]] * (seats - 2))
        found.append(Record("toy", 1, players, (str(number),), (better, -better, *rest)))
    records.save(tmp_path / "toy.txt", RecordFile({}, found))
    return tmp_path / "toy.txt"


def test_ratings_are_plotted_against_iterations(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file, picture = _trained(tmp_path), tmp_path / "ratings.svg"
    result = run("rate", file, "--anchor", "random", "--plot", picture)
    assert result.exit_code == 0, result.output
    assert "<svg" in picture.read_text(encoding="utf-8")
    assert ".svg, .png or .pdf" in run("rate", file, "--plot", tmp_path / "x.txt").output
    with pytest.raises(RatingError, match="nothing to plot against"):
        plot_ratings(picture, ["random"], [0.0], [0.0])
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert "pip install 'tabia[plots]'" in run("rate", file, "--plot", picture).output


def test_more_seats_are_rated_by_places(tmp_path: Path) -> None:
    answer = json.loads(run("rate", _trained(tmp_path, seats=3), "--json").stdout)
    assert len(answer["advantage"]) == 2 and len(answer["players"]) == 4
    assert "two seats" in run("rate", tmp_path / "toy.txt", "--method", "wandhoven").output


def test_a_directory_without_checkpoints_is_refused(tmp_path: Path) -> None:
    result = run("rate", tmp_path)
    assert result.exit_code == 2 and "has 0 checkpoints" in result.output


def _run(folder: Path, game_id: str) -> Path:
    """A run with three checkpoints of a tiny network."""
    game = make("tictactoe")
    network = Network(presets.mlp(8), game.observation_shape, game.num_actions, game.num_players)
    for step in (5, 20, 100):
        (folder / "checkpoints" / str(step)).mkdir(parents=True)
        path = folder / "checkpoints" / str(step) / "weights.safetensors"
        weights.save(path, network, network.init(jax.random.key(step)), {"game": game_id, "game_version": game.version})
    return folder


def test_the_checkpoints_of_a_run_are_rated(tmp_path: Path) -> None:
    folder, picture = _run(tmp_path / "run", "tictactoe"), tmp_path / "ratings.svg"
    words = ["--games", 6, "--nearest", 1, "--simulations", 0, "--plot", picture, "--out", tmp_path / "games.txt"]
    result = run("rate", folder, *words, "--json")
    assert result.exit_code == 0, result.output
    answer = json.loads(result.stdout)
    assert [row["name"] for row in answer["players"]] == [f"network:{folder}@{step}" for step in (5, 20, 100)]
    assert answer["games"] + answer["not_counted"] == 12 and picture.exists()
    assert len(records.load(tmp_path / "games.txt").records) == 12
    again = json.loads(run("rate", tmp_path / "games.txt", "--count-repeats", "--json").stdout)
    assert (again["games"], again["not_counted"]) == (12, 0)
    search = ("--simulations", 8, "--options", "rule=puct,dirichlet_fraction=0.25")
    planned = run("rate", folder, "--checkpoints", 2, "--games", 2, *search, "--json")
    names = [row["name"] for row in json.loads(planned.stdout)["players"]]
    assert names == [f"az:{folder}@{step},simulations=8,rule=puct,dirichlet_fraction=0.25" for step in (5, 100)]


def test_a_run_cannot_choose_code_to_run(tmp_path: Path) -> None:
    (tmp_path / "evil.py").write_text("raise SystemExit('ran')")
    result = run("rate", _run(tmp_path / "run", f"{tmp_path}/evil.py:Game"))
    assert result.exit_code == 2 and "would run Python code" in result.output


@pytest.mark.parametrize("plies", [("--plies", "12,40"), pytest.param((), marks=pytest.mark.long)], ids=["late", "all"])
def test_accuracy_on_connect4_uses_the_solver(plies: tuple[str, ...]) -> None:
    answer = json.loads(run("accuracy", "connect4", "perfect", "--positions", 70, *plies, "--json").stdout)
    assert answer["all"]["positions"] == 70 and answer["all"]["losable"] > 20
    assert answer["all"]["agreement"] == answer["all"]["fastest"] == answer["values"]["sign"] == 1.0


def test_accuracy_of_perfect_play(tmp_path: Path) -> None:
    answer = json.loads(run("accuracy", "tictactoe", "perfect", "--positions", 50, "--json").stdout)
    assert answer["all"]["agreement"] == answer["all"]["fastest"] == answer["values"]["sign"] == 1.0
    file = tmp_path / "positions.txt"
    file.write_text("a1\n\nb2 b2\n")
    result = run("accuracy", "tictactoe", "perfect", "--file", file)
    assert result.exit_code == 0 and "line 3, 'b2 b2'" in result.output
    assert any(line.split()[:2] == ["all", "2"] for line in result.output.splitlines())


def test_accuracy_on_all_positions_and_on_losable_ones() -> None:
    every = json.loads(run("accuracy", "connect3", "perfect", "--all", "--json").stdout)["all"]
    assert every["agreement"] == 1.0 and every["positions"] > 1000
    chosen = run("accuracy", "tictactoe", "perfect", "--positions", 50, "--losable", 0.8, "--json")
    answer = json.loads(chosen.stdout)["all"]
    assert (answer["positions"], answer["losable"]) == (50, 40)
    refused = run("accuracy", "tictactoe", "perfect", "--all", "--losable", 0.8)
    assert refused.exit_code and "--all and --losable cannot be combined" in refused.output
    none = run("accuracy", "tictactoe", "perfect", "--plies", "8,8", "--losable", 1)
    assert none.exit_code and "None of" in none.output
