"""Runs: listed, watched, compared, damaged ones with their problem; a training from the page (long)."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from tabia.core.locks import FileLock
from tabia.games import make
from tabia.networks.presets import mlp
from tabia.players import runs as networks
from tabia.server.errors import NotFound, Refused
from tabia.server.learn import runs as runs_module
from tabia.server.learn.curves import flat, series
from tabia.server.learn.runs import Runs
from tabia.server.web.app import create_app
from tabia.server.web.context import make_context
from tabia.server.web.routes.runs import _changes
from tabia.training.config import recipes as shelf
from tabia.training.config.schema import Config, LearnerSettings, ReplaySettings, SelfPlaySettings
from tabia.training.progress import finish
from tabia.training.state import Counters
from tabia.training.training import Training
from tests.server.conftest import HOST, make_page, start, wait
from tests.server.running import run

RECORD = """tabia games 1
iteration: 2

game: tictactoe
version: 1
seat 1: self-play@2
seat 2: self-play@2
round: 0
opening: 0
seed: 0
moves: b2 a2 a1 c3 c1 a3 b1
scores: 1 -1
end: over
"""


def make_run(directory: Path, name: str, *, lines: int = 3, progress: float = 0.5, simulations: int = 16) -> Path:
    """A run directory as training leaves it, with the shipped network as its checkpoints."""
    path = directory / name
    config = f'game = "tictactoe"\nrecipe = "tictactoe"\nseed = 1\n\n[search]\nsimulations = {simulations}\n'
    (path / "games").mkdir(parents=True)
    (path / "config.toml").write_text(config, encoding="utf-8")
    (path / "games" / "2.txt").write_text(RECORD, encoding="utf-8")
    for step in (1, 2):
        folder = path / "checkpoints" / str(step)
        folder.mkdir(parents=True)
        shutil.copy(networks.shipped_folder("tictactoe") / networks.WEIGHTS, folder / networks.WEIGHTS)
    append(path, *(line(number, progress=progress * number / lines) for number in range(1, lines + 1)))
    return path


def line(iteration: int, **more: Any) -> dict[str, Any]:
    return {"iteration": iteration, "seconds": 10.0 * iteration, "loss": 1.0 / iteration, "total_games": 5, **more}


def append(path: Path, *lines: dict[str, Any]) -> None:
    with (path / "metrics.jsonl").open("a", encoding="utf-8") as file:
        file.writelines(json.dumps(entry) + "\n" for entry in lines)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_run(tmp_path, "one")
    make_run(tmp_path, "two", progress=1.0, simulations=32)
    return tmp_path


@pytest.fixture
def page(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    place = tmp_path_factory.mktemp("place")
    parts = make_context(("tictactoe",), data=place / "data", runs=folder)
    with TestClient(create_app(parts, hosts=(HOST,), page=make_page(place / "page"))) as found:
        yield found
    parts.worker.join()


def test_runs_are_listed_with_their_state(page: TestClient) -> None:
    found = {run["name"]: run for run in page.get("/api/v1/runs").json()["runs"]}
    assert (found["one"]["state"], found["two"]["state"]) == ("stopped", "finished")
    one = found["one"]
    assert (one["game"], one["recipe"], one["iteration"], one["minutes"]) == ("tictactoe", "tictactoe", 3, 0.5)


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Trainings are processes that write nothing, as a training at first."""
    started = list[subprocess.Popen[bytes]]()
    popen = subprocess.Popen

    def sleep(command: list[str], **options: Any) -> subprocess.Popen[bytes]:
        time.sleep(0.02)
        started.append(popen([sys.executable, "-c", "import time; time.sleep(3000)"], **options))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", sleep)
    yield started
    for process in started:
        process.kill()
        process.wait()


NEW = {"game": "tictactoe", "recipe": "tictactoe", "name": "new"}


