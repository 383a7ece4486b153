"""Running a study: part after part, each stored when it is finished; what is stored is never computed again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.studies.clock import PartClock
from tabia.studies.directory import StudyDirectory, commit, device
from tabia.studies.estimates import StudyError
from tabia.studies.part import Control, NoControl, Outcome, Part, Place, Save, fraction
from tabia.studies.study import S, Study

Observe = Callable[[str, float, float], None]
"""Receives the name of the part in progress, the work done and the work in total."""


@dataclass
class Run:
    """What a call of `run` did."""

    finished: list[str] = field(default_factory=list)
    elsewhere: list[str] = field(default_factory=list)  # parts that another process is running
    waiting: list[str] = field(default_factory=list)  # parts that need one of those


def select(parts: Sequence[Part], patterns: Iterable[str]) -> list[Part]:
    """The parts whose names match any of the patterns, such as `width-7-*`; all without patterns."""
    chosen: list[Part] = []
    for pattern in patterns:
        found = [part for part in parts if fnmatchcase(part.name, pattern)]
        if not found:
            names = [part.name for part in parts]
            raise StudyError(f"There is no part {quote(pattern)}. {did_you_mean(pattern, names)}")
        chosen += [part for part in found if part not in chosen]
    return chosen or list(parts)


def run(
    study: Study[S],
    directory: StudyDirectory,
    scale: S,
    *,
    seed: int = 0,
    only: Sequence[str] = (),
    slim: bool = False,
    control: Control | None = None,
    observe: Observe = lambda part, done, total: None,
) -> Run:
    """Run the selected parts that are not finished yet; with `slim`, finished training runs keep only their weights."""
    parts = select(study.parts(scale, seed), only)
    directory.open(study.name, study.version, scale.name, seed)
    done, total = 0.0, sum(part.cost for part in parts)
    result = Run()
    for part in parts:
        observe(part.name, done, total)
        missing = [need for need in part.needs if not directory.finished(need)]
        if directory.finished(part.name):
            result.finished.append(part.name)
        elif missing:
            refuse_if_never(part, missing, result, directory)
            result.waiting.append(part.name)
        else:
            shown = _Shown(control or NoControl(), observe, part.name, done, part.cost, total)
            (result.finished if run_part(part, directory, shown) else result.elsewhere).append(part.name)
        if slim:
            directory.slim(part.name)
        done += part.cost
        observe(part.name, done, total)
    return result


def run_part(part: Part, directory: StudyDirectory, control: Control) -> bool:
    """Run one part and store what it found; False if another process is running it."""
    with directory.claimed(part.name) as mine:
        if not mine:
            return False
        if directory.finished(part.name):  # by another process, a moment ago
            return True
        commit()  # before the part runs: the source tree may change meanwhile
        clock = PartClock(directory.folder(part.name), device())
        place = Place(
            folder=directory.folder(part.name),
            control=_Timed(control, clock),
            folder_of=directory.folder,
            outcome_of=lambda name: directory.result(name).outcome,
        )
        with clock.saved_if_stopped():
            outcome = part.run(place)
        _check(part, outcome)
        directory.store(part, outcome, clock.seconds)
        clock.remove()
    return True


def _check(part: Part, outcome: Outcome) -> None:
    found = tuple(one.key for one in outcome.estimates)
    if sorted(found) != sorted(part.keys):
        raise StudyError(f"The part {part.name} measured {', '.join(found)} instead of {', '.join(part.keys)}.")


def refuse_if_never(part: Part, missing: Sequence[str], result: Run, directory: StudyDirectory) -> None:
    """Refuse a part whose needs are neither finished nor being run by another process."""
    never = [need for need in missing if need not in (*result.elsewhere, *result.waiting)]
    idle = [need for need in never if not _is_running(need, directory)]
    if idle:
        raise StudyError(f"The part {part.name} needs {', '.join(idle)}. Run first: --only {' --only '.join(idle)}")


def _is_running(part: str, directory: StudyDirectory) -> bool:
    with directory.claimed(part) as mine:
        return not mine


class _Timed:
    """The control of one part that also saves how long it has computed."""

    def __init__(self, outer: Control, clock: PartClock) -> None:
        self._outer, self._clock = outer, clock

    def progress(self, done: float, total: float) -> None:
        self._clock.tick()
        self._outer.progress(done, total)

    def on_interrupt(self, save: Save, seconds: float) -> AbstractContextManager[None]:
        return self._outer.on_interrupt(save, seconds)


class _Shown:
    """The control of one part whose progress is a share of the study's."""

    def __init__(self, outer: Control, observe: Observe, name: str, before: float, cost: float, total: float) -> None:
        self._outer, self._observe = outer, observe
        self._name, self._before, self._cost, self._total = name, before, cost, total

    def progress(self, done: float, total: float) -> None:
        self._outer.progress(done, total)
        self._observe(self._name, self._before + self._cost * fraction(done, total), self._total)

    def on_interrupt(self, save: Save, seconds: float) -> AbstractContextManager[None]:
        return self._outer.on_interrupt(save, seconds)
