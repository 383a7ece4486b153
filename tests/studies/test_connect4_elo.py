"""Gains of versions in the study `connect4-elo`."""

from __future__ import annotations

import math

import pytest

from tabia.studies.catalog.connect4_elo import GATE_LEAST, GATE_MEAN, VERSIONS, accepted, gate_gains

GAMES = 20


def line(iteration: int, score: float | None, passed: bool = True) -> dict[str, object]:
    """The metrics of an iteration; before the first training there is no gate."""
    gate = {} if score is None else {"gate_passed": passed, "gate_score": score, "gate_games": GAMES}
    return {"iteration": iteration, **gate}


LINES = [line(1, None), line(2, math.e / (1 + math.e)), line(3, 0.9, passed=False), line(4, 1.3 / 2.3), line(5, 1.0)]


def test_the_gain_by_the_gate_is_400_times_the_logarithm_of_the_odds() -> None:
    """Odds of e are 400 points, 1.3 wins per loss the 105 of the thesis; all games won count as half a game less."""
    assert gate_gains(LINES) == pytest.approx([400.0, 400 * math.log(1.3), 400 * math.log(2 * GAMES - 1)])
    assert gate_gains(LINES)[1] == pytest.approx(105, abs=0.1)


def test_refused_versions_gain_nothing() -> None:
    found = {one.key: one for one in accepted(LINES)}
    assert found[VERSIONS].value == 3 and found[GATE_LEAST].value == pytest.approx(400 * math.log(1.3))
    assert found[GATE_MEAN].value == pytest.approx((400 + 400 * math.log(1.3) + 400 * math.log(39)) / 3)
    assert found[GATE_MEAN].low < found[GATE_MEAN].value < found[GATE_MEAN].high
    assert [one.value for one in accepted([line(1, None), line(2, 0.5, passed=False)])] == [0.0, 0.0, 0.0]
