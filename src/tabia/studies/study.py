"""A study: a question, where it was asked, the parts that answer it, published values and claims, and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Generic, TypeVar

from tabia.core.errors import did_you_mean
from tabia.core.text import quote
from tabia.studies.estimates import StudyError, pooled
from tabia.studies.part import Part
from tabia.studies.plots import Figure
from tabia.studies.verdicts import Claim, Combine, Published

SCALES = ("tiny", "quick", "full")
"""Seconds, ten minutes on two cores, and the real thing."""
_NAME = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
LONGEST_KEY = 48
"""Characters; longer keys would make the tables too wide."""


@dataclass(frozen=True)
class Source:
    """Where a study comes from."""

    authors: str  # "Sanz & Villanueva 2021", or "Tabia"
    section: str  # "section 5.1.1"

    def __str__(self) -> str:
        return f"{self.authors}, {self.section}" if self.section else self.authors


@dataclass(frozen=True, kw_only=True)
class Scale:
    """How much of a study is run; studies add their own sizes."""

    name: str
    about: str  # what differs from the publication, printed on every figure
    seeds: int = 1  # independent repeats
    values: bool = False  # whether its values can be compared with published ones
    trends: bool = False  # whether its orderings and trends can be


S = TypeVar("S", bound=Scale)


@dataclass(frozen=True, kw_only=True)
class Study(Generic[S]):
    """A repeatable experiment."""

    name: str
    version: int  # raised when its results are no longer comparable with older ones
    question: str
    source: Source
    scales: tuple[S, ...]
    parts: Callable[[S, int], Sequence[Part]]  # from a scale and a seed
    published: tuple[Published, ...]
    claims: tuple[Claim, ...]
    figures: tuple[Figure, ...]
    combine: Combine = pooled  # how repeats become one value, ordering or trend
    notes: tuple[str, ...] = ()  # paragraphs for the report: what was left open, and what we chose

    def scale(self, name: str) -> S:
        """The scale of a name."""
        for scale in self.scales:
            if scale.name == name:
                return scale
        raise StudyError(f"There is no scale {quote(name)}. {did_you_mean(name, SCALES)}")


def problems(study: Study[S]) -> list[str]:
    """What a study does not declare, or declares in a way that does not work; empty if it is complete."""
    found = [f"{one.name} is empty" for one in fields(study) if one.name in _REQUIRED and not getattr(study, one.name)]
    if tuple(scale.name for scale in study.scales) != SCALES:
        found.append(f"its scales are not {', '.join(SCALES)}")
    for scale in study.scales:
        found += [f"{scale.name}: {problem}" for problem in _part_problems(study.parts(scale, 0), scale)]
    measured = {key for scale in study.scales[-1:] for part in study.parts(scale, 0) for key in part.keys}
    wanted = {one.key for one in study.published} | {key for claim in study.claims for key in claim.keys}
    found += [f"no part measures {key!r}" for key in sorted(wanted - measured)]
    found += [f"no figure shows {one.key!r}" for one in study.published if one.key not in _drawn(study)]
    return found


_REQUIRED = ("name", "version", "question", "source", "scales", "figures")


def _part_problems(parts: Sequence[Part], scale: Scale) -> list[str]:
    names = [part.name for part in parts]
    found = [] if parts else ["no parts"]
    found += [f"two parts are called {name}" for name in {name for name in names if names.count(name) > 1}]
    found += [f"{name!r} is not a name for files" for name in names if not _NAME.fullmatch(name)]
    for number, part in enumerate(parts):
        found += [f"{part.name} needs {need}, which comes later" for need in part.needs if need not in names[:number]]
        found += [f"the key {key!r} is too long" for key in part.keys if len(key) > LONGEST_KEY]
        found += [f"{part.name} has seed {part.seed}"] if not 0 <= part.seed < scale.seeds else []
    pairs = [(part.seed, key) for part in parts for key in part.keys]
    found += [f"{key!r} is measured twice" for seed, key in sorted(set(pairs)) if pairs.count((seed, key)) > 1]
    return found


def _drawn(study: Study[S]) -> set[str]:
    return {key for figure in study.figures for key in figure.keys}
