"""Verdicts: does a published value or ordering hold, differ, or can it not be compared?

A value holds if the 95% interval of the difference between ours and the published one contains zero. A published value
has an interval of its own where its sample size is known. With twenty values, about one differs by chance.

An ordering or a trend is a weighted sum of values that should be positive. It needs two seeds. It holds if it is
positive for every seed and its interval, over all seeds, excludes zero; it differs if both are true of the negative.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tabia.studies.estimates import Estimate, combine, percentage, pooled

HOLDS, DIFFERS, NOT_COMPARABLE = "holds", "differs", "not comparable"
LEAST_SEEDS = 2


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

    @property
    def estimate(self) -> Estimate:
        """The value with its interval; without one it counts as exact."""
        low, high = (self.value if end is None else end for end in (self.low, self.high))
        return Estimate(self.key, self.value, low, high)


def published_count(key: str, successes: float, trials: int, where: str) -> Published:
    """A published count of successes among trials, in percent."""
    found = percentage(key, successes, trials)
    return Published(key, found.value, where, found.low, found.high)


def compare(ours: Estimate, published: Published) -> Verdict:
    """Whether a published value holds."""
    gap = combine(ours.key, [ours, published.estimate], [1.0, -1.0])
    return Verdict(HOLDS if gap.low <= 0.0 <= gap.high else DIFFERS)


@dataclass(frozen=True)
class Claim:
    """A published statement: a weighted sum of values is positive or, with `within`, at most that far from zero."""

    statement: str
    where: str
    weights: tuple[tuple[str, float], ...]
    within: float | None = None

    @property
    def keys(self) -> tuple[str, ...]:
        """The values that it is about."""
        return tuple(key for key, _ in self.weights)


def ordering(statement: str, where: str, *, higher: str, lower: str) -> Claim:
    """One value is higher than another."""
    return Claim(statement, where, ((higher, 1.0), (lower, -1.0)))


def equality(statement: str, where: str, *, one: str, other: str, within: float) -> Claim:
    """Two values are at most `within` apart."""
    return Claim(statement, where, ((one, 1.0), (other, -1.0)), within)


def trend(statement: str, where: str, *, keys: Sequence[str], falling: bool = False) -> Claim:
    """Values rise (or fall) in this order: the slope of their least-squares line over the order."""
    place = np.arange(len(keys)) - (len(keys) - 1) / 2.0
    slope = place / (place**2).sum() * (-1.0 if falling else 1.0)
    return Claim(statement, where, tuple(zip(keys, map(float, slope), strict=True)))


def contrasts(claim: Claim, by_seed: Sequence[dict[str, Estimate]]) -> list[Estimate]:
    """The weighted sum of a claim for each seed that measured all of its values."""
    return [
        combine(claim.statement, [found[key] for key in claim.keys], [weight for _, weight in claim.weights])
        for found in by_seed
        if all(key in found for key in claim.keys)
    ]


def assess(claim: Claim, found: Sequence[Estimate]) -> Verdict:
    """Whether a claim holds, given its weighted sum for each seed."""
    if not found:
        return Verdict(NOT_COMPARABLE, "not measured")
    if len(found) < LEAST_SEEDS:
        return Verdict(NOT_COMPARABLE, f"one seed; {LEAST_SEEDS} are needed")
    mean = pooled(found)
    if claim.within is not None:
        return _near_zero(mean, claim.within)
    if mean.low > 0.0 and all(one.value > 0.0 for one in found):
        return Verdict(HOLDS)
    if mean.high < 0.0 and all(one.value < 0.0 for one in found):
        return Verdict(DIFFERS)
    same = len({one.value > 0.0 for one in found}) == 1
    return Verdict(NOT_COMPARABLE, "the interval contains zero" if same else "the seeds disagree")


def _near_zero(mean: Estimate, within: float) -> Verdict:
    if -within <= mean.low and mean.high <= within:
        return Verdict(HOLDS)
    if mean.low > within or mean.high < -within:
        return Verdict(DIFFERS)
    return Verdict(NOT_COMPARABLE, "the interval is too wide")
