"""Glicko-2 against Glickman's example, closed forms, exact posteriors and simulated players; Wandhoven's formulas."""

from __future__ import annotations

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from tabia.core.elo import POINTS_PER_LOGIT
from tabia.core.elo import expected_score as elo_curve
from tabia.evaluation import wandhoven
from tabia.evaluation.glicko import TAU, Rating, Result, aged, expected_score, update, update_game
from tabia.evaluation.rating_models import RatingError

NEW = Rating(1500, 200, 0.06)
GAMES = (Result(Rating(1400, 30), 1), Result(Rating(1550, 100), 0), Result(Rating(1700, 300), 0))
CERTAIN = Rating(1500, 0, 0.06)


def test_glickmans_worked_example() -> None:
    """Mark Glickman: Example of the Glicko-2 system, 2012. The figures are his, with as many digits as he gives."""
    assert [expected_score(NEW, game.opponent) for game in GAMES] == pytest.approx([0.639, 0.432, 0.303], abs=6e-4)
    after = update(NEW, GAMES, tau=0.5)
    assert after.rating == pytest.approx(1464.06, abs=0.01)
    assert after.deviation == pytest.approx(151.52, abs=0.01)
    assert after.volatility == pytest.approx(0.05999, abs=1e-5)


@pytest.mark.parametrize("weight", [1.0, 0.5, 3.0])
def test_a_win_against_an_equal_and_certain_opponent_in_closed_form(weight: float) -> None:
    """With E = 1/2 and g = 1: phi'^2 = 1 / (1 / phi^2 + w / 4) and mu' = mu + phi'^2 w / 2."""
    after = update(NEW, [Result(CERTAIN, 1, weight)], elapsed=0)
    square = 1 / ((POINTS_PER_LOGIT / 200) ** 2 + weight / 4)
    assert after.deviation == pytest.approx(math.sqrt(square) * POINTS_PER_LOGIT, rel=1e-12)
    assert after.rating - 1500 == pytest.approx(square * weight / 2 * POINTS_PER_LOGIT, rel=1e-12)


def test_the_expected_score_against_a_certain_opponent_is_elos() -> None:
    for difference in (-700.0, -35.0, 0.0, 120.0, 5000.0):
        for advantage in (-40.0, 0.0, 60.0):
            own = replace(CERTAIN, rating=1500 + difference)
            assert expected_score(own, CERTAIN, advantage) == pytest.approx(elo_curve(difference + advantage))


def test_the_advantage_of_the_first_move_is_points_of_rating() -> None:
    """It acts as if the opponent were that much weaker, and what one seat gains the other loses."""
    for score in (0.0, 0.5, 1.0):
        given = update(NEW, [Result(Rating(1520, 80), score, advantage=50)])
        weaker = update(NEW, [Result(Rating(1470, 80), score)])
        assert given == weaker
        first = update(NEW, [Result(NEW, score, advantage=50)]).rating - 1500
        second = update(NEW, [Result(NEW, 1 - score, advantage=-50)]).rating - 1500
        assert first == pytest.approx(-second, abs=1e-9)
    as_first, as_second = (update(NEW, [Result(NEW, 1, advantage=sign * 50)]).rating for sign in (1, -1))
    assert as_first < update(NEW, [Result(NEW, 1)]).rating < as_second


def test_a_weight_counts_games() -> None:
    twice, double = update(NEW, [GAMES[0]] * 2), update(NEW, [replace(GAMES[0], weight=2)])
    assert (twice.rating, twice.deviation) == pytest.approx((double.rating, double.deviation), rel=1e-12)
    assert update(NEW, [replace(GAMES[0], weight=0)]) == update(NEW, []) == aged(NEW, 1)


def test_time_makes_a_rating_less_certain() -> None:
    """The variance grows by sigma^2 per period, in any number of steps, up to the bound."""
    drift = (0.06 * POINTS_PER_LOGIT) ** 2
    assert aged(NEW, 40).deviation ** 2 == pytest.approx(200**2 + 40 * drift, rel=1e-12)
    assert aged(aged(NEW, 13.5), 26.5).deviation == pytest.approx(aged(NEW, 40).deviation, rel=1e-12)
    assert aged(NEW, 10_000, most=350).deviation == 350
    assert aged(Rating(1500, 400), 5, most=350).deviation == 400  # a bound does not make anything more certain
    assert update(NEW, GAMES * 100, least=45).deviation == 45
    with pytest.raises(RatingError, match="in order of time"):
        aged(NEW, -1)


