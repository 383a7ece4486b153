"""Parts of a study on the actors of a cluster, without a shared file system.

A part travels as its name, with an archive of the finished parts that it needs. It runs in a directory of its own, and
what it found comes back as an archive: result, games and weights, but no run directory. If an actor dies, its part
starts again on another.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from functools import partial
from pathlib import Path
from typing import NamedTuple

from tabia.cluster.jobs import Job, Report, Runner
from tabia.studies import packing, registry
from tabia.studies.directory import RUN, StudyDirectory
from tabia.studies.estimates import StudyError
from tabia.studies.part import NoControl, Part, fraction
from tabia.studies.runner import Observe, Run, refuse_if_never, run_part, select
from tabia.studies.study import S, Study

_MOST_NAMES = 3  # of parts in progress that are shown


class StudySpec(NamedTuple):
    """Which study the parts belong to."""

    name: str
    scale: str
    seed: int


class PartSpec(NamedTuple):
    """A part to run, and what it needs."""

    part: str
    archive: bytes


class PartWork:
    """Runs parts of one study, each in a directory that is removed afterward."""

    def __init__(self, spec: StudySpec) -> None:
        study = registry.load(spec.name)
        self._parts = {part.name: part for part in study.parts(study.scale(spec.scale), spec.seed)}

    def run(self, spec: PartSpec, report: Report) -> bytes:
        """An archive of what the part found."""
        with tempfile.TemporaryDirectory(prefix="tabia-study-") as folder:
            directory = StudyDirectory(Path(folder))
            packing.add(spec.archive, directory)
            run_part(self._parts[spec.part], directory, _Reporting(report))
            return packing.collect(directory, [spec.part])


class _Reporting(NoControl):
    """The control of a part on an actor: reports progress; a signal ends the actor."""

    def __init__(self, report: Report) -> None:
        self._report = report

    def progress(self, done: float, total: float) -> None:
        self._report(fraction(done, total))


def run_remote(
    study: Study[S],
    directory: StudyDirectory,
    scale: S,
    runner: Runner,
    *,
    seed: int = 0,
    only: Sequence[str] = (),
    slim: bool = False,
    observe: Observe = lambda part, done, total: None,
) -> Run:
    """Run the selected parts that are not finished yet, as `runner.run` does, wherever `runner` runs them."""
    parts = select(study.parts(scale, seed), only)
    directory.open(study.name, study.version, scale.name, seed)
    result = Run()
    with ExitStack() as claims:
        left = {part.name: part for part in parts if _is_left(part, parts, directory, result, claims)}
        jobs = [
            Job(name, partial(_specify, part, directory), needs=tuple(need for need in part.needs if need in left))
            for name, part in left.items()
        ]
        with closing(runner(jobs, _Shown(parts, directory, observe))) as results:
            for name, archive in results:
                packing.add(archive, directory)
                result.finished.append(name)
    if slim:
        for part in parts:
            directory.slim(part.name)
    return result


def _is_left(part: Part, parts: Sequence[Part], directory: StudyDirectory, result: Run, claims: ExitStack) -> bool:
    """Whether a part is to be run here; it is then kept from other processes."""
    if directory.finished(part.name):
        result.finished.append(part.name)
        return False
    coming = {other.name for other in parts} - {*result.elsewhere, *result.waiting}
    missing = [need for need in part.needs if need not in coming and not directory.finished(need)]
    if missing:
        refuse_if_never(part, missing, result, directory)
        result.waiting.append(part.name)
        return False
    if not claims.enter_context(directory.claimed(part.name)):
        result.elsewhere.append(part.name)
        return False
    if directory.finished(part.name):  # by another process, a moment ago
        result.finished.append(part.name)
        return False
    if (directory.folder(part.name) / RUN).is_dir():
        raise StudyError(
            f"The training run of {part.name} started here and does not travel. Finish it without --ray: --only "
            f"{part.name}; or remove {directory.folder(part.name) / RUN}."
        )
    return True


def _specify(part: Part, directory: StudyDirectory) -> PartSpec:
    return PartSpec(part.name, packing.collect(directory, part.needs, [part.name]))


class _Shown:
    """Turns the fractions of the parts in progress into the progress of the study."""

    def __init__(self, parts: Sequence[Part], directory: StudyDirectory, observe: Observe) -> None:
        self._costs, self._directory, self._observe = {part.name: part.cost for part in parts}, directory, observe

    def __call__(self, running: Mapping[str, float]) -> None:
        done = sum(cost for name, cost in self._costs.items() if self._directory.finished(name))
        partly = sum(self._costs[name] * fraction for name, fraction in running.items())
        names = [*list(running)[:_MOST_NAMES], *(["..."] if len(running) > _MOST_NAMES else [])]
        self._observe(", ".join(names), done + partly, sum(self._costs.values()))
