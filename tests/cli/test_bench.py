"""`tabia bench`: rows, JSON and the report, and the random play and rollouts that it measures."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from tabia.benchmarks import games as bench
from tabia.benchmarks import rollouts, scaling
from tabia.cli.main import app
from tabia.cluster.model import MEMORY, Costs, Line, Workload
from tabia.core.errors import TabiaError
from tabia.evaluation.rounds import draw_openings
from tabia.games import make
from tabia.search import Search, Uct
from tabia.search.evaluators import Rollout
from tabia.training.plan import Plan

BRISK = bench.Effort(repeats=1, seconds=0.01)


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "QUICK", BRISK)


@pytest.mark.usefixtures("brisk")
def test_games_are_compared_with_pgx_if_it_has_them(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    words = ["bench", "games", "tictactoe", "connect3", "--quick", "--batch", "8", "--json", "--out", str(out)]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    shared, alone = json.loads(result.stdout)
    assert shared["game"] == "tictactoe" and shared["batch"] == 8 and shared["ours"] > 0
    assert shared["ratio"] == pytest.approx(shared["ours"] / shared["pgx"])
    assert alone["pgx"] is None and alone["ratio"] is None
    report = json.loads(out.read_text())
    assert report["rows"] == [shared, alone]
    assert {
        "command",
        "date",
        "commit",
        "device",
        "processor",
        "cores",
        "load",
        "python",
        "versions",
        "method",
    } < report.keys()


@pytest.mark.usefixtures("brisk")
def test_the_table_has_one_row_per_game() -> None:
    result = CliRunner().invoke(app, ["bench", "games", "connect3", "--quick", "--batch", "4"])
    assert result.exit_code == 0
    assert any(line.split()[0] == "connect3" for line in result.stdout.splitlines() if line.strip())


def test_an_unknown_game_is_refused() -> None:
    result = CliRunner().invoke(app, ["bench", "games", "conect3"])
    assert result.exit_code == 2 and "connect3" in result.stderr


def test_random_play_is_uniform_over_legal_actions() -> None:
    legal = jnp.array([True, False, True, True, False, False, True])
    seeds = jax.vmap(bench.xorshift)(jnp.arange(1, 40_001, dtype=jnp.uint32))
    counts = np.bincount(np.asarray(jax.vmap(lambda seed: bench._pick(legal, seed))(seeds)), minlength=7)
    assert counts[~np.asarray(legal)].sum() == 0
    # Four actions, 10,000 expected for each: five standard deviations are 433.
    assert np.abs(counts[np.asarray(legal)] - 10_000).max() < 433


def test_random_play_restarts_finished_games() -> None:
    game = make("connect3")
    loop, carry = bench._compiled(bench._ours(game), 64)
    for _ in range(3):
        carry = loop(carry)
        snapshots, _ = carry
        assert (np.asarray(snapshots.legal).any(axis=1) != np.asarray(snapshots.over)).all()
        # Every game has made a move, also those that were over before.
        assert np.asarray(snapshots.state.moves).min() >= 1
    # Twelve fields at most and restarts at different times: now the games are at different plies.
    assert len(np.unique(np.asarray(snapshots.state.moves))) > 3


def test_rollouts_are_compared_with_open_spiel(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = rollouts.run(batch=4, simulations=(8, 16), repeats=1)
    assert (first.simulations, second.simulations, first.batch) == (8, 16, 4)
    assert first.open_spiel is not None and first.ratio == pytest.approx(first.ours / first.open_spiel)
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    (alone,) = rollouts.run(batch=4, simulations=(8,), repeats=1)
    assert alone.ours > 0 and alone.open_spiel is None and alone.ratio is None


def test_both_sides_run_all_simulations_on_the_same_positions() -> None:
    game = make("connect4")
    openings = draw_openings(game, 3, moves=6)
    (ask,) = rollouts._open_spiel(openings, 50)
    assert ask() == [50, 50, 50]
    search = Search(game, Rollout(game), 50, Uct(1.4))
    states = rollouts._states(game, openings)
    assert np.asarray(rollouts._ours(search, states)).sum(axis=1).tolist() == [50, 50, 50]
    assert np.asarray(states.moves).tolist() == [6, 6, 6]


def test_networks_are_measured_by_name(tmp_path: Path) -> None:
    out = tmp_path / "report.json"
    result = CliRunner().invoke(app, ["bench", "networks", "mlp", "--batch", "4", "--json", "--out", str(out)])
    assert result.exit_code == 0, result.output
    row = json.loads(result.stdout)
    assert row["network"] == "mlp" and row["batch"] == 4 and min(row["forward"], row["training"]) > 0
    assert json.loads(out.read_text())["rows"] == [row]
    unknown = CliRunner().invoke(app, ["bench", "networks", "mpl"])
    assert unknown.exit_code == 2 and "mlp" in unknown.stderr


def test_scaling_takes_the_sizes_of_an_iteration_from_the_settings() -> None:
    fast = ["search.fast_simulations=8", "search.full_search_fraction=0.25"]
    found = scaling.workload(Plan(scaling.configuration("connect3", fast)))
    assert found == Workload(lanes=256, plies=8, simulations=14, steps=24, batch_size=256)  # 0.25 * 32 + 0.75 * 8
    epochs = ["learner.epochs=2", "learner.sample_positions=1024"]
    assert scaling.workload(Plan(scaling.configuration("connect3", epochs))).steps == 2 * 1024 // 256
    with pytest.raises(TabiaError, match="steps_per_game"):
        scaling.workload(Plan(scaling.configuration("connect3", ["learner.steps_per_game=1"])))


def test_scaling_lists_the_plain_loop_first() -> None:
    """Without fixed costs, transfers and a learner, N devices or actors are N times as fast."""
    costs = Costs(simulation=Line(0.0, 1e-3), network=Line(0.0, 0.0), step=Line(0.0, 0.0))
    work = Workload(lanes=64, plies=2, simulations=4, steps=1, batch_size=8)
    held = scaling.Measured("none", "cpu", work, costs)
    rows = list(scaling.predict(held, actors=[2], devices=[4], link=MEMORY, device_link=MEMORY))
    assert [row.what for row in rows] == ["1 device", "4 devices", "2 actors"]
    assert [row.speedup for row in rows] == pytest.approx([1.0, 4.0, 2.0])
    assert rows[0].to_dict()["iteration"] == pytest.approx(2 * 4 * 64e-3)


@pytest.mark.parametrize("command", ["first-move", "moves"])
def test_an_unknown_agent_is_refused(command: str) -> None:
    result = CliRunner().invoke(app, ["bench", command, "nobody"])
    assert result.exit_code == 2 and "There is no agent 'nobody'. " in result.stderr


@pytest.mark.long
def test_a_warm_cache_shortens_the_first_move() -> None:
    result = CliRunner().invoke(app, ["bench", "first-move", "tictactoe", "--json"])
    assert result.exit_code == 0, result.output
    row = json.loads(result.stdout)
    assert row["agent"] == row["game"] == "tictactoe"
    assert 0 < row["warm"]["cpu"] < row["empty"]["cpu"]


@pytest.mark.long
def test_recipes_are_measured_and_finished_runs_kept(tmp_path: Path) -> None:
    """On a solved game, where the agreement with perfect play counts."""
    words = ["bench", "recipes", "tictactoe", "--minutes", "1", "--games", "10", "--runs", str(tmp_path), "--json"]
    first, again = (json.loads(CliRunner().invoke(app, words).stdout) for _ in range(2))
    assert first == again
    assert first["game"] == "tictactoe" and first["games"] == 10 and 0.8 < first["agreement"] <= 1.0


def test_moves_are_measured_for_every_way_to_evaluate() -> None:
    words = ["bench", "moves", "connect4-laptop", "--batch", "2", "--simulations", "4", "--moves", "3"]
    words += ["--repeats", "1", "--json"]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["evaluation"] for row in rows] == ["plain convolutions", "default", "int8, no cache", "int8"]
    assert rows[0]["ratio"] == rows[0]["cpu_ratio"] == 1.0
    for row in rows:
        assert row["ratio"] == pytest.approx(row["moves"] / rows[0]["moves"])
        assert row["cpu_ratio"] == pytest.approx(rows[0]["cpu"] / row["cpu"])
    assert [row["hits"] is None for row in rows] == [True, True, True, False]
    assert 0 <= rows[-1]["hits"] < 1
