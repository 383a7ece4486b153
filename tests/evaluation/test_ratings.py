"""Ratings: intervals that cover the truth as often as they say, and agreement with another program's."""

from __future__ import annotations

import choix
import numpy as np
import pytest

from tabia.evaluation import standings
from tabia.evaluation.ratings import ELO, Outcomes, RatingError, rate_many, rate_two, sequential_elo
from tabia.evaluation.records import Record
from tabia.evaluation.sequential import SequentialTest, Stake, expected_score
from tabia.evaluation.tournament import pairings

NAMES = tuple("abcdef")


def _truth(strength: np.ndarray, advantage: float, draw: float) -> tuple[np.ndarray, np.ndarray]:
    """Chances [K, K] that the first seat wins and loses, written out from the model in Elo."""
    lead = strength[:, None] - strength[None, :] + advantage
    return 1 / (1 + 10 ** (-(lead - draw) / 400)), 1 / (1 + 10 ** (-(-lead - draw) / 400))


def _simulate(
    dice: np.random.Generator, strength: np.ndarray, games: int, *, advantage: float = 0.0, draw: float = 0.0
) -> Outcomes:
    """A full round robin, `games` of each pairing in each seating."""
    win, loss = _truth(strength, advantage, draw)
    chances = np.stack([win, np.maximum(1 - win - loss, 0), loss], axis=-1)
    counts = dice.multinomial(games, chances / chances.sum(axis=-1, keepdims=True)).astype(float)
    counts[np.eye(len(strength), dtype=bool)] = 0
    return Outcomes(counts[..., 0], counts[..., 1], counts[..., 2])


def test_95_percent_intervals_cover_the_truth_95_times_in_a_hundred() -> None:
    """1,000 tournaments of six players: 93% to 97% of the differences from the anchor lie in the intervals."""
    dice = np.random.default_rng(1)
    covered = []
    for _ in range(1000):
        strength = dice.normal(0, 200, 6)
        outcomes = _simulate(dice, strength, 20, advantage=35, draw=60)
        ratings = rate_two(NAMES, outcomes)
        off = np.abs(ratings.elo - (strength - strength[0]))[1:]
        covered.append(off <= ratings.error[1:])
    share = np.mean(covered)
    assert 0.93 <= share <= 0.97, share


def test_differences_advantage_and_draws_are_found() -> None:
    strength = np.array([0.0, 100.0, 250.0])
    ratings = rate_two(
        "abc", _simulate(np.random.default_rng(2), strength, 40000, advantage=50, draw=80), anchor_elo=1500
    )
    assert ratings.elo == pytest.approx(strength + 1500, abs=8)
    assert ratings.advantage[0] == pytest.approx(50, abs=4) and ratings.draw == pytest.approx(80, abs=4)
    assert ratings.error[0] == 0 and (ratings.error[1:] < 8).all()
    difference, error = ratings.difference(2, 1)
    assert abs(difference - 150) <= 2 * error


def test_clean_scores_and_games_without_draws_have_ratings() -> None:
    zero, clean = np.zeros((2, 2)), np.array([[0.0, 0.0], [6.0, 0.0]])
    for losses in (zero, clean.T):
        ratings = rate_two("ab", Outcomes(clean, zero, losses))
        assert np.isfinite(ratings.elo).all() and np.isfinite(ratings.error).all() and ratings.draw == 0
        assert ratings.elo[1] > 100 and ratings.error[1] > 100


def test_choix_agrees_to_one_elo_where_the_models_are_the_same() -> None:
    dice = np.random.default_rng(3)
    outcomes = _simulate(dice, dice.normal(0, 150, 6), 50)
    ours = rate_two(NAMES, outcomes, prior=1e5, advantage=False, draws=False).elo
    beats = outcomes.wins + outcomes.losses.T  # entry [i, j]: how often i beat j
    theirs = choix.ilsr_pairwise_dense(beats) * ELO
    assert ours == pytest.approx(theirs - theirs[0], abs=1.0)


def test_choix_agrees_on_places_with_three_seats() -> None:
    seated, scores = _three_seats(np.random.default_rng(4), np.array([0.0, 80.0, -120.0, 40.0]), 600)
    ours = rate_many("abcd", seated, scores, prior=1e5, advantage=False).elo
    rankings = [tuple(players[np.argsort(-score)]) for players, score in zip(seated, scores, strict=True)]
    theirs = choix.ilsr_rankings(4, rankings) * ELO
    assert ours == pytest.approx(theirs - theirs[0], abs=1.0)


def _three_seats(dice: np.random.Generator, strength: np.ndarray, games: int) -> tuple[np.ndarray, np.ndarray]:
    """Who sat where, and points 3, 1, 0 by Plackett and Luce: places by strength and Gumbel noise."""
    seated = np.array([dice.permutation(len(strength))[:3] for _ in range(games)])
    noisy = strength[seated] / ELO + dice.gumbel(size=seated.shape)
    places = np.argsort(np.argsort(-noisy, axis=1), axis=1)
    return seated, np.array([3.0, 1.0, 0.0])[places]


