"""Estimates and their combinations against closed forms and published examples."""

from __future__ import annotations

import numpy as np
import pytest

from tabia.evaluation.significance import Z95
from tabia.studies.estimates import (
    Estimate,
    StudyError,
    around,
    average,
    combine,
    exact,
    percentage,
    pooled,
    spanning,
    spread,
)


def test_the_difference_of_two_fractions_is_newcombes_interval() -> None:
    """Newcombe 1998, Statistics in Medicine 17, table II, method 10: 56/70 - 48/80 and 9/10 - 3/10."""
    for (a, m), (b, n), low, high in (((56, 70), (48, 80), 0.0524, 0.3339), ((9, 10), (3, 10), 0.1705, 0.8090)):
        found = combine("gap", [percentage("one", a, m), percentage("other", b, n)], [1.0, -1.0])
        assert found.value == pytest.approx(100 * (a / m - b / n))
        assert (found.low, found.high) == pytest.approx((100 * low, 100 * high), abs=0.006)


def test_symmetric_intervals_combine_as_independent_normal_errors() -> None:
    found = combine("sum", [around("a", 1.0, 0.3), around("b", -2.0, 0.4)], [1.0, 2.0])
    assert found.value == -3.0
    assert found.high - found.value == pytest.approx(np.hypot(0.3, 0.8)) == pytest.approx(found.value - found.low)


def test_a_negative_weight_turns_the_interval_around() -> None:
    found = combine("minus", [Estimate("a", 1.0, 0.0, 5.0)], [-1.0])
    assert (found.low, found.value, found.high) == (-5.0, -1.0, 0.0)


def test_pooling_equal_halves_divides_the_interval_by_the_root_of_two() -> None:
    found = pooled([around("a", 3.0, 1.0, trials=50), around("a", 5.0, 1.0, trials=50)])
    assert found.value == 4.0 and found.trials == 100
    assert found.high - found.value == pytest.approx(1.0 / np.sqrt(2.0))


def test_runs_span_the_intervals_of_all_seeds() -> None:
    found = spanning([around("a", 3.0, 1.0), around("a", 6.0, 0.5)])
    assert (found.low, found.value, found.high) == (2.0, 4.5, 6.5)
    assert spanning([exact("a", 2)]) == exact("a", 2)


@pytest.mark.parametrize("runs", [2, 3, 5])
def test_the_range_of_some_runs_contains_the_median_of_all_runs_by_a_closed_form(runs: int) -> None:
    """With probability 1 - 2^(1 - n): unless all n fall on one side. 4,000 draws, within four standard errors."""
    drawn = np.random.default_rng(runs).normal(7.0, 2.0, (4000, runs))
    found = [spanning([exact("a", value) for value in row]) for row in drawn]
    expected = 1 - 2.0 ** (1 - runs)
    hits = np.mean([one.low <= 7.0 <= one.high for one in found])
    assert hits == pytest.approx(expected, abs=4 * np.sqrt(expected * (1 - expected) / 4000))


def test_the_interval_of_a_mean_covers_it_as_often_as_stated() -> None:
    """2,000 means of 40 normal values: 95% of the intervals contain the true mean, within four standard errors."""
    values = np.random.default_rng(0).normal(2.0, 3.0, (2000, 40))
    hits = [one.low <= 2.0 <= one.high for one in (average("mean", row) for row in values)]
    assert np.mean(hits) == pytest.approx(0.945, abs=4 * np.sqrt(0.05 * 0.95 / 2000))  # 94.3% with the normal quantile
    assert average("mean", [0.0, 2.0]).high == pytest.approx(1.0 + Z95)


def test_a_spread_contains_all_but_five_percent() -> None:
    found = spread("range", np.arange(1001))
    assert (found.low, found.value, found.high) == (25.0, 500.0, 975.0)


def test_impossible_estimates_are_refused() -> None:
    with pytest.raises(StudyError, match="not between"):
        Estimate("a", 2.0, 3.0, 4.0)
    with pytest.raises(StudyError, match="not finite"):
        Estimate("a", float("nan"), 0.0, 1.0)
    with pytest.raises(StudyError, match="two observations"):
        average("a", [1.0])
    assert percentage("all", 8, 8).high == 100.0 and percentage("none", 0, 8).low == 0.0
