"""The displays of a run, on terminals, in pipes and as JSON."""

from __future__ import annotations

import copy
import io
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from tabia.cli import training_display
from tabia.cli.training_display import JsonLines, Live, Plain
from tabia.cli.training_panel import View
from tabia.training.pace import Pace
from tabia.training.run import metrics
from tabia.training.state import Counters
from tabia.training.training import Training


def test_the_loop_sets_its_phase(watched) -> None:
    one = ["playing", "learning"]
    assert watched.phases == ["compiling", "playing", *one, "evaluating", "saving", *one, *one, "evaluating", "saving"]
    assert watched.training.phase == "done" and watched.why == "finished"


def test_json_lines_are_the_metrics_with_events_between(watched) -> None:
    shown = [json.loads(line) for line in watched.json]
    assert [line["event"] for line in shown if "event" in line] == ["started", "saved", "saved", "ended"]
    assert [line for line in shown if "event" not in line] == metrics.read(watched.run)
    assert "compiling" in shown[0]["phase"] and shown[0]["game"] == "tictactoe"
    assert Path(shown[-2]["checkpoint"]).is_dir() and shown[-1]["why"] == "finished"
    assert shown[-1]["strength"]["iteration"] == 4 and "random" in shown[-1]["strength"]["matches"]


def test_plain_lines_announce_compilation_evaluations_and_checkpoints(watched) -> None:
    lines = watched.plain.splitlines()
    assert "tictactoe" in lines[0] and str(watched.run.path) in lines[0]
    assert "compiling" in lines[1] and "minute" in lines[1]
    for iteration in range(1, 5):
        assert any(line.startswith(f"iteration {iteration} |") and "positions/s" in line for line in lines)
    last = metrics.read(watched.run)[-1]
    against = next(line for line in lines if line.startswith("iteration 4 |") and "against random" in line)
    assert f"against random {last['matches']['random']['score']:.1%}" in against
    assert f"{last['agreement_search']:.1%} search" in against
    assert [line for line in lines if line.endswith("saved")] == ["iteration 2 | saved", "iteration 4 | saved"]
    assert lines[-1].startswith("finished after 4 iterations")
    page, short = io.StringIO(), replace(watched.training, counters=replace(watched.training.counters, iteration=1))
    Plain(file=page).on_end(short, "finished")
    assert page.getvalue().startswith("finished after 1 iteration,")


def test_plain_lines_are_limited_in_frequency(watched) -> None:
    page = io.StringIO()
    plain = Plain(every=1e9, file=page)
    plain.on_start(watched.training)
    result = type("Result", (), {"fields": lambda self: {"games": 1}})()
    for _ in range(3):
        plain.on_iteration(watched.training, result)
    assert page.getvalue().count("iteration 4 |") == 1


def test_the_panel_fits_80_columns_and_shows_everything(watched) -> None:
    for panel in watched.panels.values():
        assert all(len(line) == 80 for line in panel.splitlines())
    before, first, last = watched.panels[0], watched.panels[1], watched.panels[4]
    assert "preparing" in before and "can take a minute" in before and "none yet" in before
    assert "policy loss          -" in first
    line = metrics.read(watched.run)[-1]
    for words in ("games/s", "positions/s", "against random", "perfect play", "evaluated", "of target", "agreement"):
        assert words in last
    for number in (
        f"{line['loss_policy']:.3f}",
        f"{line['game_length']:.1f}",
        f"{line['scores'][0]:+.2f}",
        "iteration 2",
    ):
        assert number in last
    assert "100%" in last and "after iteration 4" in last


def test_the_cursor_is_hidden_while_it_runs_and_shown_again_whatever_happens(watched) -> None:
    assert watched.terminal.rindex("\x1b[?25h") > watched.terminal.rindex("\x1b[?25l")
    assert "done" in watched.terminal
    page = io.StringIO()
    with (
        pytest.raises(RuntimeError, match="out of memory"),
        Live(Console(file=page, width=80, force_terminal=True)) as live,
    ):
        live.on_start(watched.training)
        raise RuntimeError("out of memory")
    assert page.getvalue().rindex("\x1b[?25h") > page.getvalue().rindex("\x1b[?25l")


@pytest.mark.parametrize(
    ("phase", "line", "stopping", "shown"),
    [
        ("compiling", None, (), "compiling"),
        ("playing", {"iteration": 1}, (), "playing"),
        ("learning", {"iteration": 1, "loss_policy": 1.0}, (), "learning"),
        ("saving", {"iteration": 1}, (), "saving"),
        ("learning", {"iteration": 1, "loss_policy": 1.0}, (2,), "stopping"),
    ],
)
def test_the_panel_shows_the_phase(watched, phase, line, stopping, shown) -> None:
    training: Training = copy.copy(watched.training)
    training.phase, training.stopping = phase, stopping
    view = View(training)
    if line is not None:
        view.note(line)
    assert view.phase == shown


def test_speeds_are_recent_and_exclude_compilation(watched) -> None:
    pace = Pace()
    pace.note(Counters(iteration=0, seconds=0.0))
    pace.note(Counters(iteration=1, seconds=60.0, games=10, positions=100), reset=True)
    assert pace.per_second("games") is None
    for iteration in range(2, 102):
        pace.note(
            Counters(iteration=iteration, seconds=60.0 + iteration - 1, games=10 * iteration, positions=100 * iteration)
        )
    assert pace.per_second("games") == pytest.approx(10) and pace.per_second("positions") == pytest.approx(100)
    assert len(pace.marks) <= 32
    config = watched.training.config.changed({"iterations": 201})
    assert pace.left(config) == pytest.approx(100.0, abs=1.0)
    assert pace.left(config.changed({"minutes": 5.0})) == pytest.approx(300 - 160, abs=1.0)


def test_the_display_depends_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(training_display.display(True), JsonLines)
    for terminal, kind in ((True, Live), (False, Plain)):
        monkeypatch.setattr(
            sys, "stderr", type("Fake", (io.StringIO,), {"isatty": lambda self, is_it=terminal: is_it})()
        )
        assert isinstance(training_display.display(), kind)


def test_help_does_not_load_the_displays() -> None:
    code = "import sys, tabia.cli.main; sys.exit('jax' in sys.modules or 'tabia.cli.training_display' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