def test_a_run_that_is_only_starting_has_no_games_yet(page: TestClient, silent: list[subprocess.Popen[bytes]]) -> None:
    assert page.post("/api/v1/runs", json=NEW).json()["state"] == "starting"
    for query in ("", "?checkpoint=3"):
        assert page.get(f"/api/v1/runs/new/games{query}").json()["games"] == []
    silent[0].kill()
    silent[0].wait()
    assert page.get("/api/v1/runs/new/games").status_code == 404


def test_a_run_that_has_written_nothing_is_stopped(page: TestClient, silent: list[subprocess.Popen[bytes]]) -> None:
    page.post("/api/v1/runs", json=NEW)
    answer = page.post("/api/v1/runs/new/stop")
    assert answer.status_code == 200 and (answer.json()["state"], answer.json()["problem"]) == ("stopped", None)
    assert silent[0].poll() is not None
    assert page.post("/api/v1/runs", json=NEW).json()["state"] == "starting"  # the name is free


def test_requests_at_once_start_one_training(folder: Path, silent: list[subprocess.Popen[bytes]]) -> None:
    trainings = Runs(folder).trainings

    def start(name: str | None) -> str:
        return trainings.start("tictactoe", "tictactoe", name=name, minutes=None, seed=None)

    with ThreadPoolExecutor(6) as pool:
        found = [pool.submit(start, name) for name in ("a", "a", None, None, "b", "b")]
    errors = [future.exception() for future in found]
    assert errors.count(None) == len(silent) == len(trainings.active()) == 1
    assert all(isinstance(error, Refused) for error in errors if error is not None)


def test_a_run_that_another_process_trains_is_training(folder: Path) -> None:
    runs = Runs(folder)
    with FileLock(folder / "one" / ".lock"):
        assert runs.summary("one")["state"] == "training"
    assert runs.summary("one")["state"] == "stopped"
    (folder / "one" / ".lock").touch()  # left by a process that was killed
    assert runs.summary("one")["state"] == "stopped"


SMALL = Config(
    game="tictactoe",
    iterations=8,
    network=mlp(8, batch_norm=False),
    selfplay=SelfPlaySettings(games=4, plies=8),
    replay=ReplaySettings(positions=64, min_positions=16),
    learner=LearnerSettings(batch_size=16),
)


@pytest.mark.parametrize(
    ("length", "counters", "finished"),
    [
        ({}, Counters(iteration=8), True),
        ({}, Counters(iteration=7), False),
        ({"minutes": 2.0}, Counters(iteration=8, seconds=121.0), True),  # an evaluation took the rest of the time
        ({"minutes": 2.0}, Counters(iteration=800, seconds=119.0), False),
        ({"minutes": 0.5}, Counters(iteration=1, seconds=40.0, compile_seconds=35.0), True),
        ({"games": 100}, Counters(iteration=2, games=100), True),
        ({"loss_target": 0.5}, Counters(iteration=2, loss=0.4), True),
        ({"minutes": 2.0, "checkpoints.resumable": 0}, Counters(iteration=8, seconds=121.0), True),
    ],
)
def test_a_run_is_finished_where_training_says_so(
    tmp_path: Path, length: dict[str, Any], counters: Counters, finished: bool
) -> None:
    training = Training.begin(tmp_path / "run", SMALL.changed(length))
    append(training.run.path, line(counters.iteration, progress=0.68))  # without the evaluation of the iteration
    training.counters = counters
    finish(training, [])
    summary = Runs(tmp_path).summary("run")
    assert (training.progress == 1.0, summary["state"] == "finished") == (finished, finished)
    assert summary["progress"] == round(training.progress, 5)


def test_a_finished_run_that_was_extended_is_not_finished(tmp_path: Path) -> None:
    training = Training.begin(tmp_path / "run", SMALL)
    training.counters = Counters(iteration=8)
    finish(training, [])
    append(training.run.path, line(8, progress=1.0))
    runs = Runs(tmp_path)
    assert runs.summary("run")["state"] == "finished"
    training.extend(iterations=8)  # and stopped before the first iteration
    assert (runs.summary("run")["state"], runs.summary("run")["progress"]) == ("stopped", 0.5)