@pytest.mark.parametrize("elapsed", [0.0, 0.001, 0.3, 1.0, 25.0])
@pytest.mark.parametrize("upset", [False, True])
def test_the_volatility_is_the_most_probable_one(elapsed: float, upset: bool) -> None:
    """Glickman's model, on a grid: delta ~ N(0, phi^2 + v + t sigma^2) and ln sigma^2 ~ N(ln sigma0^2, tau^2)."""
    own = Rating(1500, 60, 0.06)
    games = [Result(replace(CERTAIN, rating=1900 if upset else 1480), 1.0)] * 4
    expected = elo_curve(-400.0 if upset else 20.0)
    precision = 4 * expected * (1 - expected)
    delta = 4 * (1 - expected) / precision
    x = np.linspace(math.log(0.06**2) - 4, math.log(0.06**2) + 6, 2_000_001)
    spread = (60 / POINTS_PER_LOGIT) ** 2 + 1 / precision + elapsed * np.exp(x)
    posterior = -0.5 * (np.log(spread) + delta**2 / spread) - 0.5 * ((x - math.log(0.06**2)) / TAU) ** 2
    best = math.exp(x[np.argmax(posterior)] / 2)
    assert update(own, games, elapsed=elapsed).volatility == pytest.approx(best, rel=1e-5)


def test_a_rating_is_close_to_the_exact_posterior() -> None:
    """Mean and deviation of the posterior by integration, after 60 games with opponents near the player.

    Each game replaces the posterior by a normal one, which costs a few of the 40 points that remain as deviation.
    """
    dice, grid = random.Random(1), np.linspace(700, 2300, 16_001)
    for strength in (1350.0, 1500.0, 1650.0):
        own = Rating(1500, 150, 0.06)
        log_posterior = -0.5 * ((grid - 1500) / 150) ** 2
        for number in range(60):
            opponent, advantage = strength + dice.uniform(-200, 200), 40.0 * (-1) ** number
            score = float(dice.random() < elo_curve(strength - opponent + advantage))
            own = update_game(own, Result(Rating(opponent, 0), score, advantage=advantage), elapsed=0)
            sign = 1 if score else -1
            log_posterior -= np.log1p(10 ** (-sign * (grid - opponent + advantage) / 400))
        posterior = np.exp(log_posterior - log_posterior.max())
        posterior /= posterior.sum()
        mean = float(posterior @ grid)
        deviation = math.sqrt(float(posterior @ (grid - mean) ** 2))
        assert own.rating == pytest.approx(mean, abs=6)
        assert own.deviation == pytest.approx(deviation, rel=0.05)


@pytest.mark.parametrize("games", [5, 15, 40])
@pytest.mark.parametrize("drift", [0.0, 0.06])
def test_95_percent_intervals_cover_the_strength_in_95_percent(games: int, drift: float) -> None:
    """1,000 simulated players of known strength against agents of a ladder: 93% to 97% of the intervals cover it.

    The strength is drawn from the prior; with a drift it moves by the volatility in each of the periods between games.
    The opponents have uncertain ratings too, and the first move is worth 60 points.
    """
    dice = random.Random(2)
    covered = 0
    for _ in range(1000):
        strength = dice.gauss(700, 350)
        own = Rating(700, 350, 0.06)
        for number in range(games):
            rung = Rating(min(max(round(own.rating / 200) * 200, 0), 1400), 25)
            strength += dice.gauss(0, drift * POINTS_PER_LOGIT)
            advantage = 60.0 * (-1) ** number
            chance = elo_curve(strength - dice.gauss(rung.rating, rung.deviation) + advantage)
            result = Result(rung, float(dice.random() < chance), advantage=advantage)
            own = update_game(own, result, elapsed=float(drift > 0))
        covered += abs(own.rating - strength) <= own.error
    assert 930 <= covered <= 970, covered


def test_one_game_is_glickmans_step_for_a_player_who_is_known() -> None:
    """The difference vanishes with the deviation, faster than the step itself."""
    for score in (0.0, 0.5, 1.0):
        apart = []
        for deviation in (40.0, 20.0, 10.0):
            own, result = Rating(1500, deviation, 0.06), Result(Rating(1600, 0), score, 0.5, 30)
            step, game = update(own, [result], elapsed=0), update_game(own, result, elapsed=0)
            assert game.rating - 1500 == pytest.approx(step.rating - 1500, rel=(deviation / POINTS_PER_LOGIT) ** 2)
            apart.append(abs(game.rating - step.rating))
        assert apart[0] > 12 * apart[1] > 144 * apart[2]  # of fourth order: 16 times less for half the deviation


