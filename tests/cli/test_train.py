"""`tabia train`, `resume` and `recipes`: what they refuse before any work, and what they print."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from tabia.cli.main import app
from tabia.games import make
from tabia.games.game import Game
from tabia.training import budget, loop
from tabia.training.config import recipes
from tabia.training.config.schema import Config
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any work fails the test."""

    def work(*_: object) -> None:
        raise AssertionError("work was begun")

    monkeypatch.setattr(loop.states, "begin", work)


def refused(result: Result, *parts: str) -> None:
    """A sentence on stderr, exit code 2, no traceback."""
    assert result.exit_code == 2, result.output
    assert result.stderr.startswith("tabia: ") and "Traceback" not in result.stderr and not result.stdout
    for part in parts:
        assert part in result.stderr, result.stderr


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize(
    ("words", "parts"),
    [
        (["--set", "learner.rat=0.1"], ["There is no setting 'learner.rat'", "learner.learning_rate"]),
        (["--set", "serch.simulations=9"], ["'serch.simulations'", "search.simulations"]),
        (["--set", "network.fliters=9"], ["network.fliters", "network.filters"]),
        (["--set", "learner.learning_rate"], ["a name and a value are needed", "learner.learning_rate=0.001"]),
        (["--set", "search.simulations=0"], ["search.simulations is a whole number from 1 to 1e+06; got 0"]),
        (["--set", "search.simulations=many"], ["search.simulations is a whole number", "'many'"]),
        (["--set", "search.simulations=4.5"], ["search.simulations is a whole number", "4.5"]),
        (["--set", "learner.learning_rate=nan"], ["learner.learning_rate is a number from 0 to 100; got nan"]),
        (["--set", "learner.symmetries=1"], ["learner.symmetries is true or false; got 1"]),
        (["--set", "search.rule=gumble"], ["search.rule cannot be 'gumble'", "gumbel"]),
        (["--set", "learner.value_loss=cross_entropy"], ["needs a network with value='wdl'"]),
        (["--set", "gate.kind=share", "--set", "gate.threshold=1.5"], ["gate.threshold is a share", "1.5"]),
        (["--set", "selfplay.opening_moves=9"], ["selfplay.opening_moves=9", "at most 9 moves"]),
        (["--set", "learner.batch_size=1000000"], ["learner.batch_size=1000000 is more than the replay's"]),
        (
            ["--set", "iterations=1", "--set", "replay.min_positions=9999"],
            ["The run ends before learning begins", "Raise iterations"],
        ),
        (["--set", "evaluation.opponents=['randm']"], ["[evaluation]", "randm", "random"]),
        (["--recipe", "connect4-laptop"], ["connect4-laptop is for connect4, not for tictactoe", "tictactoe"]),
        (["--recipe", "tictactoo"], ["There is no recipe 'tictactoo'", "tictactoe"]),
        (
            ["--minutes", "0.01"],
            ["0.01 minutes are too few for one iteration", "--minutes", "selfplay.games", "--estimate"],
        ),
    ],
)
def test_what_cannot_be_trained_is_refused_before_any_work(tmp_path: Path, words: list[str], parts: list[str]) -> None:
    refused(run("train", "tictactoe", "--out", tmp_path / "run", *words), *parts)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("idle")
def test_a_misspelt_game_is_refused(tmp_path: Path) -> None:
    refused(run("train", "tictactow", "--out", tmp_path / "run"), "tictactow", "tictactoe")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("idle")
def test_a_directory_that_is_taken_is_refused_and_left_alone(tmp_path: Path) -> None:
    taken = RunDirectory(tmp_path / "run")
    taken.create(Config(game="connect4"))
    before = (taken.path / "config.toml").read_bytes()
    refused(run("train", "tictactoe", "--out", taken.path), "holds a run of connect4 already", "tabia resume", "--out")
    assert (taken.path / "config.toml").read_bytes() == before
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "thesis.txt").write_text("chapter 1")
    refused(run("train", "tictactoe", "--out", tmp_path / "other"), "not empty and holds no run", "--out")
    refused(run("train", "tictactoe", "--out", tmp_path / "other" / "thesis.txt"), "--out")
    assert (tmp_path / "other" / "thesis.txt").read_text() == "chapter 1"