def test_intervals_cover_with_three_seats() -> None:
    """100 tournaments: 95%, within what 100 x 3 can show."""
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
    ratings = standings.rate(records, anchor="a")
    shuffled = standings.rate([records[index] for index in dice.permutation(len(records))], anchor="a")
    order = [shuffled.names.index(name) for name in ratings.names]
    assert shuffled.elo[order] == pytest.approx(ratings.elo, abs=1e-6)
    assert shuffled.error[order] == pytest.approx(ratings.error, abs=1e-6)


def test_a_partial_round_robin_agrees_with_the_full_one_within_the_intervals() -> None:
    """Glimmerfors's figure 5.3: one set of games, rated by all and by those of each player with its nearest two.

    The partial games are some of the full ones, so the two differ by less than two independent sets would: at least
    95% of the ratings by all games lie in the intervals by some.
    """
    dice = np.random.default_rng(7)
    within = []
    for _ in range(20):
        strength = np.sort(dice.normal(0, 200, 6))
        full = _records(dice, strength, pairings(6), 40)
        near = {frozenset((NAMES[one], NAMES[other])) for one, other in pairings(6, nearest=2)}
        some = [record for record in full if frozenset(record.players) in near]
        assert len(some) == 40 * 9 and len(full) == 40 * 15
        by_all, by_some = (standings.rate(games, anchor="a") for games in (full, some))
        assert by_all.names == by_some.names and (by_some.error[1:] > by_all.error[1:]).all()
        within.append(np.abs(by_all.elo - by_some.elo)[1:] <= by_some.error[1:])
    assert np.mean(within) >= 0.95


def test_duplicates_and_unfinished_games_do_not_count() -> None:
    records = _records(np.random.default_rng(8), np.zeros(6), pairings(3), 4)
    unfinished = Record("toy", 1, ("a", "b"), ("x",), (0.0, 0.0), end="unfinished")
    once, twice = standings.rate(records), standings.rate([*records, *records, unfinished])
    assert once.elo == pytest.approx(twice.elo) and once.error == pytest.approx(twice.error)


def test_what_cannot_be_rated_is_refused() -> None:
    records = _records(np.random.default_rng(8), np.zeros(6), pairings(3), 4)
    with pytest.raises(RatingError, match="no finished games"):
        standings.rate([])
    with pytest.raises(RatingError, match="no player 'aa' in these games"):
        standings.rate(records, anchor="aa")
    with pytest.raises(RatingError, match="one game; the records are of other, toy"):
        standings.rate([*records, Record("other", 1, ("a", "b"), (), (0.0, 0.0))])


def test_wandhoven_ratings_follow_its_formula() -> None:
    won, lost = (Record("toy", 1, ("new", "old"), (str(n),), (s, -s)) for n, s in ((0, 1.0), (1, -1.0)))
    first = Record("toy", 1, ("old", "new"), ("2",), (-1.0, 1.0))
    ratings = standings.rate_in_order([first, won, lost], anchor_elo=100)
    assert ratings == {"old": 100, "new": pytest.approx(100 - 400 * np.log((1 - 2 / 3) / (2 / 3)))}
    assert sequential_elo(0, 10, 10) == sequential_elo(0, 9.5, 10)
    with pytest.raises(RatingError, match="met no player that came before"):
        standings.rate_in_order([first, Record("toy", 1, ("x", "y"), (), (1.0, -1.0))])


@pytest.mark.parametrize("draws", [0.0, 0.6])
@pytest.mark.parametrize("alpha", [0.05, 0.2])
def test_the_sequential_test_errs_no_more_often_than_promised(alpha: float, draws: float) -> None:
    """Looked at after every one of 400 games, at the very edge of both hypotheses, 500 times each."""
    dice = np.random.default_rng(9)
    wrong = {True: 0, False: 0}
    for verdict, elo in ((True, 0.0), (False, 50.0)):
        share = expected_score(elo)
        for _ in range(500):
            test = SequentialTest(0.0, 50.0, alpha, alpha)
            tied = dice.random(400) < draws * 2 * min(share, 1 - share)
            rest = (share - 0.5 * draws * 2 * min(share, 1 - share)) / (1 - draws * 2 * min(share, 1 - share))
            for score in np.where(tied, 0.5, (dice.random(400) < rest).astype(float)):
                test.add(float(score))
                if test.verdict is not None:
                    break
            wrong[verdict] += test.verdict is verdict
    assert max(wrong.values()) / 500 <= alpha, wrong


def test_the_sequential_test_finds_a_clear_difference_soon() -> None:
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


def test_a_stake_never_loses_more_than_it_has() -> None:
    stake = Stake(0.5)
    for _ in range(1000):
        stake.add(1.0)
    stake.add(0.0)
    assert np.isfinite(stake.log_capital) and stake.log_capital > 100
