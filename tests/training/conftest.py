"""A tiny run of tic-tac-toe with all observers, shared by the tests that only read it."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import pytest
from rich.console import Console

from tabia.cli import training_panel
from tabia.cli.training_display import JsonLines, Live, Plain
from tabia.networks.presets import mlp
from tabia.training.config.schema import (
    CheckpointSettings,
    Config,
    EvaluationSettings,
    LearnerSettings,
    ReplaySettings,
    SearchSettings,
    SelfPlaySettings,
)
from tabia.training.evaluate import Evaluate
from tabia.training.loop import train
from tabia.training.observers import BaseObserver
from tabia.training.run.directory import RunDirectory
from tabia.training.run.metrics import Machine, Metrics
from tabia.training.run.stored_games import StoredGames
from tabia.training.training import Training

collect_ignore = ["devices_script.py"]  # a program of its own, run by `test_devices`
TINY = Config(
    game="tictactoe",
    iterations=4,
    network=mlp(16, batch_norm=False),
    search=SearchSettings(simulations=4, considered_actions=4),
    selfplay=SelfPlaySettings(games=16, plies=8, opening_moves=4),
    replay=ReplaySettings(positions=512, min_positions=150),
    learner=LearnerSettings(steps=2, batch_size=16),
    evaluation=EvaluationSettings(every=2, opponents=("random",), games=4, simulations=0, positions=20),
    checkpoints=CheckpointSettings(every=2, games=5),
)


@dataclass
class Watched:
    """A run, and the output of its displays."""

    run: RunDirectory
    training: Training
    why: str
    plain: str
    json: list[str]
    terminal: str
    phases: list[str]
    panels: dict[int, str]  # by iteration


class _Panels(BaseObserver):
    """Keeps the panel of 80 columns after each iteration."""

    def __init__(self, live: Live) -> None:
        self.live, self.found = live, {}

    def on_start(self, training):
        self.take(0)

    def on_iteration(self, training, result):
        self.take(training.counters.iteration)
        return {}

    def take(self, iteration):
        page = Console(file=io.StringIO(), width=80)
        page.print(training_panel.panel(self.live.view))
        self.found[iteration] = page.file.getvalue()


@pytest.fixture(scope="session")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Watched:
    run = RunDirectory(tmp_path_factory.mktemp("runs") / "tiny")
    training = Training.begin(run, TINY)
    phases: list[str] = []
    enter, training.enter = training.enter, lambda phase: (phases.append(phase), enter(phase))
    terminal, plain, lines = io.StringIO(), io.StringIO(), []
    with Live(Console(file=terminal, width=80, force_terminal=True)) as live:
        panels = _Panels(live)
        others = [Machine(), Evaluate(), Metrics(), StoredGames()]
        why = train(training, [*others, live, panels, Plain(every=0.0, file=plain), JsonLines(lines.append)])
    return Watched(
        run=run,
        training=training,
        why=why,
        plain=plain.getvalue(),
        json=lines,
        terminal=terminal.getvalue(),
        phases=phases,
        panels=panels.found,
    )


@pytest.fixture
def unfinished(tmp_path: Path) -> RunDirectory:
    """A run that has only its configuration."""
    run = RunDirectory(tmp_path / "unfinished")
    run.create(TINY)
    return run