@pytest.mark.parametrize(
    ("name", "content", "problem"),
    [
        ("config.toml", b"game = \n", "cannot be read"),
        ("config.toml", b"\xff\xfe", "cannot be read: "),
        ("config.toml", b"game = 5\n", "does not name its game"),
        ("config.toml", None, "has no config.toml"),
        ("config.toml", b"x = " + b"[" * 100_000, "cannot be read"),
    ],
)
def test_a_damaged_run_is_listed_with_its_problem(folder: Path, name: str, content: bytes | None, problem: str) -> None:
    path = folder / "one" / name
    path.unlink()
    if content is not None:
        path.write_bytes(content)
    runs = Runs(folder)
    found = {run["name"]: run for run in runs.listed()}["one"]
    assert found["state"] == "damaged" and problem in found["problem"]
    assert runs.detail("one")["problem"] == found["problem"]
    assert [agent.id for agent in runs.agents(make("tictactoe"))] == ["run:two@1", "run:two@2"]


def test_damaged_metrics_and_foreign_files_do_not_matter(folder: Path) -> None:
    with (folder / "one" / "metrics.jsonl").open("ab") as file:
        file.write(b'{"iteration": 9, "lo')
    (folder / "notes").mkdir()
    (folder / "file.txt").write_text("x")
    (folder / ".hidden").mkdir()
    (folder / "link").symlink_to("/etc")
    runs = Runs(folder)
    assert sorted(runs.names()) == ["one", "two"]
    assert runs.summary("one")["iteration"] == 3


def test_details_have_settings_curves_checkpoints_and_strength(page: TestClient, folder: Path) -> None:
    side = {"score": 0.75, "low": 0.6, "high": 0.9, "games": 40}
    append(folder / "one", line(4, agreement_search=0.9, matches={"random": side}))
    found = page.get("/api/v1/runs/one").json()
    assert found["settings"] == {"game": "tictactoe", "recipe": "tictactoe", "seed": 1, "search.simulations": 16}
    assert found["series"]["loss"] == {"x": [1, 2, 3, 4], "seconds": [10, 20, 30, 40], "y": [1, 1 / 2, 1 / 3, 1 / 4]}
    assert found["series"]["matches.random"] | {"seconds": []} == {
        "x": [4],
        "seconds": [],
        "y": [0.75],
        "low": [0.6],
        "high": [0.9],
    }
    assert found["strength"] == [{"opponent": "random", "iteration": 4, **side}]
    assert found["checkpoints"] == [
        {"iteration": 1, "seconds": 10.0, "agent": "run:one@1"},
        {"iteration": 2, "seconds": 20.0, "agent": "run:one@2"},
    ]
    assert found["agreement"] == 0.9


def test_two_runs_are_compared_settings_first(page: TestClient) -> None:
    found = page.get("/api/v1/runs/compare", params={"a": "one", "b": "two"}).json()
    assert next(iter(found)) == "settings"
    assert found["settings"] == [{"key": "search.simulations", "a": 16, "b": 32}]


def test_a_length_in_minutes_replaces_one_in_iterations(folder: Path) -> None:
    for name, length in (("one", "minutes = 5.5\niterations = 120"), ("two", "minutes = 5.5\niterations = 400")):
        (folder / name / "config.toml").write_text(f'{length}\ngame = "tictactoe"\n', encoding="utf-8")
    assert Runs(folder).compare("one", "two")["settings"] == []
    (folder / "two" / "config.toml").write_text('minutes = 0.0\niterations = 400\ngame = "tictactoe"\n')
    assert Runs(folder).compare("one", "two")["settings"] == [
        {"key": "minutes", "a": 5.5, "b": 0.0},
        {"key": "iterations", "a": None, "b": 400},
    ]


