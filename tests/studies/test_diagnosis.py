"""Signs of a run that learns little, against closed forms."""

from __future__ import annotations

import pytest

from tabia.studies.parts.diagnosis import DRAWN, EXPLAINED, LENGTH, USES, sign_key, signs


def line(games: int, length: float, draws: float, first: float, loss: float) -> dict[str, object]:
    return {"games": games, "loss_value": loss} | (
        {"game_length": length, "draws": draws, "scores": [first, -first]} if games else {}
    )


def test_means_count_games_and_only_the_last_quarter() -> None:
    """Ten games of 10 moves, 2 drawn, the first seat wins 6 and loses 2; thirty of 30 moves, none drawn, 15 each."""
    late = [line(10, 10.0, 0.2, 0.4, 0.5), line(0, 0.0, 0.0, 0.0, 0.7), line(30, 30.0, 0.0, 0.0, 0.6)]
    found = {one.key: one.value for one in signs("a", samples_per_game=50.0)([line(99, 5.0, 1.0, 0.0, 9.0)] * 9 + late)}
    drawn, first = 2 / 40, 4 / 40
    assert found[sign_key("a", DRAWN)] == pytest.approx(100 * drawn)
    assert found[sign_key("a", LENGTH)] == pytest.approx(25.0) and found[sign_key("a", USES)] == pytest.approx(2.0)
    variance = (8 + 30) / 40 - first**2  # of the result for the first seat: 38 of 40 squares are 1
    assert drawn == pytest.approx(1 - 38 / 40)
    assert found[sign_key("a", EXPLAINED)] == pytest.approx(100 * (1 - 0.6 / variance))
