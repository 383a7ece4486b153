"""What a study has found so far: its stored values by seed, how much is finished, and the rows of the results."""

from __future__ import annotations

from dataclasses import dataclass

from tabia.studies.directory import StoredPart, StudyDirectory
from tabia.studies.estimates import Estimate
from tabia.studies.part import Series
from tabia.studies.plots import Figure
from tabia.studies.study import S, Scale, Study
from tabia.studies.verdicts import NOT_COMPARABLE, Published, Verdict, assess, compare, contrasts

_SMALLER = Verdict(NOT_COMPARABLE, "smaller scale")


@dataclass(frozen=True)
class Row:
    """One line of the results: a value or a claim, ours, the published one, and the verdict."""

    kind: str  # value, claim
    key: str
    where: str  # where it is published; empty for values of our own
    ours: Estimate | None
    seeds: int
    published: Published | None
    verdict: Verdict | None


@dataclass(frozen=True)
class Progress:
    """How much of a study is finished; a seed counts when any of its parts has measured something."""

    parts: int
    all_parts: int
    seeds: int
    all_seeds: int

    def __str__(self) -> str:
        """What is missing; empty if nothing is.

        >>> str(Progress(14, 60, 1, 2))
        '46 of 60 parts not finished, one of two seeds'
        """
        if self.parts == self.all_parts:
            return ""
        missing = f"{self.all_parts - self.parts} of {self.all_parts} parts not finished"
        return (
            f"{missing}, {in_words(self.seeds)} of {in_words(self.all_seeds)} seeds" if self.all_seeds > 1 else missing
        )


def in_words(count: int) -> str:
    """Counts below ten as words."""
    names = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
    return names[count] if count < len(names) else str(count)


@dataclass(frozen=True)
class Results:
    """All stored results of a study."""

    by_seed: tuple[dict[str, Estimate], ...]
    series: dict[str, tuple[Series, ...]]
    parts: tuple[StoredPart, ...]
    missing: tuple[str, ...]  # parts that are not finished

    @property
    def progress(self) -> Progress:
        """How much of the study is finished."""
        seeds = sum(bool(found) for found in self.by_seed)
        return Progress(len(self.parts), len(self.parts) + len(self.missing), seeds, len(self.by_seed))

    def values(self, study: Study[S]) -> dict[str, Estimate]:
        """Each value over all of its seeds."""
        keys = dict.fromkeys(key for found in self.by_seed for key in found)
        return {key: study.combine([found[key] for found in self.by_seed if key in found]) for key in keys}


def collect(study: Study[S], directory: StudyDirectory, scale: S, seed: int) -> Results:
    """Read what the parts have stored."""
    parts = study.parts(scale, seed)
    stored = [directory.result(part.name) for part in parts if directory.finished(part.name)]
    by_seed: list[dict[str, Estimate]] = [{} for _ in range(scale.seeds)]
    series: dict[str, tuple[Series, ...]] = {}
    for one in stored:
        by_seed[one.seed].update({found.key: found for found in one.outcome.estimates})
        for name, curve in one.outcome.series.items():
            series[name] = (*series.get(name, ()), curve)
    missing = tuple(part.name for part in parts if not directory.finished(part.name))
    return Results(tuple(by_seed), series, tuple(stored), missing)


def rows(study: Study[S], scale: Scale, results: Results) -> list[Row]:
    """Published values first, then claims, then what was measured beyond them."""
    values = results.values(study)
    seeds = {key: sum(key in found for found in results.by_seed) for key in values}
    found = [_value_row(one, scale, values.get(one.key), seeds.get(one.key, 0)) for one in study.published]
    for claim in study.claims:
        sums = contrasts(claim, results.by_seed)
        comparable = scale.values if claim.as_published else scale.trends
        verdict = assess(claim, sums, study.combine) if comparable or not sums else _SMALLER
        ours = study.combine(sums) if sums else None
        found.append(Row("claim", claim.statement, claim.where, ours, len(sums), None, verdict))
    compared = {one.key for one in study.published}
    return [
        *found,
        *(Row("value", key, "", one, seeds[key], None, None) for key, one in values.items() if key not in compared),
    ]


def _value_row(published: Published, scale: Scale, ours: Estimate | None, seeds: int) -> Row:
    if ours is None:
        verdict = Verdict(NOT_COMPARABLE, "not measured")
    else:
        verdict = compare(ours, published, seeds) if scale.values else _SMALLER
    return Row("value", published.key, published.where, ours, seeds, published, verdict)


def seeds_shown(figure: Figure, results: Results) -> str:
    """How many seeds are behind what a figure shows, which may differ from point to point."""
    counts = [sum(key in found for found in results.by_seed) for key in figure.keys]
    counts += [len(results.series.get(one.series, ())) for one in figure.series]
    shown = sorted({count for count in counts if count})
    if not shown:
        return "No seeds"
    few, many = shown[0], shown[-1]
    return f"{few} seed{'' if few == 1 else 's'}" if few == many else f"{few} to {many} seeds"