@pytest.mark.usefixtures("idle")
def test_a_run_that_cannot_be_resumed_is_refused(tmp_path: Path) -> None:
    refused(run("resume", tmp_path), "holds no run", "config.toml")
    taken = RunDirectory(tmp_path / "run")
    taken.create(Config(game="tictactoe"))
    path = taken.path / "config.toml"
    path.write_text(path.read_text().replace("simulations = 32", "simulatons = 32", 1))
    refused(run("resume", taken.path), "config.toml", "search.simulatons", "simulations")
    path.write_text("game = ")
    refused(run("resume", taken.path), "config.toml")
    path.write_bytes(b"\xff\xfe\x00")
    refused(run("resume", taken.path), "config.toml")


# The least time an iteration can take.


def test_the_bound_counts_the_networks_arithmetic() -> None:
    """Mlp on tic-tac-toe: 18 inputs, 16 units, 9 moves and 2 values."""
    config = (
        recipes.load("tictactoe")
        .config()
        .changed(
            {
                "selfplay.games": 10,
                "selfplay.plies": 4,
                "search.simulations": 8,
                "learner.steps": 3,
                "learner.batch_size": 5,
            }
        )
    )
    small = Config(
        game="tictactoe",
        network=config.network.changed(units=(16,)),
        search=config.search,
        selfplay=config.selfplay,
        learner=config.learner,
    )
    once = 2 * (18 * 16 + 16 * 9 + 16 * 2)
    assert budget.operations(Plan(small).network) == once
    assert budget.iteration_operations(Plan(small)) == once * (10 * 4 * 8 + 3 * 3 * 5)
    assert budget.iteration_operations(Plan(small.changed({"replay.min_positions": 41}))) == once * 10 * 4 * 8
    assert budget.iteration_operations(Plan(small.changed({"search.fast_simulations": 2}))) == once * (10 * 4 * 2 + 45)


def test_the_bound_grows_with_the_work_and_lets_every_recipe_through() -> None:
    plan = Plan(recipes.load("connect4-laptop").config())
    more = Plan(plan.config.changed({"search.simulations": 100 * plan.config.search.simulations}))
    assert budget.COMPILING < budget.least_seconds(plan, "gpu") < budget.least_seconds(plan, "cpu")
    assert budget.least_seconds(more, "cpu") > 10 * (budget.least_seconds(plan, "cpu") - budget.COMPILING)
    for recipe in map(recipes.load, recipes.names()):
        config = recipe.config("connect4" if recipe.game == recipes.ANY else recipe.game)
        needed = budget.least_seconds(Plan(config), recipe.device)
        assert not config.minutes or needed < 6 * config.minutes, "a tenth of the time, on what it is made for"


@pytest.mark.usefixtures("idle")
def test_too_much_work_for_the_minutes_is_refused(tmp_path: Path) -> None:
    words = ("--minutes", 1, "--set", "selfplay.games=1000000", "--set", "search.simulations=10000")
    refused(run("train", "connect4", "--out", tmp_path / "run", *words), "1 minutes are too few for one iteration")


# What they print.


def test_a_recipe_for_a_librarys_game_does_not_need_it_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_pgx(id: str) -> Game:
        assert not id.startswith("pgx:"), "pgx may not be installed"
        return make(id)

    monkeypatch.setattr(recipes, "make_game", without_pgx)
    assert recipes.default("othello").name in ("any-laptop", "othello-gpu")
    assert recipes.load("tictactoe").config("tictactoe").game == "tictactoe"


def test_recipes_are_told_and_each_can_be_read() -> None:
    told = json.loads(run("recipes", "--json").stdout)
    assert [recipe["name"] for recipe in told] == recipes.names()
    text = run("recipes").stdout
    for recipe in told:
        assert recipe["name"] in text and recipe["about"] and recipe["expect"]
        if recipe["game"] != recipes.ANY:
            assert recipes.load(recipe["name"]).config().game == make(recipe["game"]).id
