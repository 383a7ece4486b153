"""What studies declare agrees with their publications, and is judged only where it can be."""

from __future__ import annotations

import numpy as np
import pytest

from tabia.studies import registry
from tabia.studies.catalog.tictactoe_training import best_share
from tabia.studies.estimates import Estimate, around, percentage, spanning
from tabia.studies.results import Results, rows
from tabia.studies.verdicts import DIFFERS, HOLDS, NOT_COMPARABLE, Claim, Verdict, above, assess, contrasts

UCT_WINS = {
    "table 1": (26.4, 24.6, 22.5, 21.4, 16.5, 12.4, 12.1, 11.6),
    "table 2, c1": (4.9, 22.5, 26.3, 23.5, 29.3),
    "table 2, c2": (5.1, 4.9, 5.6, 5.9, 4.5),
}
"""The column of Goldberg & Ishay 2017 that the study leaves out, because each row adds up to 100%."""


def test_the_rows_of_goldberg_and_ishay_add_up() -> None:
    published = registry.load("mini-alphago").published
    rows_by_code = {f"{where}, authors' code": lost for where, lost in UCT_WINS.items()}
    for where, lost in (UCT_WINS | rows_by_code).items():
        found = [one for one in published if one.where == where]
        wins, draws = found[::2], found[1::2]
        assert all(one.key.replace(": wins", ": draws") == other.key for one, other in zip(wins, draws, strict=True))
        totals = [one.value + other.value + uct for one, other, uct in zip(wins, draws, lost, strict=True)]
        assert totals == pytest.approx([100.0] * len(totals))


def verdicts(name: str, scale: str, by_seed: tuple[dict[str, Estimate], ...]) -> dict[str, Verdict | None]:
    """The verdicts of a study's claims, given what each seed measured."""
    study = registry.load(name)
    found = rows(study, study.scale(scale), Results(by_seed, {}, (), ()))
    return {row.key: row.verdict for row in found if row.kind == "claim"}


def test_orders_that_appear_late_in_training_need_runs_of_that_length() -> None:
    gains = {f"width {width}: gain": around("gain", 100.0 * width, 1.0, "Elo") for width in (4, 5, 6, 7, 8, 9, 16, 32)}
    found = verdicts("connect-width", "full", (gains, gains))
    smaller = Verdict(NOT_COMPARABLE, "smaller scale")
    assert found["Wider boards gain more, from 4 to 8"] == found["Width 16 gains less than 9"] == smaller
    assert found["Width 32 gains less than 16"] == Verdict(DIFFERS)
    none = verdicts("connect-width", "full", ({}, {}))
    assert none["Wider boards gain more, from 4 to 8"] == Verdict(NOT_COMPARABLE, "not measured")


@pytest.mark.parametrize(("wins", "word"), [(650, HOLDS), (350, DIFFERS), (501, NOT_COMPARABLE)])
def test_a_choice_of_the_search_should_score_more_than_half(wins: int, word: str) -> None:
    key = "othello, tree reuse: in time"
    seed = {key: percentage(key, wins, 1000, "% of points")}
    found = verdicts("search-choices", "full", (seed, seed))[
        "With tree reuse, an agent scores more in Othello at equal time"
    ]
    assert found is not None and found.word == word


@pytest.mark.parametrize("shift", [-70.0, 0.0, 12.5])
def test_a_constant_moves_values_and_their_intervals(shift: float) -> None:
    """`a > c` is the same claim as `a + shift > c + shift`."""
    one, other = around("a", 53.0, 2.0, "%"), around("a", 53.0 + shift, 2.0, "%")
    plain, moved = (above("a", "", key="a", than=50.0 + constant) for constant in (0.0, shift))
    (ours,), (theirs,) = contrasts(plain, [{"a": one}]), contrasts(moved, [{"a": other}])
    assert (ours.value, ours.low, ours.high) == pytest.approx((theirs.value, theirs.low, theirs.high))
    assert (ours.value, ours.low, ours.high) == pytest.approx((3.0, 1.0, 5.0)) and ours.unit == "%"


def test_a_value_within_a_distance_of_a_constant() -> None:
    claim = Claim("a is about 50", "", (("a", 1.0),), within=2.0, than=50.0)
    for value, half, word in ((51.0, 0.5, HOLDS), (53.0, 0.5, DIFFERS), (51.0, 3.0, NOT_COMPARABLE)):
        assert assess(claim, contrasts(claim, [{"a": around("a", value, half)}] * 2)).word == word


def test_the_probability_of_the_best_moves_stays_below_100_percent() -> None:
    """Six boards, one or two best moves each: the mean by run, and the range over the runs."""
    best = np.eye(6, 9, dtype=bool)
    best[0, 8] = True
    sure, even = np.where(best, 1.0 / best.sum(axis=1, keepdims=True), 0.0), np.full((6, 9), 1 / 9)
    runs = [best_share(policies, best) for policies in (sure, even)]
    assert [one.value for one in runs] == pytest.approx([100.0, 100 * 7 / 54])
    both = spanning(runs)
    assert (both.low, both.high) == (runs[1].value, runs[0].value) and both.high == pytest.approx(100.0)
