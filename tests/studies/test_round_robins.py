"""Round robins of studies: ratings from pairs, and the scores that ratings predict."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from tabia.evaluation.rating_models import Ratings
from tabia.evaluation.records import load
from tabia.studies import StudyDirectory, registry, runner
from tabia.studies.catalog.round_robin import predicted_score
from tabia.studies.matches import RECORDS, rate_all


def rated(gap: float, *, advantage: float, draw: float) -> Ratings:
    return Ratings(("a", "b"), np.array([gap, 0.0]), np.zeros(2), np.array([advantage]), draw, np.zeros((2, 2)))


@pytest.mark.parametrize(("gap", "advantage", "draw"), [(0, 0, 0), (200, 0, 0), (200, 80, 60), (-350, 40, 120)])
def test_a_predicted_score_is_that_of_the_model(gap: float, advantage: float, draw: float) -> None:
    """Wins and half of the draws by Rao and Kupper's model, as in `rating_models`, averaged over both seats."""

    def f(x: float) -> float:
        return float(1 / (1 + 10 ** (-x / 400)))

    def points(difference: float) -> float:
        wins, losses = f(difference - draw), f(-difference - draw)
        return wins + (1 - wins - losses) / 2

    ratings = rated(gap, advantage=advantage, draw=draw)
    expected = (points(gap + advantage) + points(gap - advantage)) / 2
    assert predicted_score(ratings, 0, 1) == pytest.approx(expected)
    assert predicted_score(ratings, 0, 1) + predicted_score(ratings, 1, 0) == pytest.approx(1.0)


def test_ratings_from_pairs_are_those_of_all_their_games(tmp_path: Path) -> None:
    study, directory = registry.load("connect-simulations"), StudyDirectory(tmp_path / "study")
    scale = study.scale("tiny")
    runner.run(study, directory, scale)
    records = [
        record for path in sorted(directory.path.glob(f"parts/pair-*/{RECORDS}")) for record in load(path).records
    ]
    names = [scale.player(number, "random") for number in scale.simulations]
    assert len(records) == scale.games and {name for record in records for name in record.players} == set(names)
    found = [one.value for one in directory.result("ratings-0").outcome.estimates]
    ratings = rate_all(records, names)
    np.testing.assert_allclose(found, [*ratings.elo, ratings.elo[-1] - ratings.elo[0]], atol=1e-6)
