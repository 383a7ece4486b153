"""Verdicts follow from intervals, and claims need two seeds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from tabia.studies.directory import StudyDirectory
from tabia.studies.estimates import Estimate, around, exact, percentage, pooled, spanning
from tabia.studies.part import Measurement, Outcome, Place
from tabia.studies.results import collect, rows
from tabia.studies.runner import run
from tabia.studies.study import Scale
from tabia.studies.verdicts import (
    DIFFERS,
    HOLDS,
    NOT_COMPARABLE,
    Claim,
    Combine,
    Published,
    assess,
    compare,
    contrasts,
    equality,
    ordering,
    published_count,
    trend,
)

from .toy_study import STUDY


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


RUNS = ((263.0, 60.0), (633.0, 80.0))  # a difference between two values by training run, and half its interval


def _differences(runs: tuple[tuple[float, float], ...]) -> list[dict[str, Estimate]]:
    """The difference of each run, with equal shares of its interval in both values."""
    return [
        {"a": around("a", value, half / np.sqrt(2)), "b": around("b", 0, half / np.sqrt(2))} for value, half in runs
    ]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_the_interval_of_an_ordering_spans_training_runs(sign: float, tmp_path: Path) -> None:
    """From the lowest end of the intervals of all runs to the highest; of matches, which are pooled, far less."""
    higher, lower = ("a", "b") if sign > 0 else ("b", "a")
    claim = ordering("a above b", "figure 1", higher=higher, lower=lower)
    ends = sorted((sign * (263.0 - 60.0), sign * (633.0 + 80.0)))
    one = _claim_row(claim, _differences(RUNS), spanning, tmp_path / "runs")
    assert (one.value, one.low, one.high) == pytest.approx((sign * 448.0, *ends))
    one = _claim_row(claim, _differences(RUNS), pooled, tmp_path / "matches")
    assert one.high - one.value == pytest.approx(np.hypot(60.0, 80.0) / 2) == pytest.approx(one.value - one.low)


def test_the_interval_of_a_trend_spans_training_runs(tmp_path: Path) -> None:
    """The slopes of two runs without any noise of games are the ends of the interval."""
    claim = trend("it rises", "figure 1", keys=["x", "y", "z"])
    runs = [{key: exact(key, slope * place) for place, key in enumerate("xyz")} for slope in (41.7, 147.7)]
    one = _claim_row(claim, runs, spanning, tmp_path / "runs")
    assert (one.low, one.value, one.high) == pytest.approx((41.7, 94.7, 147.7))


def _claim_row(claim: Claim, by_seed: list[dict[str, Estimate]], combine: Combine, path: Path) -> Estimate:
    """The interval of a claim in the results of a study that measures these values."""

    def parts(scale: Scale, seed: int) -> list[Measurement]:
        return [
            Measurement(name=f"part-{n}", keys=tuple(found), measure=_outcome(found), seed=n)
            for n, found in enumerate(by_seed)
        ]

    scales = tuple(replace(scale, seeds=len(by_seed)) for scale in STUDY.scales)
    study = replace(STUDY, parts=parts, scales=scales, combine=combine, claims=(claim,), published=())
    directory, scale = StudyDirectory(path), study.scale("tiny")
    run(study, directory, scale)
    found = next(row.ours for row in rows(study, scale, collect(study, directory, scale, 0)) if row.kind == "claim")
    assert found is not None
    return found


def _outcome(found: dict[str, Estimate]) -> Callable[[Place], Outcome]:
    return lambda place: Outcome(tuple(found.values()))


def test_runs_that_agree_decide_only_if_the_interval_of_each_does() -> None:
    """Pooled, two runs narrow each other's interval; as training runs they do not."""
    claim = ordering("a above b", "figure 1", higher="a", lower="b")
    sums = contrasts(claim, _differences(((5.0, 4.0), (1.0, 2.0))))
    assert assess(claim, sums).word == HOLDS
    spanned = assess(claim, sums, spanning)
    assert (spanned.word, spanned.note) == (NOT_COMPARABLE, "the interval contains zero")
    assert assess(claim, contrasts(claim, _differences(((5.0, 4.0), (3.0, 2.0)))), spanning).word == HOLDS
    assert assess(claim, contrasts(claim, _differences(((-5.0, 4.0), (-3.0, 2.0)))), spanning).word == DIFFERS
    disagree = assess(claim, contrasts(claim, _differences(((5.0, 1.0), (-3.0, 1.0)))), spanning)
    assert (disagree.word, disagree.note) == (NOT_COMPARABLE, "the seeds disagree")


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
