"""Ratings: the coverage of the intervals, agreement with choix, and the sequential test."""

from __future__ import annotations

import numpy as np
import pytest

from tabia.core.elo import POINTS_PER_LOGIT, difference, expected_score
from tabia.evaluation.rating_models import Outcomes, RatingError, rate_many, rate_two
from tabia.evaluation.ratings import rate, rate_in_order
from tabia.evaluation.records import Record
from tabia.evaluation.significance import Capital, SequentialTest
from tabia.evaluation.tournament import pairings
from tabia.evaluation.wandhoven import sequential_elo

NAMES = tuple("abcdef")


def _truth(strength: np.ndarray, advantage: float, draw: float) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities [K, K] that the first seat wins and loses, from the formula of the model."""
    lead = strength[:, None] - strength[None, :] + advantage
    return 1 / (1 + 10 ** (-(lead - draw) / 400)), 1 / (1 + 10 ** (-(-lead - draw) / 400))


def _simulate(
    dice: np.random.Generator, strength: np.ndarray, games: int, *, advantage: float = 0.0, draw: float = 0.0
) -> Outcomes:
    """A full round robin with `games` per pairing and seating."""
    win, loss = _truth(strength, advantage, draw)
    chances = np.stack([win, np.maximum(1 - win - loss, 0), loss], axis=-1)
    counts = dice.multinomial(games, chances / chances.sum(axis=-1, keepdims=True)).astype(float)
    counts[np.eye(len(strength), dtype=bool)] = 0
    return Outcomes(counts[..., 0], counts[..., 1], counts[..., 2])


def test_95_percent_intervals_cover_the_truth_in_95_percent() -> None:
    """1,000 tournaments of six players: 93% to 97% of the differences to the anchor lie in the intervals."""
    dice = np.random.default_rng(1)
    covered = []
    for _ in range(1000):
        strength = dice.normal(0, 200, 6)
        outcomes = _simulate(dice, strength, 20, advantage=35, draw=60)
        ratings = rate_two(NAMES, outcomes)
        off = np.abs(ratings.elo - (strength - strength[0]))[1:]
        covered.append(off <= ratings.error[1:])
    assert 0.93 <= np.mean(covered) <= 0.97, np.mean(covered)


def test_differences_advantage_and_draws_are_found() -> None:
    strength = np.array([0.0, 100.0, 250.0])
    ratings = rate_two(
        "abc", _simulate(np.random.default_rng(2), strength, 40000, advantage=50, draw=80), anchor_elo=1500
    )
    assert ratings.elo == pytest.approx(strength + 1500, abs=8)
    assert ratings.advantage[0] == pytest.approx(50, abs=4) and ratings.draw == pytest.approx(80, abs=4)
    assert ratings.error[0] == 0 and (ratings.error[1:] < 8).all()
    apart, error = ratings.difference(2, 1)
    assert abs(apart - 150) <= 2 * error


def test_perfect_scores_and_games_without_draws_can_be_rated() -> None:
    zero, clean = np.zeros((2, 2)), np.array([[0.0, 0.0], [6.0, 0.0]])
    for losses in (zero, clean.T):
        ratings = rate_two("ab", Outcomes(clean, zero, losses))
        assert np.isfinite(ratings.elo).all() and np.isfinite(ratings.error).all() and ratings.draw == 0
        assert ratings.elo[1] > 100 and ratings.error[1] > 100


def test_choix_agrees_within_one_elo_for_the_same_model() -> None:
    import choix

    dice = np.random.default_rng(3)
    outcomes = _simulate(dice, dice.normal(0, 150, 6), 50)
    ours = rate_two(NAMES, outcomes, prior=1e5, advantage=False, draws=False).elo
    beats = outcomes.wins + outcomes.losses.T  # entry [i, j]: how often i beat j
    theirs = choix.ilsr_pairwise_dense(beats) * POINTS_PER_LOGIT
    assert ours == pytest.approx(theirs - theirs[0], abs=1.0)


def test_choix_agrees_for_three_seats() -> None:
    import choix

    seated, scores = _three_seats(np.random.default_rng(4), np.array([0.0, 80.0, -120.0, 40.0]), 600)
    ours = rate_many("abcd", seated, scores, prior=1e5, advantage=False).elo
    rankings = [tuple(players[np.argsort(-score)]) for players, score in zip(seated, scores, strict=True)]
    theirs = choix.ilsr_rankings(4, rankings) * POINTS_PER_LOGIT
    assert ours == pytest.approx(theirs - theirs[0], abs=1.0)


def _three_seats(dice: np.random.Generator, strength: np.ndarray, games: int) -> tuple[np.ndarray, np.ndarray]:
    """Players by seat, and points 3, 1, 0 by Plackett and Luce: the order of strength plus Gumbel noise."""
    seated = np.array([dice.permutation(len(strength))[:3] for _ in range(games)])
    noisy = strength[seated] / POINTS_PER_LOGIT + dice.gumbel(size=seated.shape)
    places = np.argsort(np.argsort(-noisy, axis=1), axis=1)
    return seated, np.array([3.0, 1.0, 0.0])[places]


def test_intervals_cover_the_truth_for_three_seats() -> None:
    """100 tournaments: coverage of 95%, within the error of 100 x 3 trials."""
    dice = np.random.default_rng(5)
    covered = []
    for _ in range(100):
        strength = dice.normal(0, 150, 4)
        ratings = rate_many("abcd", *_three_seats(dice, strength, 60))
        covered.append(np.abs(ratings.elo - (strength - strength[0]))[1:] <= ratings.error[1:])
    assert 0.91 <= np.mean(covered) <= 0.99, np.mean(covered)


def _records(dice: np.random.Generator, strength: np.ndarray, pairs: list[tuple[int, int]], games: int) -> list[Record]:
    win, loss = _truth(strength, 30, 50)
    records = []
    for one, other in pairs:
        for number in range(games):
            first, second = (one, other) if number % 2 == 0 else (other, one)
            luck = dice.random()
            score = 1.0 if luck < win[first, second] else -1.0 if luck > 1 - loss[first, second] else 0.0
            seats = (NAMES[first], NAMES[second])
            records.append(Record("toy", 1, seats, (f"{one}-{other}-{number}",), (score, -score)))
    return records


def test_the_order_of_the_games_does_not_matter() -> None:
    dice = np.random.default_rng(6)
    records = _records(dice, dice.normal(0, 150, 6), pairings(6), 10)
    ratings = rate(records, anchor="a")
    shuffled = rate([records[index] for index in dice.permutation(len(records))], anchor="a")
    order = [shuffled.names.index(name) for name in ratings.names]
    assert shuffled.elo[order] == pytest.approx(ratings.elo, abs=1e-6)
    assert shuffled.error[order] == pytest.approx(ratings.error, abs=1e-6)


def test_a_partial_round_robin_agrees_with_the_full_one_within_the_intervals() -> None:
    """Glimmerfors 2022, figure 5.3: ratings from all games, and from the games of each player with its nearest two.

    The partial set is a part of the full one, so they differ less than two independent sets: at least 95% of the
    ratings from all games lie in the intervals from the partial set.
    """
    dice = np.random.default_rng(7)
    within = []
    for _ in range(20):
        strength = np.sort(dice.normal(0, 200, 6))
        full = _records(dice, strength, pairings(6), 40)
        near = {frozenset((NAMES[one], NAMES[other])) for one, other in pairings(6, nearest=2)}
        some = [record for record in full if frozenset(record.players) in near]
        assert len(some) == 40 * 9 and len(full) == 40 * 15
        by_all, by_some = (rate(games, anchor="a") for games in (full, some))
        assert by_all.names == by_some.names and (by_some.error[1:] > by_all.error[1:]).all()
        within.append(np.abs(by_all.elo - by_some.elo)[1:] <= by_some.error[1:])
    assert np.mean(within) >= 0.95


def test_duplicates_and_unfinished_games_do_not_count() -> None:
    records = _records(np.random.default_rng(8), np.zeros(6), pairings(3), 4)
    unfinished = Record("toy", 1, ("a", "b"), ("x",), (0.0, 0.0), end="unfinished")
    once, twice = rate(records), rate([*records, *records, unfinished])
    assert once.elo == pytest.approx(twice.elo) and once.error == pytest.approx(twice.error)


def test_games_that_cannot_be_rated_are_refused() -> None:
    records = _records(np.random.default_rng(8), np.zeros(6), pairings(3), 4)
    with pytest.raises(RatingError, match="no finished games"):
        rate([])
    with pytest.raises(RatingError, match="no player 'aa' in these games"):
        rate(records, anchor="aa")
    with pytest.raises(RatingError, match="for one game; the records are of other, toy"):
        rate([*records, Record("other", 1, ("a", "b"), (), (0.0, 0.0))])


def test_wandhoven_ratings_follow_the_formula_of_the_thesis() -> None:
    won, lost = (Record("toy", 1, ("new", "old"), (str(n),), (s, -s)) for n, s in ((0, 1.0), (1, -1.0)))
    first = Record("toy", 1, ("old", "new"), ("2",), (-1.0, 1.0))
    ratings = rate_in_order([first, won, lost], anchor_elo=100)
    assert ratings == {"old": 100, "new": pytest.approx(100 - 400 * np.log((1 - 2 / 3) / (2 / 3)))}
    assert sequential_elo(0, 10, 10) == sequential_elo(0, 9.5, 10)
    with pytest.raises(RatingError, match="met no earlier player"):
        rate_in_order([first, Record("toy", 1, ("x", "y"), (), (1.0, -1.0))])


@pytest.mark.parametrize("draws", [0.0, 0.6])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_sequential_test_errs_no_more_often_than_promised(alpha: float, draws: float) -> None:
    """500 runs at the boundary of each hypothesis, tested after every one of 400 games."""
    dice = np.random.default_rng(9)
    wrong = {True: 0, False: 0}
    for verdict, elo in ((True, 0.0), (False, 50.0)):
        mean = expected_score(elo)
        drawn = draws * 2 * min(mean, 1 - mean)
        for _ in range(500):
            test = SequentialTest(0.0, 50.0, alpha, alpha)
            tied = dice.random(400) < drawn
            rest = (mean - 0.5 * drawn) / (1 - drawn)
            for score in np.where(tied, 0.5, (dice.random(400) < rest).astype(float)):
                test.add(float(score))
                if test.verdict is not None:
                    break
            wrong[verdict] += test.verdict is verdict
    assert max(wrong.values()) / 500 <= alpha, wrong


def test_the_sequential_test_finds_a_clear_difference_quickly() -> None:
    dice = np.random.default_rng(10)
    lengths = []
    for _ in range(100):
        test, played = SequentialTest(0.0, 50.0), 0
        while test.verdict is None and played < 1000:
            test.add(float(dice.random() < expected_score(200)))
            played += 1
        assert test.verdict is True
        lengths.append(played)
    assert np.median(lengths) < 120


def test_a_capital_never_becomes_negative() -> None:
    capital = Capital(0.5)
    for _ in range(1000):
        capital.add(1.0)
    capital.add(0.0)
    assert np.isfinite(capital.log_capital) and capital.log_capital > 100


def test_the_elo_curve_and_its_inverse() -> None:
    assert [expected_score(elo) for elo in (0, 400, -400)] == pytest.approx([1 / 2, 10 / 11, 1 / 11])
    for elo in (-800.0, -35.0, 0.0, 120.0):
        assert difference(expected_score(elo)) == pytest.approx(elo)
    assert (difference(0.0), difference(1.0)) == (-np.inf, np.inf)


def test_ratings_count_equal_games_only_if_asked() -> None:
    """The same game three times is one win, or three: s = 1 counts as half a game less of 1 or of 3."""
    won = Record("toy", 1, ("new", "old"), ("1",), (1.0, -1.0), end="over")
    old = Record("toy", 1, ("old", "new"), ("2",), (1.0, -1.0), end="over")
    records = [old, won, won, won]
    once, thrice = rate_in_order(records), rate_in_order(records, unique=False)
    assert once["new"] == pytest.approx(0.0) and thrice["new"] == pytest.approx(400 * np.log(3))
    assert rate(records, unique=False).elo[1] > rate(records).elo[1] + 10
