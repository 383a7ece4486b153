"""Every study declares all that it must, and runs at its smallest scale."""

from __future__ import annotations

import csv
import importlib
import pkgutil
from dataclasses import replace
from pathlib import Path

import pytest

from tabia.studies import catalog, registry, report, runner
from tabia.studies.directory import StudyDirectory
from tabia.studies.estimates import StudyError
from tabia.studies.part import Measurement, Outcome
from tabia.studies.study import SCALES, Source, problems

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
