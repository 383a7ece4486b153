"""Every study declares all that it must, and runs at its smallest scale."""

from __future__ import annotations

import csv
import importlib
import pkgutil
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from pathlib import Path

import jax
import numpy as np
import pytest

from tabia.games import make
from tabia.networks import weights
from tabia.studies import catalog, registry, report, runner
from tabia.studies.catalog import tictactoe_training
from tabia.studies.directory import StudyDirectory
from tabia.studies.estimates import StudyError
from tabia.studies.part import Measurement, Outcome, Save, Stopped
from tabia.studies.parts.mini_alphago import count_nodes
from tabia.studies.study import SCALES, Source, problems
from tabia.studies.trainings import TrainingPart
from tabia.training import Config, metrics
from tabia.training.run.directory import RunDirectory

from .toy_study import STUDY

every_study = pytest.mark.parametrize("name", registry.names())


def test_every_module_of_the_catalog_is_a_study() -> None:
    modules = [module.name for module in pkgutil.iter_modules(catalog.__path__)]
    for module in modules:
        declared = importlib.import_module(f"{catalog.__name__}.{module}").STUDY
        assert registry.load(module.replace("_", "-")) is declared


@every_study
def test_it_declares_everything(name: str) -> None:
    study = registry.load(name)
    assert problems(study) == []
    assert study.source.authors == "Tabia" or study.published or study.claims
    assert "full" in study.scales[-1].name and all(scale.about for scale in study.scales)


@every_study
def test_its_training_runs_are_configured(name: str) -> None:
    """Recipes, variants and settings exist; the runs of one repeat have the same seed in every call."""
    study = registry.load(name)
    for scale in study.scales:
        runs = [part for part in study.parts(scale, 3) if isinstance(part, TrainingPart)]
        configs = [part.config() for part in runs]
        assert all(isinstance(config, Config) and config.evaluation.games == 0 for config in configs)
        again = [part.config() for part in study.parts(scale, 3) if isinstance(part, TrainingPart)]
        assert configs == again
        if scale.seeds > 1 and runs:
            assert len({config.seed for config in configs}) >= scale.seeds


@every_study
def test_it_runs_at_the_smallest_scale(name: str, tmp_path: Path) -> None:
    study, directory = registry.load(name), StudyDirectory(tmp_path / name)
    scale = study.scale("tiny")
    done = runner.run(study, directory, scale)
    assert done.finished == [part.name for part in study.parts(scale, 0)]
    written = report.write(study, directory)
    with written[0].open(newline="") as file:
        lines = list(csv.DictReader(file))
    assert sum(bool(line["value"]) for line in lines) and len(written) > 2
    assert all(line["verdict"] == "not comparable" for line in lines if line["published"])  # tiny proves nothing
    page = written[1].read_text()
    assert max(map(len, page.splitlines())) <= 120 and study.question.split()[0] in page


class StopAfter:
    """A control that asks a training run to stop after some iterations, as a signal does."""

    def __init__(self, iterations: int) -> None:
        self.left, self.saves = iterations, list[Save]()

    def progress(self, done: float, total: float) -> None:
        self.left -= 1
        if self.left == 0:
            self.saves[-1].training.stopping.append(2)  # type: ignore[attr-defined]

    def on_interrupt(self, save: Save, seconds: float) -> AbstractContextManager[None]:
        self.saves.append(save)
        return nullcontext()


def test_a_stopped_training_run_resumes_to_the_same_weights(tmp_path: Path) -> None:
    study = registry.load("tictactoe-training")
    scale = study.scale("tiny")
    whole, stopped = StudyDirectory(tmp_path / "whole"), StudyDirectory(tmp_path / "stopped")
    runner.run(study, whole, scale, only=["train-0"])
    with pytest.raises(Stopped):
        runner.run(study, stopped, scale, only=["train-0"], control=StopAfter(1))
    run = RunDirectory(stopped.folder("train-0") / "run")
    assert not stopped.finished("train-0") and [line["iteration"] for line in metrics.read(run)] == [1]
    runner.run(study, stopped, scale, only=["train-0"])
    assert [line["iteration"] for line in metrics.read(run)] == [1, 2]
    name = "weights/checkpoints/2/weights.safetensors"
    held = [jax.tree.leaves(weights.load(one.folder("train-0") / name).weights) for one in (whole, stopped)]
    assert all(np.array_equal(one, other) for one, other in zip(*held, strict=True)) and len(held[0]) > 5
    first, second = (one.result("train-0").outcome for one in (whole, stopped))
    values = [[one for one in found.estimates if one.key != tictactoe_training.MINUTES] for found in (first, second)]
    assert values[0] == values[1] and len(values[0]) == 2 and first.series == second.series


def test_a_slim_study_keeps_weights_and_goes_on_from_them(tmp_path: Path) -> None:
    study, directory = registry.load("tictactoe-training"), StudyDirectory(tmp_path / "study")
    runner.run(study, directory, study.scale("tiny"), only=["train-0"], slim=True)
    left = sorted(path.name for path in directory.folder("train-0").iterdir())
    assert left == ["result.json", "weights"]
    runner.run(study, directory, study.scale("tiny"))
    assert report.write(study, directory)


def test_what_is_not_declared_is_found() -> None:
    assert problems(STUDY) == []
    assert problems(replace(STUDY, question="")) == ["question is empty"]
    assert problems(replace(STUDY, figures=())) == ["figures is empty", "no figure shows 'wins'"]
    assert problems(replace(STUDY, scales=STUDY.scales[:2])) == [f"its scales are not {', '.join(SCALES)}"]
    without = replace(STUDY, parts=lambda scale, seed: STUDY.parts(scale, seed)[:1])
    assert problems(without) == ["no part measures 'wins'"]
    part = Measurement(name="Bad Name", keys=("k" * 60,), measure=lambda place: Outcome(), needs=("later",), seed=1)
    found = problems(replace(STUDY, parts=lambda scale, seed: [*STUDY.parts(scale, seed), part, part]))
    for problem in ("two parts are called", "not a name for files", "which comes later", "too long", "has seed 1"):
        assert any(problem in one for one in found), problem


def test_an_unknown_study_or_scale_is_answered_with_the_nearest() -> None:
    with pytest.raises(StudyError, match=r"no study 'bandit'\. Did you mean bandits"):
        registry.load("bandit")
    with pytest.raises(StudyError, match=r"no scale 'quik'\. Did you mean quick"):
        STUDY.scale("quik")
    assert str(Source("Tabia", "")) == "Tabia"


def test_the_nodes_of_the_tree_of_tic_tac_toe() -> None:
    """549,946 nodes and 5,478 positions are the well-known counts."""
    assert count_nodes(make("tictactoe")) == (549_946, 5_478)