def test_self_play_games_of_a_checkpoint(page: TestClient) -> None:
    found = page.get("/api/v1/runs/one/games").json()
    assert found["games"] == [{"moves": "b2 a2 a1 c3 c1 a3 b1", "scores": [1.0, -1.0]}] and found["checkpoint"] == 2
    assert page.get("/api/v1/runs/one/games", params={"checkpoint": 1}).json()["games"] == []


def test_a_checkpoint_is_an_opponent(page: TestClient) -> None:
    games = {game["id"]: game for game in page.get("/api/v1/catalog").json()["games"]}
    own = [level["id"] for level in games["tictactoe"]["levels"] if level["group"] == "runs"]
    assert sorted(own) == ["run:one@1", "run:one@2", "run:two@1", "run:two@2"]
    state = start(page, "tictactoe", "run:one@2", None)
    assert wait(page, state["id"])["position"]["ply"] == 1


def test_an_agent_whose_weights_are_damaged_is_a_problem_of_its_game(page: TestClient, folder: Path) -> None:
    (folder / "one" / "checkpoints" / "1" / networks.WEIGHTS).write_bytes(b"no weights")
    state = start(page, "tictactoe", "run:one@1", None)
    until = time.monotonic() + 300
    while (shown := page.get(f"/api/v1/games/{state['id']}").json())["problem"] is None and time.monotonic() < until:
        time.sleep(0.05)
    assert shown["problem"].startswith("run:one@1 cannot play:")
    changed = page.post(f"/api/v1/games/{state['id']}/level", json={"seat": 0, "agent": "classical:random"})
    assert changed.json()["problem"] is None and wait(page, state["id"])["position"]["ply"] == 1


def test_a_game_outlives_the_run_of_its_agent(page: TestClient, folder: Path) -> None:
    state = start(page, "tictactoe", None, "run:one@2")
    shutil.rmtree(folder / "one")
    action = state["position"]["legal"][0]["action"]
    after = page.post(f"/api/v1/games/{state['id']}/moves", json={"ply": 0, "action": action}).json()
    assert after["seats"][1]["name"] == "one, iteration 2"  # as when the game started
    until = time.monotonic() + 300
    while (shown := page.get(f"/api/v1/games/{state['id']}").json())["problem"] is None and time.monotonic() < until:
        time.sleep(0.05)
    assert "There is no agent 'run:one@2'" in shown["problem"]
    changed = page.post(f"/api/v1/games/{state['id']}/level", json={"seat": 1, "agent": "classical:random"})
    assert changed.status_code == 200 and wait(page, state["id"])["position"]["ply"] == 2


def test_new_lines_and_states_are_streamed(folder: Path) -> None:
    async def follow() -> list[tuple[str, Any]]:
        found, changes = [], _changes(Runs(folder), "one", after=2)
        async for event in changes:
            found.append(event)
            if len(found) == 2:
                append(folder / "one", line(4, progress=1.0))
            if len(found) == 4:
                return found
        return found

    with ThreadPoolExecutor(1) as pool:  # Playwright may keep a loop running in this thread
        found = pool.submit(lambda: run(asyncio.wait_for(follow(), 120))).result()
    assert [(name, content.get("iteration")) for name, content in found] == [
        ("metrics", 3),
        ("state", 3),
        ("metrics", 4),
        ("state", 4),
    ]
    assert [content["state"] for name, content in found if name == "state"] == ["stopped", "finished"]


def test_a_run_that_is_deleted_while_it_is_followed_ends_the_stream(folder: Path) -> None:
    async def follow() -> list[tuple[str, Any]]:
        found = []
        async for event in _changes(Runs(folder), "one", after=3):
            found.append(event)
            shutil.rmtree(folder / "one")
        return found

    with pytest.raises(NotFound, match="no run one"):
        run(asyncio.wait_for(follow(), 60))