def test_one_game_is_the_exact_posterior_of_a_newcomer() -> None:
    """Mean and deviation by integration after a win or a loss, for deviations up to 420 points: within 6%."""
    grid = np.linspace(-4000, 6000, 100_001)
    for deviation, lead, won in [(350, 0, 1), (420, -200, 1), (420, 150, 0), (200, 300, 1)]:
        log_posterior = -0.5 * (grid / deviation) ** 2 - np.log1p(10 ** (-(2 * won - 1) * (grid + lead) / 400))
        posterior = np.exp(log_posterior - log_posterior.max())
        posterior /= posterior.sum()
        mean = float(posterior @ grid)
        spread = math.sqrt(float(posterior @ (grid - mean) ** 2))
        found = update_game(Rating(0, deviation), Result(Rating(-lead, 0), won), elapsed=0)
        assert (found.rating, found.deviation) == pytest.approx((mean, spread), rel=0.06)


def test_results_that_make_no_sense_are_refused() -> None:
    for score, weight in ((1.5, 1.0), (-0.1, 1.0), (math.nan, 1.0), (1.0, -1.0), (1.0, math.inf)):
        with pytest.raises(RatingError, match="score from 0 to 1"):
            Result(CERTAIN, score, weight)
    with pytest.raises(RatingError, match="weight of at most 1"):
        update_game(NEW, Result(CERTAIN, 1, 2), elapsed=0)


def test_extreme_ratings_stay_finite() -> None:
    """A win that was certain proves nothing; a loss that was impossible moves the rating by a finite amount."""
    strong, weak = Rating(1e6, 350), Rating(0, 0)
    assert update(strong, [Result(weak, 1)], elapsed=0) == strong
    for lead in (1500, 9000, 60_000):
        for lost in (
            update(Rating(lead, 60), [Result(weak, 0)]),
            update_game(Rating(lead, 60), Result(weak, 0), elapsed=1e-6),
        ):
            assert lead - 100 < lost.rating < lead and 0.0599 < lost.volatility <= 0.1


# Wandhoven 2022.


def test_wandhovens_expected_score_and_update() -> None:
    """Equation (45) on both sides of 0, and (46): the change of one player is the other's with the sign turned."""
    for difference in (-900.0, -105.0, 0.0, 408.0):
        closed = 1 / (1 + math.e ** (-difference / 400))
        assert wandhoven.expected_score(difference) == pytest.approx(closed, rel=1e-12)
        for score in (0.0, 0.5, 1.0):
            won = wandhoven.update(difference, 0.0, score, k=32) - difference
            assert won == pytest.approx(32 * (score - closed), rel=1e-12)
            assert won == pytest.approx(-wandhoven.update(0.0, difference, 1 - score, k=32), rel=1e-9)


def test_wandhovens_direct_rating_is_where_the_update_stands_still() -> None:
    """Equation (48) solves (45), so a player at that rating gains nothing on average; and the figures of the thesis."""
    for points in (1.0, 6.0, 13.0, 19.5):
        rating = wandhoven.sequential_elo(100, points, 20)
        assert wandhoven.update(rating, 100, points / 20, k=50) == pytest.approx(rating)
        elo = wandhoven.elo_points(rating - 100)
        assert elo_curve(elo) == pytest.approx(points / 20)
    gate = 1.3  # wins per loss: a gain of about 105 points; 408 on average are a theta of about 2.8
    assert wandhoven.sequential_elo(0, gate / (1 + gate) * 2300, 2300) == pytest.approx(105, abs=0.1)
    score = wandhoven.expected_score(408)
    assert score / (1 - score) == pytest.approx(2.8, abs=0.05)


def test_wandhovens_update_settles_at_the_strength() -> None:
    """The mean of a long series of ratings is the strength, within the spread that K leaves."""
    dice, rating, seen = random.Random(3), 100.0, []
    for number in range(40_000):
        won = float(dice.random() < wandhoven.expected_score(350 - 200))
        rating = wandhoven.update(rating, 200, won, k=8)
        seen += [rating] if number >= 4000 else []
    assert np.mean(seen) == pytest.approx(350, abs=8)
