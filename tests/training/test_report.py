"""The report of a run: everything in it comes from the run directory."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pytest

from tabia.core import plotting
from tabia.evaluation.records import Record
from tabia.games import make
from tabia.training.report import ratings, report, series
from tabia.training.run import metrics, stored_games
from tabia.training.run.directory import RunDirectory
from tabia.training.training import Training


@pytest.fixture(scope="module")
def written(watched) -> Path:
    return report.write_report(watched.run)


def test_the_report_has_every_figure_it_names(watched, written) -> None:
    text = written.read_text(encoding="utf-8")
    named = re.findall(r"!\[\w+\]\((.+?)\)", text)
    drawn = {f"figures/{path.name}" for path in (watched.run.path / "figures").iterdir()}
    assert set(named) == drawn and len(named) == len(drawn)
    assert drawn == {
        f"figures/{name}.svg"
        for name in ("losses", "entropy", "games", "strength", "perfect", "openings", "agreement", "ratings")
    }


def test_the_report_says_what_was_run_and_measured(watched, written) -> None:
    text, last = written.read_text(encoding="utf-8"), metrics.read(watched.run)[-1]
    assert "| game | tictactoe, version 1" in text and "4 iterations" in text
    assert f"{last['total_games']:,} games, {last['positions']:,} positions" in text
    assert f"jax {metrics.describe_machine()['versions']['jax']}" in text
    side = last["matches"]["random"]
    assert f"{side['score']:.1%} ({side['low']:.1%} to {side['high']:.1%})" in text
    assert f"| {last['agreement_network']:.1%} | {last['agreement_search']:.1%} |" in text
    assert f"{last['loss_policy']:.4f}" in text
    assert "## Games" in text and "  a b c" in text and "1. " in text


def test_the_same_run_gives_the_same_report_without_playing_again(watched, written, monkeypatch) -> None:
    before = {path: path.read_bytes() for path in [written, *(watched.run.path / "figures").iterdir()]}
    played = ratings.play_tournament

    def replayed(tournament, *, done, watch):
        wanted = sum(match.rounds * len(match.seatings) for match in tournament.matches)
        assert len(done) == wanted and all(record.finished for record in done)
        return played(tournament, done=done, watch=watch)

    monkeypatch.setattr(ratings, "play_tournament", replayed)
    report.write_report(watched.run)
    assert {path: path.read_bytes() for path in before} == before


def test_without_matplotlib_there_are_only_tables(watched, written, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    assert not plotting.available()
    text = report.write_report(watched.run, rate=False).read_text(encoding="utf-8")
    assert "pip install 'tabia[plots]'" in text and "![" not in text
    assert "| iteration | policy loss |" in text and "No ratings: they were switched off" in text


def test_a_run_without_iterations_is_reported_as_such(unfinished: RunDirectory) -> None:
    text = report.write_report(unfinished).read_text(encoding="utf-8")
    assert "No iteration is finished yet" in text and "![" not in text


def test_every_figure_is_by_iteration_or_minute(watched, written) -> None:
    """Matplotlib writes the text of a label as a comment beside its outlines."""
    for path in (watched.run.path / "figures").iterdir():
        comments = re.findall(r"<!-- (.+?) -->", path.read_text(encoding="utf-8"))
        wanted = "training time, minutes" if path.stem in ("strength", "perfect") else "iteration"
        assert wanted in comments and not ({"iteration", "training time, minutes"} - {wanted}) & set(comments), (
            path.name
        )


def test_strength_is_reported_by_the_minute(watched, written) -> None:
    text, lines = written.read_text(encoding="utf-8"), [line for line in metrics.read(watched.run) if "matches" in line]
    for line in lines:
        side = line["matches"]["random"]
        score = f"{side['score']:.1%} ({side['low']:.1%} to {side['high']:.1%})"
        assert f"| {line['seconds'] / 60:.1f} | {line['iteration']} | {score} |" in text
    assert "Strength after" in text and "iteration 4 (" in text


def test_the_latest_value_is_the_newest_and_means_are_labeled(watched, tmp_path: Path) -> None:
    """Thirty iterations whose policy loss is their number."""
    run = RunDirectory(tmp_path / "run")
    run.create(watched.training.config)
    whole = metrics.read(watched.run)[-1]
    lines = [whole | {"iteration": number, "loss_policy": float(number)} for number in range(1, 31)]
    run.metrics.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    text = report.write_report(run, rate=False).read_text(encoding="utf-8")
    assert "|  | latest (iteration 30) | mean of the last 20 |" in text
    assert "| policy loss (KL divergence from the target, nats) | 30.0000 | 20.5000 |" in text
    assert "cross-entropy minus the entropy of the target" in text


def test_curves_keep_the_mean_and_openings_sum_to_one() -> None:
    dice = np.random.default_rng(0)
    lines = [
        {
            "iteration": iteration,
            "draws": float(dice.random()),
            "first_moves": {str(move): int(dice.integers(0, 9)) for move in range(12)},
        }
        for iteration in range(1, 401)
    ]
    thin = series.curve(lines, "draws", most=100)
    assert len(thin.iterations) == 100
    assert thin.values.mean() == pytest.approx(np.mean([line["draws"] for line in lines]))
    fractions, moves = series.openings(lines, bands=5, most=10)
    assert fractions.values.shape == (10, 6) and fractions.values.sum(axis=1) == pytest.approx(np.ones(10))
    assert moves[-1] is None and moves[:-1] == sorted(moves[:-1])
    totals = np.array([list(line["first_moves"].values()) for line in lines]).sum(axis=0)
    assert len(set(moves[:-1]) & set(np.argsort(-totals)[:6])) >= 4
    assert series.openings([{"iteration": 1, "first_moves": {}}])[1] == []
    assert [line["iteration"] for line in series.spread(lines, 3)] == [1, 201, 400]


def test_moves_are_numbered_by_rounds_for_any_number_of_seats() -> None:
    game = make("connect:rows=3,columns=3,line=3,players=3")
    record = Record(game.id, game.version, ("x",) * 3, ("1", "2", "3", "1", "2"), (0.0, 0.0, 0.0), end="unfinished")
    assert stored_games.notation(game, record) == "1. 1 2 3 2. 1 2"


def test_machines_are_noted_from_the_iteration_they_took_over(watched) -> None:
    (first,) = metrics.read_machines(watched.run)
    assert first["from_iteration"] == 0 and first["device"] and first["versions"]["jax"]
    path = watched.run.path / metrics.MACHINE
    before = path.read_bytes()
    metrics.Machine().on_start(Training.resume(watched.run))
    assert [entry["from_iteration"] for entry in metrics.read_machines(watched.run)] == [0, 4]
    path.write_text(json.dumps({"odd": 1}), encoding="utf-8")
    assert metrics.read_machines(watched.run) == []
    path.write_bytes(before)
