"""Measured values with 95% intervals, and how they combine.

Intervals of sums and differences follow from the intervals of their terms (Newcombe 1998; Zou & Donner 2008): with
estimates v in [l, u] and weights w, the interval of the weighted sum extends by the root of the summed squares of
w (v - l) or w (u - v), whichever points that way. For fractions with Wilson's intervals this is Newcombe's interval.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tabia.core.errors import TabiaError
from tabia.evaluation.significance import Z95, wilson_interval


class StudyError(TabiaError):
    """A study that does not exist, or a directory that it cannot use."""


@dataclass(frozen=True)
class Estimate:
    """A value with its 95% interval; `key` names what was measured."""

    key: str
    value: float
    low: float
    high: float
    unit: str = ""
    trials: float | None = None  # the number of independent observations, if it is known

    def __post_init__(self) -> None:
        if not all(map(math.isfinite, (self.value, self.low, self.high))):
            raise StudyError(f"{self.key}: {self.value} from {self.low} to {self.high} is not finite.")
        if not self.low <= self.value <= self.high:
            raise StudyError(f"{self.key}: {self.value} is not between {self.low} and {self.high}.")


def exact(key: str, value: float, unit: str = "") -> Estimate:
    """A value without uncertainty, such as a count."""
    return Estimate(key, float(value), float(value), float(value), unit)


def percentage(key: str, successes: float, trials: int, unit: str = "% of games") -> Estimate:
    """Successes among independent trials, in percent, with Wilson's interval.

    >>> found = percentage("draws", 47, 50)
    >>> round(found.value, 1), round(found.low, 1), round(found.high, 1)
    (94.0, 83.8, 97.9)
    """
    fraction = successes / trials
    low, high = wilson_interval(fraction, trials)
    return Estimate(key, 100.0 * successes / trials, 100.0 * low, 100.0 * high, unit, trials)


def average(key: str, values: Sequence[float] | np.ndarray, unit: str = "") -> Estimate:
    """The mean of independent observations, with a normal interval."""
    found = np.asarray(values, np.float64)
    if len(found) < 2:
        raise StudyError(f"{key}: an interval needs two observations, not {len(found)}.")
    mean, half = float(found.mean()), Z95 * float(found.std(ddof=1)) / math.sqrt(len(found))
    return Estimate(key, mean, mean - half, mean + half, unit, len(found))


def spread(key: str, values: Sequence[float] | np.ndarray, unit: str = "") -> Estimate:
    """The median of observations, with the range that contains 95% of them: where one more is expected."""
    low, middle, high = np.quantile(np.asarray(values, np.float64), (0.025, 0.5, 0.975))
    return Estimate(key, float(middle), float(low), float(high), unit, len(values))


def around(key: str, value: float, half: float, unit: str = "", trials: float | None = None) -> Estimate:
    """A value with a symmetric interval."""
    return Estimate(key, value, value - half, value + half, unit, trials)


def combine(key: str, terms: Sequence[Estimate], weights: Sequence[float]) -> Estimate:
    """The weighted sum of independent estimates.

    >>> half = combine("mean", [around("a", 1.0, 3.0), around("b", 3.0, 4.0)], [0.5, 0.5])
    >>> half.value, half.low, half.high
    (2.0, -0.5, 4.5)
    """
    below = above = total = 0.0
    for term, weight in zip(terms, weights, strict=True):
        down, up = weight * (term.value - term.low), weight * (term.high - term.value)
        down, up = (down, up) if weight >= 0 else (-up, -down)
        total, below, above = total + weight * term.value, below + down**2, above + up**2
    unit = terms[0].unit if terms else ""
    return Estimate(key, total, total - math.sqrt(below), total + math.sqrt(above), unit)


def pooled(repeats: Sequence[Estimate]) -> Estimate:
    """The mean of repeats that differ only by chance within the interval of each, such as halves of one match."""
    if len(repeats) == 1:
        return repeats[0]
    trials = [one.trials for one in repeats]
    together = None if None in trials else float(sum(one for one in trials if one is not None))
    return replace(combine(repeats[0].key, repeats, [1.0 / len(repeats)] * len(repeats)), trials=together)


def spanning(repeats: Sequence[Estimate]) -> Estimate:
    """The mean of training runs; its interval spans those of all runs, because another run may land anywhere there."""
    return Estimate(
        key=repeats[0].key,
        value=sum(one.value for one in repeats) / len(repeats),
        low=min(one.low for one in repeats),
        high=max(one.high for one in repeats),
        unit=repeats[0].unit,
        trials=repeats[0].trials if len(repeats) == 1 else None,
    )
