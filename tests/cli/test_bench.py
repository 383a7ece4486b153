"""`tabia bench games`: rows, JSON, the report, and that the random play beneath is what it says."""

from __future__ import annotations

import json
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from typer.testing import CliRunner

from tabia.benchmarks import games as bench
from tabia.cli.main import app
from tabia.games import make

BRISK = bench.Effort(repeats=1, seconds=0.01)


@pytest.fixture
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench, "QUICK", BRISK)


@pytest.mark.usefixtures("brisk")
def test_a_row_compares_with_pgx_where_pgx_has_the_game(tmp_path: Path) -> None:
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
def test_the_table_names_game_and_speed() -> None:
    result = CliRunner().invoke(app, ["bench", "games", "connect3", "--quick", "--batch", "4"])
    assert result.exit_code == 0
    assert any(line.split()[0] == "connect3" for line in result.stdout.splitlines() if line.strip())


def test_an_unknown_game_is_refused() -> None:
    result = CliRunner().invoke(app, ["bench", "games", "conect3"])
    assert result.exit_code == 2 and "connect3" in result.stderr


def test_random_play_picks_legal_actions_evenly() -> None:
    legal = jnp.array([True, False, True, True, False, False, True])
    seeds = jax.vmap(bench.xorshift)(jnp.arange(1, 40_001, dtype=jnp.uint32))
    counts = np.bincount(np.asarray(jax.vmap(lambda seed: bench._pick(legal, seed))(seeds)), minlength=7)
    assert counts[~np.asarray(legal)].sum() == 0
    # Four kinds, 10,000 expected of each: five standard deviations are 433.
    assert np.abs(counts[np.asarray(legal)] - 10_000).max() < 433


def test_random_play_restarts_finished_games_and_never_stalls() -> None:
    game = make("connect3")
    loop, carry = bench._compiled(bench._ours(game), 64)
    for _ in range(3):
        carry = loop(carry)
        moments, _ = carry
        assert (np.asarray(moments.legal).any(axis=1) != np.asarray(moments.over)).all()
        # Each game has just made a move, even those that were over before it.
        assert np.asarray(moments.state.moves).min() >= 1
    # Twelve fields at most and restarts at different moments: by now the games stand at different plies.
    assert len(np.unique(np.asarray(moments.state.moves))) > 3
