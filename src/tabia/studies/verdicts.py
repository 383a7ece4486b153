"""Verdicts: does a published value or ordering hold, differ, or can it not be compared?

A value holds if the 95% interval of the difference between ours and the published one contains zero. A published value
has an interval of its own where its sample size is known. With twenty values, about one differs by chance. The count
of one training run has no interval; it is compared from two seeds on, with their range.

An ordering or a trend is a weighted sum of values, less a constant, that should be positive. It needs two seeds. It
holds if it is positive for every seed and its interval, over all seeds, excludes zero; it differs if both are true of
the negative. Seeds are combined as those of the study's values: matches are pooled; training runs span the intervals
of all.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tabia.studies.estimates import Estimate, combine, exact, percentage, pooled

HOLDS, DIFFERS, NOT_COMPARABLE = "holds", "differs", "not comparable"
LEAST_SEEDS = 2

Combine = Callable[[Sequence[Estimate]], Estimate]
"""Turns the same value of several seeds into one: `pooled` or `spanning`."""


@dataclass(frozen=True)
class Verdict:
    """A verdict, and why it is not comparable."""

    word: str
    note: str = ""


@dataclass(frozen=True)
class Published:
    """A published value: the key of ours that it is compared with, and where it is published."""

    key: str
    value: float
    where: str  # "figure 5.1a"
    low: float | None = None  # its 95% interval, if its sample size is known
    high: float | None = None
    seeds: int = 1  # that ours needs: a count of one training run does not say where another would land

    @property
    def estimate(self) -> Estimate:
        """The value with its interval; without one it counts as exact."""
        low, high = (self.value if end is None else end for end in (self.low, self.high))
        return Estimate(self.key, self.value, low, high)


def published_count(key: str, successes: float, trials: int, where: str) -> Published:
    """A published count of successes among trials, in percent."""
    found = percentage(key, successes, trials)
    return Published(key, found.value, where, found.low, found.high)


def count_of_a_run(key: str, value: float, where: str) -> Published:
    """A published count of something in one training run."""
    return Published(key, value, where, seeds=LEAST_SEEDS)


def compare(ours: Estimate, published: Published, seeds: int = LEAST_SEEDS) -> Verdict:
    """Whether a published value holds, given ours from this many seeds."""
    if seeds < published.seeds:
        return Verdict(NOT_COMPARABLE, _few(seeds, published.seeds))
    gap = combine(ours.key, [ours, published.estimate], [1.0, -1.0])
    return Verdict(HOLDS if gap.low <= 0.0 <= gap.high else DIFFERS)


@dataclass(frozen=True)
class Claim:
    """A published statement: a weighted sum of values is above `than` or, with `within`, at most that far from it."""

    statement: str
    where: str
    weights: tuple[tuple[str, float], ...]
    within: float | None = None
    than: float = 0.0
    as_published: bool = False  # it needs a scale whose values can be compared, such as runs of the published length

    @property
    def keys(self) -> tuple[str, ...]:
        """The values that it is about."""
        return tuple(key for key, _ in self.weights)


def ordering(statement: str, where: str, *, higher: str, lower: str) -> Claim:
    """One value is higher than another."""
    return Claim(statement, where, ((higher, 1.0), (lower, -1.0)))


def above(statement: str, where: str, *, key: str, than: float) -> Claim:
    """A value is above a constant."""
    return Claim(statement, where, ((key, 1.0),), than=than)


def equality(statement: str, where: str, *, one: str, other: str, within: float) -> Claim:
    """Two values are at most `within` apart."""
    return Claim(statement, where, ((one, 1.0), (other, -1.0)), within)


def trend(statement: str, where: str, *, keys: Sequence[str], falling: bool = False) -> Claim:
    """Values rise (or fall) in this order: the slope of their least-squares line over the order."""
    place = np.arange(len(keys)) - (len(keys) - 1) / 2.0
    slope = place / (place**2).sum() * (-1.0 if falling else 1.0)
    return Claim(statement, where, tuple(zip(keys, map(float, slope), strict=True)))


def at_published_scale(claim: Claim) -> Claim:
    """The same claim, judged only at a scale whose values can be compared."""
    return replace(claim, as_published=True)


def contrasts(claim: Claim, by_seed: Sequence[dict[str, Estimate]]) -> list[Estimate]:
    """The weighted sum of a claim, less its constant, for each seed that measured all of its values."""
    constant = exact("constant", claim.than)
    weights = [*(weight for _, weight in claim.weights), -1.0]
    return [
        combine(claim.statement, [*(found[key] for key in claim.keys), constant], weights)
        for found in by_seed
        if all(key in found for key in claim.keys)
    ]


def assess(claim: Claim, found: Sequence[Estimate], over_seeds: Combine = pooled) -> Verdict:
    """Whether a claim holds, given its weighted sum for each seed."""
    if not found:
        return Verdict(NOT_COMPARABLE, "not measured")
    if len(found) < LEAST_SEEDS:
        return Verdict(NOT_COMPARABLE, _few(len(found), LEAST_SEEDS))
    mean = over_seeds(found)
    if claim.within is not None:
        return _near_zero(mean, claim.within)
    if mean.low > 0.0 and all(one.value > 0.0 for one in found):
        return Verdict(HOLDS)
    if mean.high < 0.0 and all(one.value < 0.0 for one in found):
        return Verdict(DIFFERS)
    same = len({one.value > 0.0 for one in found}) == 1
    return Verdict(NOT_COMPARABLE, "the interval contains zero" if same else "the seeds disagree")


def _few(seeds: int, needed: int) -> str:
    return f"{'one seed' if seeds == 1 else f'{seeds} seeds'}; {needed} are needed"


def _near_zero(mean: Estimate, within: float) -> Verdict:
    if -within <= mean.low and mean.high <= within:
        return Verdict(HOLDS)
    if mean.low > within or mean.high < -within:
        return Verdict(DIFFERS)
    return Verdict(NOT_COMPARABLE, "the interval is too wide")
