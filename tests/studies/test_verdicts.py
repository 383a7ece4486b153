"""Verdicts follow from intervals, and claims need two seeds."""

from __future__ import annotations

import numpy as np
import pytest

from tabia.studies.estimates import around, exact, percentage
from tabia.studies.verdicts import (
    DIFFERS,
    HOLDS,
    NOT_COMPARABLE,
    Published,
    assess,
    compare,
    contrasts,
    equality,
    ordering,
    published_count,
    trend,
)


def test_a_published_value_without_a_sample_size_must_lie_in_our_interval() -> None:
    ours = around("a", 10.0, 2.0)
    assert compare(ours, Published("a", 11.9, "table 1")).word == HOLDS
    assert compare(ours, Published("a", 12.1, "table 1")).word == DIFFERS
    assert compare(exact("a", 5), Published("a", 5, "text")).word == HOLDS


def test_its_own_interval_makes_a_published_count_compatible_with_more() -> None:
    ours = percentage("draws", 850, 1000)
    assert compare(ours, published_count("draws", 41, 50, "figure 1")).word == HOLDS
    assert compare(ours, Published("draws", 82.0, "figure 1")).word == DIFFERS
    assert compare(ours, published_count("draws", 25, 50, "figure 1")).word == DIFFERS


def test_equal_values_differ_about_as_often_as_stated() -> None:
    """Two samples of the same fraction are called different in about 5% of the cases; at most 7% is accepted."""
    random = np.random.default_rng(0)
    pairs = random.binomial(100, 0.7, (2000, 2))
    words = [compare(percentage("a", a, 100), published_count("a", b, 100, "x")).word for a, b in pairs]
    assert 0.03 < words.count(DIFFERS) / len(words) < 0.07


@pytest.mark.parametrize(
    ("seeds", "word", "note"),
    [
        ([(5.0, 1.0), (4.0, 1.0)], HOLDS, ""),
        ([(-5.0, 1.0), (-4.0, 1.0)], DIFFERS, ""),
        ([(5.0, 1.0), (-1.0, 1.0)], NOT_COMPARABLE, "the seeds disagree"),
        ([(0.5, 4.0), (0.5, 4.0)], NOT_COMPARABLE, "the interval contains zero"),
        ([(5.0, 1.0)], NOT_COMPARABLE, "one seed; 2 are needed"),
        ([], NOT_COMPARABLE, "not measured"),
    ],
)
def test_an_ordering_needs_two_seeds_that_agree(seeds: list[tuple[float, float]], word: str, note: str) -> None:
    claim = ordering("a above b", "figure 1", higher="a", lower="b")
    measured = [{"a": around("a", value, half), "b": exact("b", 0)} for value, half in seeds]
    verdict = assess(claim, contrasts(claim, measured))
    assert (verdict.word, verdict.note) == (word, note)


def test_a_seed_that_lacks_a_value_does_not_count() -> None:
    claim = ordering("a above b", "figure 1", higher="a", lower="b")
    assert contrasts(claim, [{"a": exact("a", 1)}, {"a": exact("a", 1), "b": exact("b", 0)}]) == [exact("a above b", 1)]


def test_a_trend_is_the_slope_of_the_least_squares_line() -> None:
    values = [3.0, 1.0, 4.0, 1.0, 5.0]
    keys = [f"x{number}" for number in range(5)]
    measured = {key: exact(key, value) for key, value in zip(keys, values, strict=True)}
    slope = np.polyfit(np.arange(5.0), values, 1)[0]
    for falling, sign in ((False, 1.0), (True, -1.0)):
        claim = trend("it rises", "figure 1", keys=keys, falling=falling)
        assert contrasts(claim, [measured])[0].value == pytest.approx(sign * slope)


def test_equality_needs_an_interval_within_the_tolerance() -> None:
    claim = equality("a is b", "figure 1", one="a", other="b", within=10.0)
    for value, half, word in ((2.0, 5.0, HOLDS), (30.0, 5.0, DIFFERS), (2.0, 50.0, NOT_COMPARABLE)):
        measured = [{"a": around("a", value, half), "b": exact("b", 0)}] * 2
        assert assess(claim, contrasts(claim, measured)).word == word
