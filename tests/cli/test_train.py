"""`tabia train`, `resume` and `recipes`: what they refuse before any work, and what they print."""

from __future__ import annotations

import json
import re
from pathlib import Path

import jax
import pytest
from typer.testing import CliRunner, Result

from tabia import __version__
from tabia.cli.main import app
from tabia.games import identity, make
from tabia.games.game import Game
from tabia.networks import Network, weights
from tabia.networks.presets import mlp
from tabia.networks.summary import counts
from tabia.training import limits, training
from tabia.training.config import recipes
from tabia.training.config.schema import Config
from tabia.training.config.toml import RENAMED, names
from tabia.training.plan import Plan
from tabia.training.run.directory import RunDirectory


def run(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


@pytest.fixture
def idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any work fails the test."""

    def work(*_: object) -> None:
        raise AssertionError("work has started")

    monkeypatch.setattr(training.states, "begin", work)


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
        (["--set", "learner.learning_rate"], ["needs a name and a value", "learner.learning_rate=0.001"]),
        (["--set", "search.simulations=0"], ["search.simulations is a whole number from 1 to 1e+06; got 0"]),
        (["--set", "search.simulations=many"], ["search.simulations is a whole number", "'many'"]),
        (["--set", "search.simulations=4.5"], ["search.simulations is a whole number", "4.5"]),
        (["--set", "learner.learning_rate=nan"], ["learner.learning_rate is a number from 0 to 100; got nan"]),
        (["--set", "learner.symmetries=1"], ["learner.symmetries is true or false; got 1"]),
        (["--set", "search.rule=gumble"], ["search.rule cannot be 'gumble'", "gumbel"]),
        (["--set", "learner.value_loss=cross_entropy"], ["needs a network with value='wdl'"]),
        (["--set", "gate.kind=score", "--set", "gate.threshold=1.5"], ["gate.threshold is a fraction", "1.5"]),
        (["--set", "selfplay.opening_moves=9"], ["selfplay.opening_moves=9", "at most 9 moves"]),
        (
            ["--set", "learner.batch_size=1000000"],
            ["learner.batch_size=1000000 is more than the", "raise replay.positions"],
        ),
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
def test_invalid_settings_are_refused_before_any_work(tmp_path: Path, words: list[str], parts: list[str]) -> None:
    refused(run("train", "tictactoe", "--out", tmp_path / "run", *words), *parts)
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("idle")
@pytest.mark.parametrize("old", [old for old in RENAMED if not re.match(r"s\d-", old) and old not in names()])
def test_a_setting_of_before_0_2_is_answered_with_its_new_name(tmp_path: Path, old: str) -> None:
    change = old if "=" in old else f"{old}=1"
    what = "value" if "=" in old else "setting"
    result = run("train", "tictactoe", "--out", tmp_path / "run", "--set", change)
    refused(result, f"There is no {what} '{old}'. It is now called '{RENAMED[old]}'.")


@pytest.mark.usefixtures("idle")
def test_old_recipe_names_and_scheduled_settings_are_answered_with_the_new_ones(tmp_path: Path) -> None:
    result = run("train", "tictactoe", "--out", tmp_path / "run", "--recipe", "s1-tictactoe")
    refused(result, "There is no recipe 's1-tictactoe'. It is now called 'sanz-villanueva-tictactoe'.")
    result = run("train", "tictactoe", "--out", tmp_path / "run", "--set", "schedule={'learner.rate'=[[0.0, 0.1]]}")
    refused(result, "There is no setting 'learner.rate'. It is now called 'learner.learning_rate'.")
    known = {*names(), *recipes.names(), "gate.kind=score", "learner.final_position_weight", "network.final_position"}
    assert set(RENAMED.values()) <= known


def old_run(path: Path) -> Path:
    """A run directory as Tabia 0.1 wrote it."""
    game, network = make("tictactoe"), mlp(8, batch_norm=False)
    built = Network(network, game.observation_shape, game.num_actions, game.num_players)
    place = path / "checkpoints" / "4"
    place.mkdir(parents=True)
    weights.save(place / "weights.safetensors", built, built.init(jax.random.key(0)), identity.fields(game))
    (place / "manifest.json").write_text(
        json.dumps({"format": "tabia checkpoint 4", "files": {}, "ledger": {"cycle": 4}})
    )
    (path / "config.toml").write_text('game = "tictactoe"\ncycles = 9\n\n[learner]\nbatch = 64\nrate = 0.01\n')
    (path / "machine.json").write_text(json.dumps([{"from_cycle": 0, "versions": {"tabia": "0.1.0"}}]))
    return path


@pytest.mark.usefixtures("idle")
def test_a_run_of_before_0_2_is_refused_and_its_weights_still_play(tmp_path: Path) -> None:
    path = old_run(tmp_path / "run")
    words = f"{path} was written by Tabia 0.1.0; this is {__version__} and cannot resume it. "
    refused(run("resume", path), words + f"Its weights can still be played: az:{path}")
    refused(run("report", path), "written by Tabia 0.1.0", "cannot report it")
    refused(run("train", "tictactoe", "--out", path), "already holds a run", "--out")
    (path / "config.toml").write_text('game = "tictactoe"\n')  # only the checkpoint is old
    refused(run("resume", path), "written by Tabia 0.1.0", "az:")
    (path / "machine.json").unlink()
    refused(run("resume", path), "written by Tabia 0.1;")
    for spec in (f"az:{path},simulations=2", f"network:{path}"):
        assert run("match", "tictactoe", spec, "random", "--games", 2).exit_code == 0


@pytest.mark.usefixtures("idle")
def test_a_misspelled_game_is_refused(tmp_path: Path) -> None:
    refused(run("train", "tictactow", "--out", tmp_path / "run"), "tictactow", "tictactoe")
    assert not (tmp_path / "run").exists()


@pytest.mark.usefixtures("idle")
def test_a_directory_that_is_taken_is_refused_and_left_alone(tmp_path: Path) -> None:
    taken = RunDirectory(tmp_path / "run")
    taken.create(Config(game="connect4"))
    before = (taken.path / "config.toml").read_bytes()
    refused(run("train", "tictactoe", "--out", taken.path), "already holds a run of connect4", "tabia resume", "--out")
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
    refused(run("resume", tmp_path / "rnu"), "rnu holds no run: there is no such directory", f"mean {taken.path}?")
    refused(run("resume", tmp_path), "it has no config.toml", f"There are runs inside, such as {taken.path}.")
    path = taken.path / "config.toml"
    path.write_text(path.read_text().replace("simulations = 32", "simulatons = 32", 1))
    refused(run("resume", taken.path), "config.toml", "search.simulatons", "simulations")
    path.write_text("game = ")
    refused(run("resume", taken.path), "config.toml")
    path.write_bytes(b"\xff\xfe\x00")
    refused(run("resume", taken.path), "config.toml")


# The lower bound of an iteration's time.


def test_the_lower_bound_counts_the_operations_of_the_network() -> None:
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
    assert counts(Plan(small).network).operations == once
    assert limits.iteration_operations(Plan(small)) == once * (10 * 4 * 8 + 3 * 3 * 5)
    assert limits.iteration_operations(Plan(small.changed({"replay.min_positions": 41}))) == once * 10 * 4 * 8
    assert limits.iteration_operations(Plan(small.changed({"search.fast_simulations": 2}))) == once * (10 * 4 * 2 + 45)


def test_the_lower_bound_grows_with_the_work_and_admits_every_recipe() -> None:
    plan = Plan(recipes.load("connect4-laptop").config().changed({"schedule": ()}))  # which sets the simulations
    more = Plan(plan.config.changed({"search.simulations": 100 * plan.config.search.simulations}))
    assert limits.COMPILING < limits.least_seconds(plan, "gpu") < limits.least_seconds(plan, "cpu")
    assert limits.least_seconds(more, "cpu") > 10 * (limits.least_seconds(plan, "cpu") - limits.COMPILING)
    for recipe in map(recipes.load, recipes.names()):
        config = recipe.config("connect4" if recipe.game == recipes.ANY else recipe.game)
        needed = limits.least_seconds(Plan(config), recipe.device)
        assert not config.minutes or needed < 6 * config.minutes, "a tenth of the time, on the device it is made for"


@pytest.mark.usefixtures("idle")
def test_too_much_work_for_the_minutes_is_refused(tmp_path: Path) -> None:
    words = ("--minutes", 1, "--set", "selfplay.games=1000000", "--set", "search.simulations=10000")
    refused(run("train", "connect4", "--out", tmp_path / "run", *words), "1 minutes are too few for one iteration")


# What they print.


def test_other_games_do_not_need_the_library_of_a_recipe(monkeypatch: pytest.MonkeyPatch) -> None:
    def without_pgx(id: str) -> Game:
        assert not id.startswith("pgx:"), "pgx may not be installed"
        return make(id)

    monkeypatch.setattr(recipes, "make_game", without_pgx)
    assert recipes.default("othello").name in ("any-laptop", "othello-gpu")
    assert recipes.load("tictactoe").config("tictactoe").game == "tictactoe"


def test_the_default_recipe_is_never_a_reproduction() -> None:
    assert [recipes.default(game).name for game in ("tictactoe", "connect3")] == ["tictactoe", "connect3"]
    for game in ("connect4", "othello", "chinese-checkers", "connect:rows=6,columns=6,line=4"):
        chosen = recipes.default(game)
        assert chosen.source is None and not chosen.several
    by_author = ("sanz-villanueva", "wandhoven", "schulte", "glimmerfors", "goldberg-ishay")
    assert all((recipes.load(name).source is not None) == name.startswith(by_author) for name in recipes.names())


def test_recipes_are_listed_and_each_can_be_loaded() -> None:
    listed = json.loads(run("recipes", "--json").stdout)
    assert [recipe["name"] for recipe in listed] == recipes.names()
    text = run("recipes").stdout
    for recipe in listed:
        assert recipe["name"] in text and recipe["about"] and recipe["expect"]
        if recipe["game"] != recipes.ANY:
            assert recipes.load(recipe["name"]).config().game == make(recipe["game"]).id
