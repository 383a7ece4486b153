"""Ratings of people: scoring, matching and the leaderboard as pure functions; the book and the recount on a database."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from tabia.core.elo import expected_score
from tabia.evaluation.glicko import Rating, Result
from tabia.server.ratings import matching, scoring
from tabia.server.ratings.leaderboard import Standing, leaderboard
from tabia.server.ratings.matching import Opponent, Played

STEPS = (0, 196, 422, 650, 832, 996, 1156, 1401)  # the ladder of Connect 4
LADDER = [Opponent(f"level:{number}", str(number), float(elo)) for number, elo in enumerate(STEPS)]
START = scoring.newcomer(STEPS)


def test_a_game_counts_once_for_each_seat() -> None:
    """Weights of a seat add up to 1; the two sides of a pair add up to one point; equal scores are draws."""
    for scores in ([1.0, -1.0], [0.0, 0.0], [3.0, 1.0, 0.0], [1.0, 1.0, 0.0, 3.0]):
        found = scoring.pairings(scores)
        for seat in range(len(scores)):
            assert sum(pair.weight for pair in found if pair.seat == seat) == pytest.approx(1)
        both = {(pair.seat, pair.opponent): pair.score for pair in found}
        for (one, other), score in both.items():
            assert score + both[other, one] == 1
            assert (score > 0.5, score == 0.5) == (scores[one] > scores[other], scores[one] == scores[other])


def test_a_newcomers_interval_covers_the_ladder() -> None:
    for ladder in (STEPS, (0, 2000), (0, 100)):
        start = scoring.newcomer(ladder)
        assert start.rating - start.error <= min(ladder) and max(ladder) <= start.rating + start.error
        assert start.deviation >= 350


# Matching.


def test_placement_bisects_the_ladder_in_three_to_five_games() -> None:
    """For every strength, against opponents who lose to stronger people: the interval ends around the strength."""
    for size in (1, 2, 3, 5, 8, 12, 20, 31):
        ladder = [Opponent(f"level:{n}", str(n), 100.0 * n) for n in range(size)]
        for strength in range(-50, 100 * size + 50, 50):
            played: list[Played] = []
            while not matching.placement(ladder, played).done:
                found = matching.next_match(ladder, 50.0 * size, played, seats=2, draw=lambda n: 0)
                score = 0.5 * (1 + (strength > found.opponent.elo) - (strength < found.opponent.elo))
                played.append(Played(found.opponent.elo, score))
                assert found.why.startswith(f"Placement game {len(played)} of 3 to 5: ")
            state = matching.placement(ladder, played)
            assert 3 <= len(played) <= 5 and state.low <= strength <= state.high
            inside = [one for one in ladder if state.low < one.elo < state.high]
            assert not inside  # 31 agents need five games, as 2^5 - 1 = 31


def test_after_the_placement_comes_the_closest_higher_agent() -> None:
    done = [Played(650, 1), Played(996, 0), Played(832, 0)]
    for rating, elo in ((-20, 0), (0, 0), (650, 650), (650.1, 832), (1400.9, 1401), (1401.5, 1401), (2500, 1401)):
        found = matching.next_match(LADDER, rating, done, seats=2, draw=lambda n: n - 1)
        assert found.opponent.elo == elo and found.seat == 1
        assert ("strongest" in found.why) == (rating > 1401)


def test_every_seat_is_drawn() -> None:
    dice = random.Random(0)
    seats = [matching.next_match(LADDER, 0, [], seats=3, draw=dice.randrange).seat for _ in range(300)]
    assert all(70 <= seats.count(seat) <= 130 for seat in range(3))


def test_matched_people_are_rated_within_their_intervals() -> None:
    """Placement and 20 matched games for 1,000 simulated people: 93% to 97% of the intervals cover the strength."""
    dice, covered = random.Random(4), 0
    for _ in range(1000):
        strength, own, played = dice.gauss(START.rating, 404), START, list[Played]()
        for _ in range(20):
            found = matching.next_match(LADDER, own.rating, played, seats=2, draw=dice.randrange)
            advantage = 40.0 if found.seat == 0 else -40.0
            score = float(dice.random() < expected_score(strength - found.opponent.elo + advantage))
            result = Result(Rating(found.opponent.elo, 20), score, advantage=advantage)
            own = scoring.rate(own, result, elapsed=0.0, start=START)
            played.append(Played(found.opponent.elo, score))
        covered += abs(own.rating - strength) <= own.error
    assert 930 <= covered <= 970, covered


# The daily cap.


def test_a_farmer_gains_no_more_than_the_cap_per_day_from_one_opponent() -> None:
    """An accomplice loses 60 games in a day, at every certainty; and the interval does not shrink for nothing."""
    for deviation in (45.0, 90.0, 420.0):
        own, other, gained = Rating(700, deviation), Rating(1400, 60), 0.0
        for _ in range(60):
            result = Result(other, 1.0)
            weight = scoring.fair_weight(own, result, elapsed=0.0, start=START, gained=gained)
            after = scoring.rate(own, replace(result, weight=weight), elapsed=0.0, start=START)
            gained, own = gained + after.rating - own.rating, after
        assert gained == pytest.approx(scoring.DAILY_CAP, abs=0.01) and gained < scoring.DAILY_CAP + 1e-4
    fresh = Rating(700, 420)
    whole = scoring.rate(fresh, Result(other, 1.0), elapsed=0.0, start=START)
    weight = scoring.fair_weight(fresh, Result(other, 1.0), elapsed=0.0, start=START, gained=0.0)
    part = scoring.rate(fresh, Result(other, 1.0, weight), elapsed=0.0, start=START)
    assert whole.deviation < part.deviation < fresh.deviation


def test_the_cap_does_not_touch_games_below_it_nor_the_way_back() -> None:
    own, other = Rating(700, 60), Rating(720, 60)
    for score, gained in ((1.0, 0.0), (1.0, -100.0), (0.0, 100.0), (0.0, 250.0), (0.5, 0.0)):
        assert scoring.fair_weight(own, Result(other, score), elapsed=0.1, start=START, gained=gained) == 1.0
    assert scoring.fair_weight(own, Result(other, 0.0), elapsed=0.1, start=START, gained=-100.0) < 1e-6


def test_ratings_grow_uncertain_by_the_week() -> None:
    day, later = "2026-11-01T12:00:00.000+00:00", "2026-11-15T12:00:00.000+00:00"
    assert scoring.weeks_between(day, later) == 2 and scoring.weeks_between(later, day) == 0
    now = scoring.at(Rating(700, 50), day, later, START)
    assert now.rating == 700 and 50 < now.deviation < 53
    assert scoring.at(Rating(700, 50), day, "2126-11-01T12:00:00.000+00:00", START).deviation == START.deviation


# The leaderboard.


def test_places_and_what_the_uncertainty_leaves_open() -> None:
    """Two clear leaders, two who cannot be told apart, and a newcomer without a place."""
    people = [("ann", 1400, 20), ("bob", 1200, 20), ("cat", 900, 60), ("dan", 950, 60), ("eve", 2000, 300)]
    found = leaderboard([Standing(name, Rating(rating, deviation), 30) for name, rating, deviation in people])
    shown = [(row.standing.name, row.place, row.best, row.worst) for row in found]
    assert shown == [("ann", 1, 1, 1), ("bob", 2, 2, 2), ("dan", 3, 3, 4), ("cat", 4, 3, 4), ("eve", None, None, None)]


def test_equal_ratings_share_a_place() -> None:
    found = leaderboard([Standing(name, Rating(rating, 50), 9) for name, rating in (("a", 5), ("b", 7), ("c", 7))])
    assert [(row.standing.name, row.place) for row in found] == [("b", 1), ("c", 1), ("a", 3)]