def test_a_run_that_is_not_listed_is_followed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The list has the newest runs only."""
    monkeypatch.setattr(runs_module, "_MOST_RUNS", 0)

    async def first() -> tuple[str, Any]:
        return await anext(_changes(Runs(folder), "one", after=3))

    name, state = run(first())
    assert (name, state["state"], state["iteration"]) == ("state", "stopped", 3)


def test_what_cannot_be_trained_is_refused(page: TestClient) -> None:
    for path, body, status in (
        ("/api/v1/runs", {"game": "nothing", "recipe": "tictactoe"}, 404),
        ("/api/v1/runs", {"game": "tictactoe", "recipe": "--out"}, 422),
        ("/api/v1/runs", {"game": "tictactoe", "recipe": "connect4-laptop"}, 422),
        ("/api/v1/runs", {"game": "tictactoe", "recipe": "tictactoe", "name": "../x"}, 422),
        ("/api/v1/runs", {"game": "tictactoe", "recipe": "tictactoe", "name": "one"}, 422),
        ("/api/v1/runs/one/stop", {}, 404),
        ("/api/v1/runs/two/resume", {}, 422),
        ("/api/v1/runs/nothing/resume", {}, 404),
    ):
        answer = page.post(path, json=body)
        assert answer.status_code == status and answer.json()["detail"], answer.text
    assert len(page.get("/api/v1/runs").json()["runs"]) == 2


def test_recipes_start_with_the_one_for_the_game(page: TestClient) -> None:
    found = page.get("/api/v1/recipes", params={"game": "tictactoe"}).json()
    assert {"name", "about", "expect", "device", "minutes"} == set(found[0])
    assert "tictactoe" in [recipe["name"] for recipe in found]


def test_what_the_page_says_about_a_recipe_names_no_options_and_paths() -> None:
    for name in shelf.names():
        assert not re.search(r"--[a-z]|\.md|docs/", shelf.load(name).about), name


def test_many_points_are_thinned_and_the_last_stays() -> None:
    curve = series([line(number) for number in range(1, 2001)])["loss"]
    assert len(curve["x"]) <= 500 and curve["x"][-1] == 2000
    assert flat({"a": float("inf"), "b": {"c": [1, 2]}}) == {"b.c": "[1, 2]"}


@pytest.mark.long
def test_tic_tac_toe_is_trained_from_the_page_until_it_cannot_be_beaten(page: TestClient, folder: Path) -> None:
    body = {"game": "tictactoe", "recipe": "tictactoe", "seed": 0, "name": "new"}
    assert page.post("/api/v1/runs", json=body).json()["state"] == "starting"
    assert page.post("/api/v1/runs", json=body | {"name": "other"}).status_code == 422  # one at a time
    state = _wait_for(page, "new", lambda run: run["iteration"] > 5)
    assert state["state"] == "training"
    stopped = page.post("/api/v1/runs/new/stop").json()
    assert stopped["state"] == "stopped" and stopped["checkpoints"] >= 1 and stopped["problem"] is None
    assert page.post("/api/v1/runs/new/resume").json()["problem"] is None
    finished = _wait_for(page, "new", lambda run: run["state"] == "finished")
    assert finished["iteration"] == 120 and page.get("/api/v1/runs/new/games").json()["games"]
    proof = page.get("/api/v1/runs/new/proof").json()
    assert proof["proved"] and proof["text"].startswith("Proved: none of")
    estimate = page.get("/api/v1/runs/estimate", params={"game": "tictactoe", "recipe": "tictactoe"}).json()
    assert estimate["minutes"] > 0 and estimate["positions"] > 0 and estimate["text"]


def _wait_for(page: TestClient, name: str, reached: Any) -> dict[str, Any]:
    until = time.monotonic() + 3000
    while time.monotonic() < until:
        runs = {run["name"]: run for run in page.get("/api/v1/runs").json()["runs"]}
        if name in runs and reached(runs[name]):
            return runs[name]
        assert runs.get(name, {}).get("problem") is None or runs[name]["state"] in ("starting", "training"), runs[name]
        time.sleep(0.2)
    raise AssertionError("The run did not get there.")
